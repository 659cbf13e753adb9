// Carries batches from decision to answer, at most two at a time: while one is being committed the next one may be decided on
// top of it and made ready, so that it is on its way to the store before the answers of the first are. It is never sent
// before the first is committed: what it was decided on is then what the journal says, or it is taken back and decided anew.
//
//   idle       nothing is decided that is not final. Records may be taken in and forgotten
//   one        a batch is with the store
//   two        and the next one is decided, and waits for the first to end:
//              committed by the same leader    it is sent, and is the one that is with the store
//              anything else                   it is taken back, its commands wait once more, before all others

import { invariant } from '../kernel/invariant.ts';
import type { TreeId } from '../kernel/names.ts';
import { type AppendResult, StoreUnavailableError, type TreeAppend } from '../store/port.ts';
import type { Appender } from './appender.ts';
import type { Submitted, TreeBatch } from './batch.ts';
import type { LaneDeps } from './lane-deps.ts';
import type { BatchOutcome, LaneObserver } from './lane-observer.ts';
import { itemsOf, type Outcomes, takeBack } from './outcomes.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** What the pipeline works with. */
export interface PipelineParts {
  readonly deps: LaneDeps;
  readonly observer: LaneObserver;
  readonly appender: Appender;
  readonly outcomes: Outcomes;
  readonly room: WaitingRoom;
  /** Decides commands on what is in memory. */
  readonly decide: (items: readonly Submitted[]) => readonly TreeBatch[];
  /** Has commands decided again, before others of their tree, in this order. */
  readonly putBack: (treeId: TreeId, items: readonly Submitted[]) => void;
  /** Called when a batch is on its way to the store. */
  readonly onSent: () => void;
}

/** A batch that is decided. */
interface Flight {
  readonly epoch: number;
  /** Trees with something to answer, to write or to wait for. */
  readonly live: readonly TreeBatch[];
  readonly appends: readonly TreeAppend[];
  /** Why it can't be made ready for the store; undefined where it could. */
  readonly fault: { readonly error: unknown } | undefined;
  readonly takenMs: number;
  /** Says whether it may be sent, once the one before it has ended. */
  readonly turn: PromiseWithResolvers<boolean>;
}

type End = { readonly result: AppendResult } | { readonly error: unknown };

/** See the head of this file. */
export class Pipeline {
  readonly #parts: PipelineParts;
  /** With the store. */
  #first: Flight | undefined;
  /** Decided on top of it. */
  #second: Flight | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /**
   * Whether a batch is with the store on which the next one may be decided. Not where its trees have more lapses to record
   * before anything else of them is decided.
   */
  get takesAnother(): boolean {
    const first = this.#first;
    if (first === undefined || this.#second !== undefined || first.fault !== undefined) return false;
    if (first.epoch !== this.#parts.deps.epoch() || this.#parts.appender.storeDown) return false;
    return first.live.every(({ deferred }) => deferred.length === 0);
  }

  /**
   * Decides a batch at once, on top of the one that is with the store, if there is one. Resolves when its commands are
   * answered, or wait once more.
   */
  async carry(items: readonly Submitted[]): Promise<void> {
    invariant(this.#second === undefined, 'a third batch is decided');
    const flight = this.#decide(items);
    if (flight === undefined) return;
    if (this.#first !== undefined) {
      this.#second = flight;
      if (!(await flight.turn.promise)) return;
    } else this.#first = flight;
    invariant(this.#first === flight && this.#second === undefined, 'a batch is sent out of its turn');
    const end = await this.#append(flight);
    this.#first = undefined;
    const second = this.#second;
    this.#second = undefined;
    if ('result' in end && end.result.outcome === 'committed') this.#goOn(flight, end.result, second);
    else this.#stop(flight, end, second);
  }

  #decide(items: readonly Submitted[]): Flight | undefined {
    const { deps, decide, outcomes } = this.#parts;
    const takenMs = deps.monotonicMs();
    const decided = decide(items);
    const live = decided.filter(
      ({ answered, waiting, entries, deferred }) =>
        answered.length > 0 || waiting.length > 0 || entries.length > 0 || deferred.length > 0,
    );
    if (live.length === 0) return undefined;
    const epoch = deps.epoch();
    if (epoch === undefined) {
      invariant(this.#first === undefined, 'only a leader decides ahead');
      outcomes.notLeader(live);
      return undefined;
    }
    const written = live.filter((batch) => batch.entries.length > 0);
    const appends = written.map(({ tree, entries }) => ({ treeId: tree.treeId, expected: tree.tip, entries }));
    const fault = this.#seal(written, appends);
    return { epoch, live, appends, fault, takenMs, turn: Promise.withResolvers() };
  }

  // What can't be written is no reason to mix it up with the batch that is with the store: it is sealed all the same, and
  // fails in its turn.
  #seal(written: readonly TreeBatch[], appends: readonly TreeAppend[]): Flight['fault'] {
    try {
      const heads = this.#parts.deps.store.headsAfter(appends);
      written.forEach(({ tree }, at) => {
        const head = heads[at];
        invariant(head !== undefined, 'every tree of a batch has a head after it');
        tree.seal(head);
      });
      return undefined;
    } catch (error) {
      for (const { tree } of written) tree.state.seal();
      return { error };
    }
  }

  async #append({ epoch, live, appends, fault, takenMs }: Flight): Promise<End> {
    const { deps, observer, appender, onSent } = this.#parts;
    const appendMs = deps.monotonicMs();
    const ended = (outcome: BatchOutcome): void =>
      observer.batchEnded({ outcome, trees: live, takenMs, appendMs, endedMs: deps.monotonicMs() });
    try {
      if (fault !== undefined) throw fault.error;
      const appending = appender.append(epoch, appends);
      onSent();
      const result = await appending;
      ended(result.outcome);
      return { result };
    } catch (error) {
      ended(error instanceof StoreUnavailableError ? 'unavailable' : 'failed');
      return { error };
    }
  }

  #goOn(flight: Flight, result: AppendResult, second: Flight | undefined): void {
    const { deps, outcomes } = this.#parts;
    const follows = second !== undefined && second.epoch === deps.epoch();
    if (follows) {
      this.#first = second;
      // Goes on before the callers that are answered next do.
      second.turn.resolve(true);
    }
    try {
      outcomes.known(flight.live, flight.epoch, result);
    } finally {
      if (!follows) this.#takeBack(second);
    }
  }

  // The second is taken back first: it was decided on the first.
  #stop(flight: Flight, end: End, second: Flight | undefined): void {
    const { outcomes } = this.#parts;
    this.#takeBack(second);
    if ('result' in end) outcomes.known(flight.live, flight.epoch, end.result);
    else outcomes.failed(flight.live, end.error);
  }

  #takeBack(flight: Flight | undefined): void {
    if (flight === undefined) return;
    takeBack(flight.live, this.#parts.room);
    for (const batch of flight.live) this.#parts.putBack(batch.tree.treeId, itemsOf(batch));
    flight.turn.resolve(false);
  }
}
