// Entries for tests of the store: a small tree and what happens in it, right in figures and effects, built without the
// kernel so that a store test fails only for the store's sake.
import { type Account, type BudgetDef, type Labels, NO_SHAPE } from '../../src/kernel/budget.ts';
import { ENFORCED, PRIORITY_DEFAULT } from '../../src/kernel/enforcement.ts';
import type {
  Alert,
  Alerted,
  BudgetChange,
  Enqueued,
  Entry,
  EntryPersonal,
  Expired,
  Granted,
  LeftQueue,
  Released,
  Renewed,
  Settled,
} from '../../src/kernel/entry.ts';
import type { BudgetPath, ReservationId, TreeId } from '../../src/kernel/names.ts';
import { ANY_MODEL } from '../../src/kernel/price.ts';
import type { Queued, ReservationFigures } from '../../src/kernel/reservation.ts';
import { GENESIS_HASH, type Head, type Store, type TreeAppend } from '../../src/store/port.ts';

/** When everything here happens, unless told otherwise. */
export const START_MS = 1_767_225_600_000;

/** Head of a tree without entries. */
export const NO_HEAD: Head = { seq: 0, hash: GENESIS_HASH, atMs: 0 };

/** A tree id. */
export const tree = (id: string) => id as TreeId;
/** A path. */
export const path = (text: string) => text as BudgetPath;
/** A reservation's id. */
export const rid = (text: string) => text.padEnd(12, '0') as ReservationId;
/** A digest of a key, from any text. */
export const digest = (text: string) => Buffer.from(text.padEnd(16, '.').slice(0, 16)).toString('base64url');

interface Common {
  readonly seq: number;
  readonly atMs?: number;
  readonly key?: string;
  readonly personal?: { readonly actingFor?: string; readonly labels?: Labels };
}

function base(common: Common) {
  const { personal, key } = common;
  const fields: EntryPersonal | undefined = personal && {
    commitment: digest(`commit ${common.seq}`),
    salt: digest(`salt ${common.seq}`),
    actingFor: personal.actingFor ?? '',
    labels: personal.labels ?? [],
  };
  return {
    seq: common.seq,
    atMs: common.atMs ?? START_MS + common.seq,
    actor: 'tester',
    key: key === undefined ? undefined : { digest: digest(key), fingerprint: digest('fingerprint') },
    personal: fields,
  };
}

/** The definition of a budget. */
export function definition(
  no: number,
  at: string,
  parentNo: number | undefined,
  over: Partial<BudgetDef> = {},
): BudgetDef {
  return {
    no,
    path: path(at),
    parentNo,
    kind: 'team',
    owner: 'owner',
    unit: 'USD',
    uncapped: false,
    windows: [{ no: 0, rule: { kind: 'lifetime' }, firstPeriodMs: 0 }],
    limits: [{ no: 1, name: 'lifetime', windowNo: 0, amountMicros: 1_000_000n, topUp: undefined }],
    limitNoMax: 1,
    rates: [],
    windowNoMax: 0,
    rateNoMax: 0,
    shape: NO_SHAPE,
    onExpiry: 'release',
    overrun: 'record',
    enforcement: ENFORCED,
    alertAt: [],
    weight: 1,
    floorMicros: 0n,
    sharePercent: undefined,
    childShares: [],
    models: ANY_MODEL,
    childTemplate: undefined,
    suspended: false,
    closed: false,
    revision: 1,
    createMs: START_MS,
    updateMs: START_MS,
    ...over,
  };
}

/** A budget is made. */
export function created(common: Common, def: BudgetDef): BudgetChange {
  const replaceLabels = common.personal !== undefined;
  const change = { addMicros: undefined, reason: '', opening: [], rateMoves: [], openChildren: 1 } as const;
  return { ...base(common), type: 'BudgetCreated', def, replaceLabels, ...change };
}

/** A budget is edited; with personal fields its labels are replaced, or removed where they hold none. */
export function updated(common: Common, def: BudgetDef, replaceLabels: boolean): BudgetChange {
  const change = { addMicros: undefined, reason: 'edit', opening: [], rateMoves: [], openChildren: 0 } as const;
  return { ...base(common), type: 'BudgetUpdated', def, replaceLabels, ...change };
}

/** Figures of a fresh hold. */
export function held(micros: bigint, reclaimMs: number): ReservationFigures {
  return {
    state: 'ACTIVE',
    requestedMicros: micros,
    grantedMicros: micros,
    heldMicros: micros,
    settledMicros: 0n,
    releasedMicros: 0n,
    overrunMicros: 0n,
    estimatedMicros: 0n,
    lapsedHeldMicros: 0n,
    expireMs: reclaimMs - 5_000,
    reclaimMs,
    ttlMs: 60_000,
    renewalCount: 0,
    endMs: undefined,
    late: false,
    estimated: false,
    started: false,
    outcome: undefined,
    releaseReason: '',
  };
}

const lifetime = (budgetNo: number): Account => ({ budgetNo, windowNo: 0, periodMs: 0 });
/** Accounts of a reservation on these budgets, root first. */
export const accountsOn = (...budgetNos: readonly number[]): readonly Account[] => budgetNos.map(lifetime);

const NO_ROOM = { micros: 5n, budget: 'acme', limit: 'lifetime' };

/** A hold on a budget, charged to the budgets given, root first. */
export function granted(
  common: Common,
  id: ReservationId,
  budget: {
    readonly path: string;
    readonly nos: readonly number[];
    readonly holder?: string;
    readonly enqueuedSeq?: number;
  },
  figures: ReservationFigures,
): Granted {
  const accounts = accountsOn(...budget.nos);
  const { heldMicros } = figures;
  return {
    ...base(common),
    type: 'Granted',
    enqueuedSeq: budget.enqueuedSeq,
    rateMoves: [],
    reservation: {
      id,
      budgetNo: budget.nos.at(-1) as number,
      budget: path(budget.path),
      also: [],
      unit: 'USD',
      accounts,
      createMs: common.atMs ?? START_MS + common.seq,
      priority: PRIORITY_DEFAULT,
      alternative: '',
      shadow: undefined,
      price: undefined,
      priced: undefined,
      queued: undefined,
      holder: budget.holder ?? 'worker',
      actingFor: common.personal?.actingFor ?? '',
      labels: common.personal?.labels ?? [],
      figures,
    },
    minMicros: 0n,
    revisions: [[1, 1]],
    headroom: NO_ROOM,
    effects: [{ heldMicros, settledMicros: 0n, overrunMicros: 0n, active: 1, accounts }],
  };
}

/** Figures of one that waits. */
function waits(micros: bigint): ReservationFigures {
  return { ...held(0n, 0), state: 'QUEUED', requestedMicros: micros, expireMs: 0 };
}

/** One waits for room until an instant: it names paths, and `nos` are the budgets on them that there are. */
export function enqueued(
  common: Common,
  id: ReservationId,
  budget: {
    readonly path: string;
    readonly nos: readonly number[];
    readonly also?: readonly BudgetPath[];
    readonly holder?: string;
  },
  untilMs: number,
): Enqueued {
  const own = base(common);
  const { reservation, revisions } = granted(common, id, budget, waits(100n));
  const queued: Queued = {
    seq: common.seq,
    untilMs,
    minMicros: 50n,
    ttlMs: undefined,
    tokens: 0,
    toolCalls: 7,
    alternatives: [{ label: 'small "model"', maxMicros: 9n }],
    call: { kind: 'call', call: { candidates: [{ provider: 'openai', model: 'a "b"' }], serviceTier: 'flex' } },
    key: { digest: digest(`key of ${id}`), fingerprint: digest('fingerprint') },
    actor: own.actor,
    salt: own.personal?.salt,
    commitment: own.personal?.commitment,
    reason: 'CAPACITY_HELD',
    blockedBy: budget.path,
    limit: 'lifetime',
  };
  return {
    ...own,
    key: undefined,
    type: 'Enqueued',
    reservation: { ...reservation, also: budget.also ?? [], queued },
    revisions,
  };
}

/** Some leave the queue ungranted. */
export function leftQueue(common: Common, ...ids: readonly ReservationId[]): LeftQueue {
  const { atMs } = base(common);
  const refusal = { kind: 'refusal', reason: 'QUEUE_TIMEOUT', message: 'no room in time' } as const;
  const figures = { ...waits(100n), state: 'RELEASED', endMs: atMs, releaseReason: 'QUEUE_TIMEOUT' } as const;
  return { ...base(common), type: 'LeftQueue', leaves: ids.map((id) => ({ id, figures, refusal })) };
}

/** The whole hold is settled. */
export function settled(
  common: Common,
  id: ReservationId,
  nos: readonly number[],
  before: ReservationFigures,
): Settled {
  const amount = before.heldMicros;
  return {
    ...base(common),
    type: 'Settled',
    id,
    figures: {
      ...before,
      state: 'SETTLED',
      heldMicros: 0n,
      settledMicros: before.settledMicros + amount,
      endMs: START_MS + common.seq,
      outcome: 'succeeded',
    },
    headroom: NO_ROOM,
    effects: [
      { heldMicros: -amount, settledMicros: amount, overrunMicros: 0n, active: -1, accounts: accountsOn(...nos) },
    ],
    actualMicros: amount,
    priced: undefined,
    keepOpen: false,
    retainMicros: undefined,
  };
}

/** The whole hold is given back. */
export function released(
  common: Common,
  id: ReservationId,
  nos: readonly number[],
  before: ReservationFigures,
): Released {
  const amount = before.heldMicros;
  return {
    ...base(common),
    type: 'Released',
    id,
    figures: {
      ...before,
      state: 'RELEASED',
      heldMicros: 0n,
      releasedMicros: amount,
      releaseReason: 'not "needed" \\ any more',
    },
    headroom: NO_ROOM,
    effects: [{ heldMicros: -amount, settledMicros: 0n, overrunMicros: 0n, active: -1, accounts: accountsOn(...nos) }],
  };
}

/** Leases move to a new reclaim time. */
export function renewed(
  common: Common,
  moves: readonly (readonly [ReservationId, ReservationFigures, number])[],
): Renewed {
  return {
    ...base(common),
    type: 'Renewed',
    moves: moves.map(([id, before, reclaimMs]) => ({
      id,
      figures: { ...before, reclaimMs, expireMs: reclaimMs - 5_000, started: true },
      headroom: NO_ROOM,
    })),
    refused: [],
  };
}

/** A hold lapses and is given back. */
export function expired(
  common: Common,
  id: ReservationId,
  nos: readonly number[],
  before: ReservationFigures,
): Expired {
  const amount = before.heldMicros;
  return {
    ...base(common),
    type: 'Expired',
    lapses: [
      {
        id,
        figures: { ...before, state: 'EXPIRED', heldMicros: 0n, lapsedHeldMicros: amount, releasedMicros: amount },
        charged: false,
        effects: [
          { heldMicros: -amount, settledMicros: 0n, overrunMicros: 0n, active: -1, accounts: accountsOn(...nos) },
        ],
      },
    ],
  };
}

/** Limits reached shares of their amounts: each is a budget's number, a limit's number, a period and a percentage. */
export function alerted(common: Common, ...marks: readonly (readonly [number, number, number, number])[]): Alerted {
  const alerts = marks.map(
    ([budgetNo, limitNo, periodMs, percent]): Alert => ({
      budgetNo,
      budget: 'acme',
      limitNo,
      limit: 'lifetime',
      periodMs,
      percent,
      usedMicros: BigInt(percent),
      amountMicros: 100n,
      exhaustMs: undefined,
    }),
  );
  return { ...base(common), type: 'Alerted', alerts };
}

/** Root, team and run, with entries 1 to 3. */
export function threeLevels(root: string): Entry[] {
  return [
    created({ seq: 1 }, definition(1, root, undefined)),
    created({ seq: 2 }, definition(2, `${root}/team`, 1)),
    created({ seq: 3 }, definition(3, `${root}/team/run`, 2)),
  ];
}

/** Appends to one tree and gives the new head; throws where it was not committed. */
export async function appendTo(store: Store, epoch: number, part: TreeAppend): Promise<Head> {
  const result = await store.append(epoch, [part]);
  if (result.outcome !== 'committed') throw new Error(`append to ${part.treeId}: ${result.outcome}`);
  return result.heads[0] as Head;
}
