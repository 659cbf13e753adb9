// Takes the commands of large frames in slices, a turn of the event loop each, so that others are read between them: a full frame
// taken at once keeps everybody waiting for 40 ms, and a Session that floods sends nothing else.
import type { SessionCommand } from '../../gen/budgetd/v1/reservation_pb.ts';

/** Commands taken in one turn: about 4 ms, and twice what a batch decides. */
const SLICE_COUNT = 512;

interface Slice {
  readonly commands: readonly SessionCommand[];
  readonly start: (commands: readonly SessionCommand[]) => void;
}

/** See the head of this file. */
export class FrameSlices {
  #waiting: Slice[] = [];
  #pendingCount = 0;
  readonly #taken: () => void;

  /** `taken` is called after each slice that was started in a later turn than its frame came. */
  constructor(taken: () => void) {
    this.#taken = taken;
  }

  /** Commands that have come and are not started yet. */
  get pendingCount(): number {
    return this.#pendingCount;
  }

  /** Starts the first slice of a frame at once, the others after it; all of it after the frames before. */
  take(commands: readonly SessionCommand[], start: Slice['start']): void {
    let at = 0;
    if (this.#waiting.length === 0) {
      at = SLICE_COUNT;
      start(commands.length <= SLICE_COUNT ? commands : commands.slice(0, SLICE_COUNT));
    }
    for (; at < commands.length; at += SLICE_COUNT) {
      const slice = commands.slice(at, at + SLICE_COUNT);
      this.#waiting.push({ commands: slice, start });
      this.#pendingCount += slice.length;
      if (this.#waiting.length === 1) setImmediate(() => this.#next());
    }
  }

  /** Forgets what is not started. */
  clear(): void {
    this.#waiting = [];
    this.#pendingCount = 0;
  }

  #next(): void {
    const [slice] = this.#waiting;
    if (slice === undefined) return;
    slice.start(slice.commands);
    // It may have ended with what it started.
    if (this.#waiting[0] !== slice) return;
    this.#waiting.shift();
    this.#pendingCount -= slice.commands.length;
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
    this.#taken();
  }
}
