// A tree in memory with requests that wait, and what was written down of them since somebody asked last.
import type { Priority } from '../../src/kernel/enforcement.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { granted, KernelDriver } from './kernel-driver.ts';

interface Asking {
  readonly waitMs?: number;
  readonly priority?: Priority;
  readonly tokens?: number;
  readonly also?: readonly string[];
}

/** See the head of this file. */
export class QueueDriver extends KernelDriver {
  #seen = 0;
  #keyCount = 0;

  /** Has a request wait and returns its id. */
  wait(budget: string, max: number, options: Asking = {}): string {
    this.#keyCount += 1;
    const key = `w${this.#keyCount}`;
    const answer = this.run(this.make.reserve(budget, max, { waitMs: 60_000, key, ...options }));
    if (answer.kind === 'queued') return answer.id;
    throw new Error(`does not wait: ${answer.kind === 'refusal' ? answer.message : answer.kind}`);
  }

  /** Who was granted how much out of the queue, and who was told what, since this was asked last. */
  told(): Record<string, number | string> {
    const found: Record<string, number | string> = {};
    for (const entry of this.journal.slice(this.#seen)) {
      if (entry.type === 'Granted' && entry.enqueuedSeq !== undefined) {
        found[entry.reservation.id] = Number(entry.reservation.figures.grantedMicros);
      } else if (entry.type === 'LeftQueue') for (const { id, refusal } of entry.leaves) found[id] = refusal.reason;
    }
    this.#seen = this.journal.length;
    return found;
  }

  /** What one that left was told. */
  refusalOf(id: string): Refusal {
    const all = this.journal.flatMap((entry) => (entry.type === 'LeftQueue' ? entry.leaves : []));
    const left = all.find((each) => each.id === id);
    if (left === undefined) throw new Error(`${id} did not leave`);
    return left.refusal;
  }

  settle(id: string, actual: number): void {
    granted(this.run(this.make.settle(id, actual)));
  }
}
