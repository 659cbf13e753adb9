// Who fits and claims what it asks for (wait-queue.ts), and whose turn it is among them. Its own file because the turn goes by the places
// of those who claim alone, whoever else has to be judged.
import { IndexedHeap } from './indexed-heap.ts';
import { goesBefore } from './wait-line.ts';
import type { PlacedLine } from './wait-point.ts';

/** See the head of this file. */
export class WaitClaims {
  readonly #claiming = new Set<PlacedLine>();
  /** Those of them that are first wherever they wait, the most urgent first, then who came first. */
  readonly #turns = new IndexedHeap<PlacedLine>(goesBefore);

  get isEmpty(): boolean {
    return this.#claiming.size === 0;
  }

  has(line: PlacedLine): boolean {
    return this.#claiming.has(line);
  }

  /** The head of a line fits, and has its places. */
  add(line: PlacedLine): void {
    this.#claiming.add(line);
    this.placesChanged(line);
  }

  delete(line: PlacedLine): void {
    this.#claiming.delete(line);
    this.#turns.remove(line);
  }

  /** Takes note that a line, which may claim or not, comes first somewhere, or does not any more. */
  placesChanged(line: PlacedLine): void {
    const isReady = this.#claiming.has(line) && line.places.every(({ point }) => point.firstLine === line);
    if (!isReady) this.#turns.remove(line);
    else if (!this.#turns.has(line)) this.#turns.add(line);
  }

  /**
   * The one to be asked once no other has to be judged: one that is first wherever it waits before others, and of those the most urgent,
   * then the first that came, since others may wait for its turn alone; undefined where none claims.
   */
  get next(): PlacedLine | undefined {
    return this.#turns.top ?? this.#claiming.values().next().value;
  }
}
