// A coordinator and read models without a lane: they answer whatever a test says and remember what they were asked. By
// default every command succeeds at once with figures that can be recognised.
import type { Answer, BudgetAnswer, ReservationAnswer } from '../../src/kernel/answer.ts';
import { EMPTY_LIFETIME, NO_SHAPE } from '../../src/kernel/budget.ts';
import type { Command, Renew, Reserve } from '../../src/kernel/command.ts';
import { ENFORCED } from '../../src/kernel/enforcement.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import { type BudgetPath, parsePath, type ReservationId, type TreeId, treeOf } from '../../src/kernel/names.ts';
import { ANY_MODEL } from '../../src/kernel/price.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import type { Queued, Reservation, ReservationFigures } from '../../src/kernel/reservation.ts';
import type { WindowRule } from '../../src/kernel/window.ts';
import type { Coordinator, CoordinatorStatus } from '../../src/lane/coordinator.ts';
import type { ListBudgetsQuery, ListReservationsQuery, ReadModels, TreeHead } from '../../src/store/reads.ts';
import { memoryPrices } from './memory-prices.ts';

/** 2026-03-02T09:00:00Z. */
/** Its clock. */
export const FAKE_NOW_MS = 1_772_442_000_000;

/** A path that the test knows to be one. */
export function path(text: string): BudgetPath {
  const parsed = parsePath(text);
  if (typeof parsed !== 'string') throw new Error(`${text}: ${parsed.problem}`);
  return parsed;
}

/** A live reservation of 60 s on `acme/triage`. */
export function fakeReservation(id: string, changes: Partial<Reservation> = {}): Reservation {
  const figures: ReservationFigures = {
    state: 'ACTIVE',
    requestedMicros: 500n,
    grantedMicros: 400n,
    heldMicros: 300n,
    settledMicros: 70n,
    releasedMicros: 30n,
    overrunMicros: 5n,
    estimatedMicros: 0n,
    lapsedHeldMicros: 0n,
    expireMs: FAKE_NOW_MS + 60_000,
    reclaimMs: FAKE_NOW_MS + 65_000,
    ttlMs: 60_000,
    renewalCount: 0,
    endMs: undefined,
    late: false,
    estimated: false,
    started: false,
    outcome: undefined,
    releaseReason: '',
  };
  return {
    id: id as ReservationId,
    budgetNo: 2,
    budget: path('acme/triage'),
    also: [],
    unit: 'USD',
    accounts: [],
    createMs: FAKE_NOW_MS,
    priority: 'normal',
    alternative: '',
    shadow: undefined,
    price: undefined,
    priced: undefined,
    queued: undefined,
    holder: '',
    actingFor: '',
    labels: [],
    figures,
    ...changes,
  };
}

/** One that waits for 30 s on `acme/triage`. */
export function fakeWaiting(id: string): Reservation {
  const base = fakeReservation(id);
  const figures: ReservationFigures = {
    ...base.figures,
    state: 'QUEUED',
    grantedMicros: 0n,
    heldMicros: 0n,
    settledMicros: 0n,
    releasedMicros: 0n,
    overrunMicros: 0n,
  };
  const queued: Queued = {
    seq: 5,
    untilMs: FAKE_NOW_MS + 30_000,
    minMicros: 500n,
    ttlMs: undefined,
    tokens: 0,
    toolCalls: 0,
    alternatives: [],
    call: undefined,
    key: { digest: 'digest', fingerprint: 'fingerprint' },
    actor: 'tester',
    salt: undefined,
    commitment: undefined,
    reason: 'CAPACITY_HELD',
    blockedBy: 'acme',
    limit: 'lifetime',
  };
  return { ...base, figures, queued };
}

/** The answer that shows this reservation. */
export function reservationShown(treeId: string, reservation: Reservation, dryRun = false): ReservationAnswer {
  const headroom = { micros: 9_500n, budget: 'acme', limit: 'lifetime' };
  return { kind: 'reservation', treeId: treeId as TreeId, reservation, headroom, replayed: false, dryRun };
}

/** The answer that shows an open budget with one lifetime limit of 10,000. */
export function budgetShown(budget: BudgetPath, changes: Partial<BudgetAnswer> = {}): BudgetAnswer {
  const limit = { no: 1, name: 'lifetime', windowNo: 0, amountMicros: 10_000n, topUp: undefined };
  const rule: WindowRule = { kind: 'lifetime' };
  const counter = { ...EMPTY_LIFETIME, heldMicros: 400n, settledMicros: 100n, overrunMicros: 0n };
  return {
    kind: 'budget',
    treeId: treeOf(budget),
    def: {
      no: 1,
      path: budget,
      parentNo: undefined,
      kind: 'tenant',
      owner: 'finance',
      unit: 'USD',
      uncapped: false,
      windows: [{ no: 0, rule, firstPeriodMs: 0 }],
      windowNoMax: 0,
      limits: [limit],
      limitNoMax: 1,
      rates: [],
      rateNoMax: 0,
      shape: NO_SHAPE,
      onExpiry: 'release',
      overrun: 'record',
      enforcement: ENFORCED,
      alertAt: [80, 100],
      weight: 1,
      floorMicros: 0n,
      sharePercent: undefined,
      childShares: [],
      models: ANY_MODEL,
      childTemplate: undefined,
      suspended: false,
      closed: false,
      revision: 7,
      createMs: FAKE_NOW_MS - 1_000,
      updateMs: FAKE_NOW_MS,
    },
    labels: [['team', 'blue']],
    standings: [{ limit, rule, amountMicros: limit.amountMicros, counter, flooredMicros: 0n, period: undefined }],
    lifetime: counter,
    activeCount: 1,
    openChildCount: 0,
    rates: [],
    headroom: { micros: 9_500n, budget, limit: 'lifetime' },
    suspendedBy: '',
    closedBy: '',
    replayed: false,
    ...changes,
  };
}

function granted(command: Reserve): ReservationAnswer {
  const base = fakeReservation(command.id);
  const figures = { ...base.figures, requestedMicros: command.maxMicros, grantedMicros: command.maxMicros };
  const { budget, also, priority, holder, personal } = command;
  const { actingFor, labels } = personal ?? { actingFor: '', labels: [] };
  return reservationShown(
    command.treeId,
    { ...base, budget, also, priority, holder, actingFor, labels, figures },
    command.dryRun,
  );
}

function renewed({ treeId, renewals }: Renew): Answer {
  return { kind: 'renewals', results: renewals.map(({ id }) => reservationShown(treeId, fakeReservation(id))) };
}

/** Success for every command. */
export function succeed(command: Command): Answer {
  switch (command.kind) {
    case 'Reserve':
      return granted(command);
    case 'Renew':
      return renewed(command);
    case 'Extend':
    case 'Settle':
    case 'Release':
    case 'LeaveQueue':
    case 'GetReservation':
      return reservationShown(command.treeId, fakeReservation(command.id));
    case 'GetQueue':
      return { kind: 'queue', treeId: command.treeId, waiting: [], count: 0 };
    case 'Expire':
      return { kind: 'expired', count: 0, more: false };
    case 'ApplyBudgets':
      return { kind: 'budgets', results: command.changes.map(({ budget }) => budgetShown(budget)), replayed: false };
    default:
      return budgetShown(command.budget);
  }
}

/** A coordinator that answers as it is told. */
export class FakeCoordinator implements Coordinator {
  /** Every command, in the order submitted. */
  readonly commands: Command[] = [];
  /** Signals that came with them, in the same order. */
  readonly signals: (AbortSignal | undefined)[] = [];
  /** Every tree that was caught up; undefined for all. */
  readonly caughtUp: (TreeId | undefined)[] = [];
  /** How commands are answered; a test replaces it. */
  answer: (command: Command) => Answer | Promise<Answer> = succeed;
  /** What `catchUp` answers. */
  catchUpRefusal: Refusal | undefined;
  statusNow: CoordinatorStatus = {
    serving: true,
    leader: true,
    leaderAddress: '127.0.0.1:50051',
    epoch: 3,
    projectionLagMs: 120,
    queueDepth: 4,
    waitingCount: 3,
    quarantinedTrees: ['broken'],
  };
  /** Whoever wants to be told of commits. */
  readonly listeners = new Set<(treeId: TreeId) => void>();
  /** A book of its own, empty at first. */
  readonly prices = memoryPrices({ nowMs: () => FAKE_NOW_MS });
  #ids = 0;

  async submit(command: Command, signal?: AbortSignal): Promise<Answer> {
    this.commands.push(command);
    this.signals.push(signal);
    return this.answer(command);
  }

  nowMs(): number {
    return FAKE_NOW_MS;
  }

  newReservationId(): ReservationId {
    this.#ids += 1;
    return `06fk2xw8q4${String(this.#ids).padStart(12, '0')}` as ReservationId;
  }

  async catchUp(treeId: TreeId | undefined): Promise<Refusal | undefined> {
    this.caughtUp.push(treeId);
    return this.catchUpRefusal;
  }

  status(): CoordinatorStatus {
    return this.statusNow;
  }

  onCommitted(listener: (treeId: TreeId) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

/** Read models over lists in memory. */
export class FakeReads implements ReadModels {
  paths: BudgetPath[] = [];
  reservations: Reservation[] = [];
  /** Entries by tree, each with its sequence. */
  readonly journals = new Map<TreeId, Entry[]>();
  /** How often a journal was read. */
  readCount = 0;
  /** Thrown by every method, if set. */
  failure: Error | undefined;

  async listBudgetPaths({ after, countMax }: ListBudgetsQuery): Promise<readonly BudgetPath[]> {
    this.#failIfTold();
    return this.paths.filter((candidate) => after === undefined || candidate > after).slice(0, countMax);
  }

  async listReservations({ after, countMax }: ListReservationsQuery): Promise<readonly Reservation[]> {
    this.#failIfTold();
    return this.reservations.filter(({ id }) => after === undefined || id > after).slice(0, countMax);
  }

  async readEvents(treeId: TreeId, afterSeq: number, countMax: number): Promise<readonly Entry[]> {
    this.#failIfTold();
    this.readCount += 1;
    return (this.journals.get(treeId) ?? []).filter(({ seq }) => seq > afterSeq).slice(0, countMax);
  }

  async treeHeads(after: TreeId | undefined, countMax: number, movedAfterMs = -1): Promise<readonly TreeHead[]> {
    this.#failIfTold();
    return [...this.journals]
      .map(([treeId, entries]) => ({ treeId, seq: entries.length, atMs: entries.at(-1)?.atMs ?? 0 }))
      .filter(({ treeId, atMs }) => (after === undefined || treeId > after) && atMs > movedAfterMs)
      .sort((a, b) => (a.treeId < b.treeId ? -1 : 1))
      .slice(0, countMax);
  }

  async seqThrough(treeId: TreeId, atMs = Number.MAX_SAFE_INTEGER): Promise<number> {
    this.#failIfTold();
    return (this.journals.get(treeId) ?? []).findLast((entry) => entry.atMs <= atMs)?.seq ?? 0;
  }

  async findReservations(_treeId: TreeId, ids: readonly ReservationId[]): Promise<readonly Reservation[]> {
    this.#failIfTold();
    return this.reservations.filter(({ id }) => ids.includes(id));
  }

  async uncappedRoots(countMax: number): Promise<readonly BudgetPath[]> {
    this.#failIfTold();
    return [path('lab'), path('acme')].slice(0, countMax);
  }

  async databaseInfo(): Promise<{ readonly version: string; readonly schemaVersion: number }> {
    this.#failIfTold();
    return { version: '18.4', schemaVersion: 2 };
  }

  #failIfTold(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}
