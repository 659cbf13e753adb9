// What the lane did, as plain numbers: one call a batch, some tens of nanoseconds a command, no allocation. The instruments
// read the numbers when somebody collects.
import { BucketTally } from './bucket-tally.ts';
import { ClosedLabels } from './closed-labels.ts';
import type { AnswerShape, BatchShape, CommandShape, EffectShape, EntryShape, TreeBatchShape } from './lane-shapes.ts';

/** Seconds. From a fifth of a commit to the four seconds after which the lane gives up on its store. */
const LANE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Seconds. From a place that is free at the next commit to half an hour, the longest that a unary call waits. */
const WAIT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];

/** Commands. A batch has at most 1,024. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/** Granted over spent: 1 is a perfect estimate, 2 held twice what was needed. */
const RATIOS = [0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100];

const MS_TO_SECONDS = 0.001;

/** What became of a batch. */
const BATCH_OUTCOMES = ['committed', 'conflict', 'key_exists', 'fenced', 'unavailable', 'failed'];

/** How a wait for room ended: `left`: its caller is gone or has released it; `refused`: for a reason that waiting does not cure. */
const WAIT_OUTCOMES = ['granted', 'timeout', 'left', 'refused'] as const;

type WaitOutcome = (typeof WAIT_OUTCOMES)[number];

/** How a caller's own wait ended: as that of its reservation, or before it; see WaitEnd of the lane. */
const WAIT_ENDS = [...WAIT_OUTCOMES, 'sent_away'];

const LEAVE_OUTCOMES: Readonly<Record<string, WaitOutcome>> = {
  QUEUE_TIMEOUT: 'timeout',
  RESERVATION_RELEASED: 'left',
};

/** How a decision ended, beside the reason of a refusal. */
export type DecisionOutcome = 'ok' | 'refused' | 'dry_run';

/** One count with what it counts. */
export interface DecisionCount {
  readonly command: string;
  readonly outcome: DecisionOutcome;
  /** "none" where nothing was refused. */
  readonly reason: string;
  readonly count: number;
}

/** Counts of commands by reason. */
export interface RefusalCount {
  readonly command: string;
  readonly reason: string;
  readonly count: number;
}

const NO_REASON = 'none';

/** See the head of this file. */
export class LaneTally {
  readonly #commands: ClosedLabels;
  readonly #reasons: ClosedLabels;
  readonly #outcomes = new ClosedLabels(BATCH_OUTCOMES);
  readonly #batches: number[];
  /** By command and reason; the last reason of a row stands for none. */
  readonly #decisions: number[];
  readonly #dryRuns: number[];
  readonly #turnedAway: number[];
  readonly #replays: number[];
  readonly #durations: BucketTally[];
  readonly queueWait = new BucketTally(LANE_SECONDS);
  readonly batchSize = new BucketTally(BATCH_SIZES);
  readonly commitDuration = new BucketTally(LANE_SECONDS);
  readonly grantedOverSettled = new BucketTally(RATIOS);
  readonly #waits: Record<WaitOutcome, number> = { granted: 0, timeout: 0, left: 0, refused: 0 };
  readonly #waitEnds = new ClosedLabels(WAIT_ENDS);
  readonly #waitTimes = this.#waitEnds.values.map(() => new BucketTally(WAIT_SECONDS));
  entryCount = 0;
  lapsesReleased = 0;
  lapsesCharged = 0;
  overrunCount = 0;
  /** Over all units, in micro-units. */
  overrunMicros = 0;
  /** Faults in judging those who wait. */
  queueFaultCount = 0;

  constructor(commands: readonly string[], reasons: readonly string[]) {
    this.#commands = new ClosedLabels(commands);
    this.#reasons = new ClosedLabels([...reasons, NO_REASON]);
    const cells = this.#commands.values.length * this.#reasons.values.length;
    this.#decisions = new Array<number>(cells).fill(0);
    this.#dryRuns = new Array<number>(cells).fill(0);
    this.#turnedAway = new Array<number>(cells).fill(0);
    this.#replays = this.#commands.values.map(() => 0);
    this.#batches = this.#outcomes.values.map(() => 0);
    this.#durations = this.#commands.values.map(() => new BucketTally(LANE_SECONDS));
  }

  /** A batch has ended, one way or another. Only a committed one has decided anything. */
  batchEnded(batch: BatchShape): void {
    bump(this.#batches, this.#outcomes.indexOf(batch.outcome));
    if (batch.outcome !== 'committed') return;
    let commandCount = 0;
    let entryCount = 0;
    for (const tree of batch.trees) {
      commandCount += tree.answered.length;
      entryCount += tree.entries.length;
      this.#addAnswers(tree, batch);
      for (const entry of tree.entries) this.#addEntry(entry);
    }
    this.entryCount += entryCount;
    // The reaper's and the lane's own entries may come without a command.
    if (commandCount > 0) this.batchSize.add(commandCount);
    // Without entries it was no commit, only the question whether this process is the writer still.
    if (entryCount > 0) this.commitDuration.add((batch.endedMs - batch.appendMs) * MS_TO_SECONDS);
  }

  /** A command was refused without a decision: at the door, while it waited, or since its batch could not be appended. */
  turnedAway(command: string, reason: string): void {
    bump(this.#turnedAway, this.#cell(this.#commands.indexOf(command), reason));
  }

  /** A caller waits for room no more. */
  waitEnded(end: string, waitedMs: number): void {
    (this.#waitTimes[this.#waitEnds.indexOf(end)] as BucketTally).add(waitedMs * MS_TO_SECONDS);
  }

  /** So many of those who wait could not be judged by a fault. */
  queueFailed(count: number): void {
    this.queueFaultCount += count;
  }

  /** Decisions by command, outcome and reason, those that happened. */
  *decisions(): Generator<DecisionCount> {
    for (const { command, reason, count } of this.#counts(this.#decisions)) {
      yield { command, outcome: reason === NO_REASON ? 'ok' : 'refused', reason, count };
    }
    for (const { command, reason, count } of this.#counts(this.#dryRuns)) {
      yield { command, outcome: 'dry_run', reason, count };
    }
  }

  /** Commands that were turned away, by reason, those that happened. */
  turnedAwayCounts(): Generator<RefusalCount> {
    return this.#counts(this.#turnedAway);
  }

  /** Answers from memory, by command. */
  *replays(): Generator<{ readonly command: string; readonly count: number }> {
    for (const [index, command] of this.#commands.values.entries()) {
      const count = this.#replays[index] ?? 0;
      if (count > 0) yield { command, count };
    }
  }

  /** Batches by what became of them. */
  *batches(): Generator<{ readonly outcome: string; readonly count: number }> {
    for (const [index, outcome] of BATCH_OUTCOMES.entries()) yield { outcome, count: this.#batches[index] ?? 0 };
  }

  /** Reserves that left the queue for room, by how. */
  *waits(): Generator<{ readonly outcome: WaitOutcome; readonly count: number }> {
    for (const outcome of WAIT_OUTCOMES) yield { outcome, count: this.#waits[outcome] };
  }

  /** For how long callers waited for room, by how it ended, those that happened; in seconds. */
  *waitTimes(): Generator<{ readonly outcome: string; readonly tally: BucketTally }> {
    for (const [index, outcome] of this.#waitEnds.values.entries()) {
      const tally = this.#waitTimes[index];
      if (tally !== undefined && tally.count > 0) yield { outcome, tally };
    }
  }

  /** From the door to the answer, by command, those that happened; in seconds. */
  *durations(): Generator<{ readonly command: string; readonly tally: BucketTally }> {
    for (const [index, command] of this.#commands.values.entries()) {
      const tally = this.#durations[index];
      if (tally !== undefined && tally.count > 0) yield { command, tally };
    }
  }

  #addAnswers({ answered }: TreeBatchShape, { takenMs, endedMs }: BatchShape): void {
    for (const { item, answer } of answered) {
      const { command, sinceMs } = item;
      const row = this.#commands.indexOf(command.kind);
      this.queueWait.add((takenMs - sinceMs) * MS_TO_SECONDS);
      (this.#durations[row] as BucketTally).add((endedMs - sinceMs) * MS_TO_SECONDS);
      if (answer.results === undefined) this.#addAnswer(row, command, answer);
      else for (const result of answer.results) this.#addAnswer(row, command, result);
    }
  }

  #addAnswer(row: number, command: CommandShape, answer: AnswerShape): void {
    if (answer.replayed === true) bump(this.#replays, row);
    else bump(command.dryRun === true ? this.#dryRuns : this.#decisions, this.#cell(row, answer.reason ?? NO_REASON));
  }

  #addEntry(entry: EntryShape): void {
    if (entry.enqueuedSeq !== undefined) this.#waits.granted += 1;
    for (const { refusal } of entry.leaves ?? []) this.#waits[LEAVE_OUTCOMES[refusal.reason] ?? 'refused'] += 1;
    if (entry.lapses !== undefined) {
      for (const { charged, effects } of entry.lapses) {
        if (charged) this.lapsesCharged += 1;
        else this.lapsesReleased += 1;
        this.#addOverrun(effects);
      }
    } else if (entry.type === 'Settled' && entry.effects !== undefined) {
      this.#addOverrun(entry.effects);
      this.#addRatio(entry.figures);
    }
  }

  // An estimate that a late settlement replaces moves settled, never overrun, down: the sum only grows.
  #addOverrun(effects: readonly EffectShape[]): void {
    for (const { overrunMicros } of effects) {
      if (overrunMicros <= 0n) continue;
      this.overrunCount += 1;
      this.overrunMicros += Number(overrunMicros);
    }
  }

  // Only of a hold whose cost is known and final. A free one has no ratio.
  #addRatio(figures: EntryShape['figures']): void {
    if (figures === undefined || figures.state !== 'SETTLED' || figures.estimated) return;
    const spent = Number(figures.settledMicros) + Number(figures.overrunMicros);
    if (spent > 0) this.grantedOverSettled.add(Number(figures.grantedMicros) / spent);
  }

  #cell(row: number, reason: string): number {
    return row * this.#reasons.values.length + this.#reasons.indexOf(reason);
  }

  *#counts(cells: readonly number[]): Generator<RefusalCount> {
    const width = this.#reasons.values.length;
    for (const [row, command] of this.#commands.values.entries()) {
      for (const [column, reason] of this.#reasons.values.entries()) {
        const count = cells[row * width + column] ?? 0;
        if (count > 0) yield { command, reason, count };
      }
    }
  }
}

function bump(counts: number[], index: number): void {
  counts[index] = (counts[index] as number) + 1;
}
