// Takes the commands of large frames in slices, one slice of one Session in a turn of the event loop, so that others are read
// between them: a full frame taken at once keeps everybody waiting for 40 ms, and Sessions that flood send nothing else.
import type { SessionCommand } from '../../gen/budgetd/v1/reservation_pb.ts';

/** Commands taken in one turn: as many as a batch decides, about 2 ms. */
const SLICE_COUNT = 256;

interface Slice {
  readonly commands: readonly SessionCommand[];
  readonly start: (commands: readonly SessionCommand[]) => void;
}

// Of all Sessions, those whose next slice is due, in turns. At most one turn is ahead: whoever comes back into the line while
// its own slice is being started must not open another beside it.
const due: FrameSlices[] = [];
let isTurnAhead = false;

function planTurn(): void {
  if (isTurnAhead || due.length === 0) return;
  isTurnAhead = true;
  setImmediate(nextTurn);
}

function nextTurn(): void {
  isTurnAhead = false;
  try {
    due.shift()?.next();
  } finally {
    // One Session that fails must not stop the others.
    planTurn();
  }
}

/** The slices of one Session. */
export class FrameSlices {
  #waiting: Slice[] = [];
  #pendingCount = 0;
  #isDue = false;
  #isHeld = false;
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
    if (this.#waiting.length === 0 && !this.#isHeld) {
      at = SLICE_COUNT;
      start(commands.length <= SLICE_COUNT ? commands : commands.slice(0, SLICE_COUNT));
    }
    for (; at < commands.length; at += SLICE_COUNT) {
      const slice = commands.slice(at, at + SLICE_COUNT);
      this.#waiting.push({ commands: slice, start });
      this.#pendingCount += slice.length;
    }
    this.#schedule();
  }

  /** Starts nothing until `resume`. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Goes on. */
  resume(): void {
    this.#isHeld = false;
    this.#schedule();
  }

  /** Forgets what is not started. */
  clear(): void {
    this.#waiting = [];
    this.#pendingCount = 0;
  }

  /** Its turn: starts one slice. */
  next(): void {
    this.#isDue = false;
    if (this.#isHeld) return;
    const slice = this.#waiting.shift();
    if (slice === undefined) return;
    this.#pendingCount -= slice.commands.length;
    slice.start(slice.commands);
    this.#schedule();
    this.#taken();
  }

  #schedule(): void {
    if (this.#isDue || this.#isHeld || this.#waiting.length === 0) return;
    this.#isDue = true;
    due.push(this);
    planTurn();
  }
}
