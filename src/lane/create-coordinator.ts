// Puts the lane's parts together: lane, writer lease, projector, reaper, clock. The only place that knows all of them.
import { randomUUID } from 'node:crypto';
import type { LeaderGap } from '../kernel/decide-grace.ts';
import type { QueueContext } from '../kernel/decision.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Pricing } from '../kernel/price.ts';
import type { Refusal } from '../kernel/refusal.ts';
import { type Store, StoreUnavailableError } from '../store/port.ts';
import { createCalendar } from './calendar.ts';
import { type Clock, StoreClock } from './clock.ts';
import { CommitListeners } from './commit-listeners.ts';
import { commitTo } from './commitment.ts';
import type { Coordinator, CoordinatorStatus } from './coordinator.ts';
import { expireCommand } from './expire-command.ts';
import { newReservationId } from './ids.ts';
import { Lane } from './lane.ts';
import type { LaneObserver } from './lane-observer.ts';
import type { Log } from './log.ts';
import { sleepUnlessAborted as sleep } from './loop.ts';
import { PriceKeeper, type PriceOptions } from './price-keeper.ts';
import { createPricing } from './pricing.ts';
import { Projector } from './projector.ts';
import { Reaper } from './reaper.ts';
import * as refusals from './refusals.ts';
import { watchServing } from './watch-serving.ts';
import { Writer } from './writer.ts';

/** What a coordinator is made with. */
export interface CoordinatorOptions {
  readonly store: Store;
  readonly log: Log;
  /** Address that standbys tell callers when this process is the writer. */
  readonly address: string;
  /** Time between the end of a lease and the lapse of its hold, in milliseconds, at least 0. */
  readonly graceMs: number;
  /**
   * A settlement of more than this many times what was granted has to be confirmed; 0: none has to. Default:
   * IMPLAUSIBLE_FACTOR_DEFAULT.
   */
  readonly implausibleFactor?: number;
  /** How requests wait for room. Default: QUEUE_DEFAULT. */
  readonly queue?: Pick<QueueContext, 'ageMs' | 'countMax'>;
  /** The price book. Default: what was added to it, and no catalogue. */
  readonly prices?: PriceOptions;
  /** What decisions price by. Default: the price book. */
  readonly pricing?: Pricing;
  /** Whether quiet trees are looked after. Answers are the same either way. */
  readonly reaper: boolean;
  /** Where decisions read the time from. Default: the store's clock. */
  readonly clock?: Clock;
  /** Commands in one transaction. Default: 256. */
  readonly batchCountMax?: number;
  /** Default: nobody. */
  readonly observer?: LaneObserver | undefined;
  /** Called whenever `status().serving` has changed, before a caller is told anything that follows from it. */
  readonly onServingChange?: (serving: boolean) => void;
}

/** What metrics show beside the status. */
export interface CoordinatorMeasures {
  /** Trees in memory. */
  readonly cachedTrees: number;
  /** Open holds of the trees in memory, from the counters of their roots. */
  readonly openHolds: number;
  /** Difference to the store's clock that is refused to be followed, in milliseconds; 0: none. */
  readonly refusedClockJumpMs: number;
}

/** A coordinator with its life cycle. */
export interface RunningCoordinator extends Coordinator {
  /** Looks at every tree in memory: for a scrape, not for a call. */
  measure(): CoordinatorMeasures;
  /** Tells callers of standbys another address of this process from the next renewal of the lease on. */
  announce(address: string): void;
  /** Puts a tree out of service: its records do not agree. */
  quarantine(treeId: TreeId, why: string, error: unknown): void;
  /** Ends what was let in, catches the projection up and gives the writer's lease back. */
  stop(): Promise<void>;
}

/** A unit that was mistaken is wrong by a thousand or more (micros for millis, cents for dollars of tokens). */
export const IMPLAUSIBLE_FACTOR_DEFAULT = 1_000;

/**
 * The most that `countMax` may be: all that wait in a tree are read in one go when it is loaded, 20,000 usual ones in 1 s on a busy
 * machine and the largest that may wait instead in 3 s, half of what the writer's lease lasts.
 */
export const QUEUE_COUNT_MAX = 20_000;

/**
 * A class higher after a minute; as many waiting on one budget as take 20 to 35 MB of memory where they are usual ones, and some 120 MB
 * where each names nine deep paths of its own.
 */
export const QUEUE_DEFAULT: Pick<QueueContext, 'ageMs' | 'countMax'> = { ageMs: 60_000, countMax: 10_000 };

/** How long a start waits for the price book, which mostly is read in a fraction of this: what needs no price begins then. */
const BOOK_WAIT_MS = 2_000;

const monotonicMs = (): number => performance.now();

/** What every part measures and waits by. */
const TIME = { monotonicMs, sleep };

/** Starts a coordinator. Throws StoreUnavailableError where the store can't be reached. */
export async function startCoordinator(options: CoordinatorOptions): Promise<RunningCoordinator> {
  const { store, log, graceMs } = options;
  let stopped: Promise<void> | undefined;
  const storeClock = options.clock === undefined ? new StoreClock(monotonicMs, log) : undefined;
  const clock = options.clock ?? (storeClock as StoreClock);
  const listeners = new CommitListeners();
  let gap: LeaderGap | undefined;
  const writer: Writer = new Writer({
    store,
    holder: randomUUID(),
    address: options.address,
    storeClock,
    log,
    graceMs,
    onLead: (epoch, gapMs) => {
      gap = storeClock && gapBefore(storeClock.nowMs(), epoch, gapMs);
      keeper.lead(epoch);
      changedHands();
      projector.takeUpLeftOver();
    },
    onLost: () => {
      keeper.lose();
      changedHands();
    },
    ...TIME,
  });
  const keeper: PriceKeeper = createKeeper(options, clock, writer);
  const lane: Lane = new Lane({
    store,
    clock,
    ...laneSettings(options, keeper),
    epoch: () => writer.epoch,
    leaderAddress: () => writer.leaderAddress,
    gap: () => gap,
    onFenced: (epoch) => writer.fenced(epoch),
    onCommitted: (treeId, entryCount) => listeners.tell(treeId, entryCount),
    catchUp: (treeId) => projector.catchUp(treeId),
    overload: () => projector.overload(),
    onStoreChange: () => noteServing(),
    ...TIME,
  });
  const projector: Projector = new Projector({
    store,
    cache: lane.cache,
    log,
    onCorrupt: (treeId, error) => lane.quarantine(treeId, 'its entries do not fit its projection', error),
    ...TIME,
  });
  listeners.add((treeId, entryCount) => projector.note(treeId, entryCount));
  const isServing = (): boolean => writer.epoch !== undefined && !lane.storeDown && stopped === undefined;
  const submit = submitTo(lane, keeper);
  const tellServing = watchServing(isServing, options.onServingChange);
  const noteServing = inTurn(() => lane.noteServing(), tellServing);
  const changedHands = (): void => {
    lane.reset();
    noteServing();
  };
  const reaper = new Reaper({ store, clock, log, submit, isLeader: () => writer.epoch !== undefined, sleep });
  const parts: Parts = { store, lane, projector, reaper, writer, keeper };
  await startInOrder(parts, options, () => {
    // Until here nobody could renew or settle either.
    if (gap !== undefined && storeClock !== undefined) gap = { ...gap, toMs: storeClock.nowMs() };
  });
  return {
    submit,
    nowMs: () => clock.nowMs(),
    prices: keeper,
    newReservationId: () => newReservationId(clock.nowMs()),
    catchUp: (treeId) => catchUp(parts, treeId),
    status: () => ({ serving: isServing(), ...statusOf(parts) }),
    onCommitted: (listener) => listeners.add(listener),
    announce: (address) => writer.announce(address),
    quarantine: (treeId, why, error) => lane.quarantine(treeId, why, error),
    measure: () => ({ ...lane.cache.measure(), refusedClockJumpMs: storeClock?.refusedJumpMs ?? 0 }),
    stop() {
      stopped ??= stopInOrder(parts);
      noteServing();
      return stopped;
    },
  };
}

function createKeeper({ prices, store, log }: CoordinatorOptions, clock: Clock, writer: Writer): PriceKeeper {
  return new PriceKeeper({
    ...prices,
    store,
    log,
    nowMs: () => clock.nowMs(),
    leaderAddress: () => writer.leaderAddress,
    onFenced: (epoch) => writer.fenced(epoch),
    sleep,
  });
}

function laneSettings(options: CoordinatorOptions, keeper: PriceKeeper) {
  const { graceMs, implausibleFactor = IMPLAUSIBLE_FACTOR_DEFAULT, queue = QUEUE_DEFAULT, log } = options;
  const { outputTokensDefault } = keeper;
  return {
    graceMs,
    calendar: createCalendar(),
    implausibleFactor,
    queue,
    pricing: options.pricing ?? createPricing({ book: () => keeper.book, outputTokensDefault }),
    commit: commitTo,
    log,
    batchCountMax: options.batchCountMax,
    observer: options.observer,
  };
}

// Only what names a model call can be refused for want of a price: everything else goes straight to the lane.
function submitTo(lane: Lane, keeper: PriceKeeper): Coordinator['submit'] {
  return (command, signal) => {
    const answering = lane.submit(command, signal);
    const isPriced = (command.kind === 'Reserve' || command.kind === 'Extend') && command.call !== undefined;
    if (!isPriced) return answering;
    return answering.then((answer) => {
      if (answer.kind === 'refusal') keeper.noteRefusal(answer);
      return answer;
    });
  };
}

async function startInOrder(
  { writer, keeper, projector, reaper }: Parts,
  options: CoordinatorOptions,
  onOpen: () => void,
): Promise<void> {
  await writer.start();
  const waited = new AbortController();
  await Promise.race([keeper.settled(), sleep(BOOK_WAIT_MS, waited.signal)]);
  waited.abort();
  onOpen();
  projector.start();
  if (options.reaper) reaper.start();
}

// Measured by the store's clock; a clock that is injected says nothing about it.
function inTurn(first: () => void, second: () => void): () => void {
  return () => {
    first();
    second();
  };
}

function gapBefore(toMs: number, epoch: number, gapMs: number): LeaderGap {
  return { epoch, fromMs: toMs - gapMs, toMs };
}

interface Parts {
  readonly store: Store;
  readonly lane: Lane;
  readonly projector: Projector;
  readonly reaper: Reaper;
  readonly writer: Writer;
  readonly keeper: PriceKeeper;
}

async function catchUp(parts: Parts, treeId: TreeId | undefined): Promise<Refusal | undefined> {
  const { store, lane, projector, reaper, writer } = parts;
  if (writer.epoch === undefined) return refusals.notLeader(writer.leaderAddress);
  if (treeId !== undefined) {
    for (;;) {
      const answer = await lane.submit(expireCommand(treeId));
      if (answer.kind === 'refusal') return answer;
      if (answer.kind !== 'expired' || !answer.more) break;
    }
  }
  try {
    await projector.catchUp(treeId);
    // What is due in all trees is looked for in the projection, so it comes after it and before it.
    if (treeId === undefined) {
      const { treeCount, refusal, fault } = await reaper.catchUp();
      if (fault !== undefined) throw fault.error;
      if (refusal !== undefined) return refusal;
      if (treeCount > 0) await projector.catchUp(undefined);
    }
    // Asked last: whatever another leader has answered by then might not be projected.
    const { epoch } = writer;
    if (epoch !== undefined && (await store.append(epoch, [])).outcome === 'fenced') writer.fenced(epoch);
    if (epoch === undefined || writer.epoch === undefined) return refusals.notLeader(writer.leaderAddress);
  } catch (error) {
    if (error instanceof StoreUnavailableError) return refusals.storeUnavailable();
    throw error;
  }
  return undefined;
}

// The door closes first, so that a round of the reaper that is under way finds it closed. The lease is renewed until the
// projection has caught up: whoever takes over finds nothing left to do.
async function stopInOrder({ reaper, lane, projector, writer, keeper }: Parts): Promise<void> {
  await Promise.all([lane.stop(), reaper.stop()]);
  await projector.stop();
  await keeper.stop();
  await writer.stop();
}

function statusOf({ lane, writer, projector }: Parts): Omit<CoordinatorStatus, 'serving'> {
  return {
    leader: writer.epoch !== undefined,
    leaderAddress: writer.leaderAddress,
    epoch: writer.epoch ?? 0,
    projectionLagMs: projector.lagMs,
    queueDepth: lane.depth,
    waitingCount: lane.waitingCount,
    quarantinedTrees: lane.quarantinedTrees,
  };
}
