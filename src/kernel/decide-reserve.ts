// Reserve: the command that asks for money, for a place among the live ones and for a share of the rates, all of it or nothing.
import type { BudgetState, Labels } from './budget.ts';
import { effectsOf } from './charge.ts';
import type { Reserve } from './command.ts';
import { type Asked, type Behind, behindOf, leftMicros, NOT_BEHIND } from './contention.ts';
import { openingCounters, sharesEdit } from './decide-shares.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse, revisionsOf } from './decision.ts';
import { asEnforced, binds, hasShadow, isSpecial } from './enforcement.ts';
import { enqueued, queueFullRefusal, waits } from './enqueue.ts';
import type { BudgetChange, Entry } from './entry.ts';
import {
  admissibleMicros,
  admitted,
  counterRoomMicros,
  headroomAfter,
  type LimitRoom,
  leastBy,
  limitRooms,
  tightest,
} from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import type { PriceRecord } from './price.ts';
import type { Refusal } from './refusal.ts';
import { alternativeOf, isForTheMoment, modelRefusal, type PricedReserve, pricedReserve } from './refuse-price.ts';
import { type RateRoom, rateMoves, rateRooms } from './refuse-rate.ts';
import { type Admission, admissionRefusal, reserveShapeRefusal } from './refuse-reserve.ts';
import { largestMicros, leaseMs } from './refuse-shape.ts';
import { closedRefusal, suspendedRefusal } from './refuse-state.ts';
import { type RequestedCharge, requestedCharge } from './requested-charge.ts';
import type { ReservationFigures, Shadow } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

// One for all: most reservations have none.
const NO_LABELS: Labels = [];

/** What a Reserve comes to as things stand. */
export interface Judged {
  readonly charge: RequestedCharge;
  /** With the amount that its call comes to. */
  readonly priced: PricedReserve;
  readonly outcome: Grant | Refusal;
  /** Why the outcome, a refusal, may be another one a moment later though nothing changes in the tree; see isForTheMoment. */
  readonly unread: Refusal | undefined;
  /** What it asks that others may wait for. */
  readonly asked: Asked;
  readonly behind: Behind;
}

/**
 * Judges a Reserve: existence, suspended, closed, shape, never fits, rates, concurrency, money. Where there is no money, and the
 * budget that has none says so, the first of the alternatives that fits is granted instead. Who waits and comes first leaves
 * nothing to it.
 */
export function judgeReserve(state: TreeState, command: Reserve, context: DecideContext): Judged | Refusal {
  const charge = requestedCharge(state, command, context);
  if ('reason' in charge) return charge;
  const priced = pricedReserve(command, charge.named, context);
  const asked = askedOf(charge, command, context);
  const behind = behindOf(state, asked, command, context);
  const judged = { charge, priced, asked, behind };
  const outcome = admit(asked, behind, priced, context);
  if (outcome.kind === 'grant') return { ...judged, outcome, unread: undefined };
  if (isForTheMoment(outcome)) return { ...judged, outcome, unread: outcome };
  if (!degrades(charge, outcome)) return { ...judged, outcome, unread: undefined };
  for (const alternative of command.alternatives) {
    const cheaper = alternativeOf(priced, alternative, charge.named, context);
    if (cheaper === undefined) continue;
    const other = cheaper.kind === 'refusal' ? cheaper : admit(asked, behind, cheaper, context);
    if (other.kind === 'grant') {
      return { ...judged, outcome: { ...other, alternative: alternative.label }, unread: undefined };
    }
    // It may be the first that fits: those after it are not for this request yet.
    if (isForTheMoment(other)) return { ...judged, outcome, unread: other };
  }
  return { ...judged, outcome, unread: undefined };
}

/** Decides a Reserve: granted, refused, or put into the queue where it says that it waits. */
export function decideReserve(state: TreeState, command: Reserve, context: DecideContext): Decision {
  const judged = judgeReserve(state, command, context);
  if ('kind' in judged) return answerOnly(judged);
  const { charge, priced, outcome, unread } = judged;
  if (outcome.kind === 'grant') return granted(state, command, context, charge, outcome);
  const refusal = waits(command, outcome) ? queueFullRefusal(state, charge, command, context) : (unread ?? outcome);
  if (refusal === undefined) return enqueued(state, priced, context, charge, outcome);
  return refuse(state, command, context, refusal, {
    budget: command.budget,
    maxMicros: priced.maxMicros,
    minMicros: priced.minMicros,
    holder: command.holder,
    budgets: charge.budgets.flatMap(({ def }) => state.budget(def.no) ?? []),
  });
}

const MONEY_REASONS: ReadonlySet<string> = new Set(['EXCEEDS_LIMIT', 'BUDGET_EXHAUSTED', 'CAPACITY_HELD']);

// The binding budget's word counts.
function degrades({ budgets }: RequestedCharge, { reason, budget, limit }: Refusal): boolean {
  if (!MONEY_REASONS.has(reason) || limit === undefined) return false;
  return budgets.some(({ def }) => def.path === budget && def.enforcement.onExhaustion === 'degrade');
}

/** What can be granted, and what goes with it. */
export interface Grant {
  readonly kind: 'grant';
  /** What was asked for at the most: less than the command says where it is an alternative. */
  readonly maxMicros: bigint;
  readonly minMicros: bigint;
  readonly grantedMicros: bigint;
  readonly price: PriceRecord | undefined;
  readonly binding: LimitRoom | undefined;
  readonly rates: readonly RateRoom[];
  readonly shadow: Shadow | undefined;
  readonly alternative: string;
}

interface AskedCharge extends Asked {
  readonly charge: RequestedCharge;
  /** Every rate that is used, also of budgets that do not bind. */
  readonly allRates: readonly RateRoom[];
}

function askedOf(charge: RequestedCharge, command: Reserve, { nowMs }: DecideContext): AskedCharge {
  const { budgets } = charge;
  const use = { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls };
  const allRates = rateRooms(budgets, use, nowMs);
  if (!isSpecial(budgets)) return { charge, judging: budgets, rates: allRates, allRates };
  const judging = budgets.filter(binds);
  return { charge, judging, rates: allRates.filter(({ budget }) => judging.includes(budget)), allRates };
}

function admit(asked: AskedCharge, behind: Behind, command: PricedReserve, context: DecideContext): Grant | Refusal {
  const { charge, judging } = asked;
  const { budgets } = charge;
  const { nowMs } = context;
  const binding = tightest(charge, nowMs);
  const counterRoom = counterRoomMicros(charge, nowMs);
  const admittedMicros = admittedBehind(charge, binding, behind, command, context);
  const standing = { ...asked, admittedMicros, counterRoom, behind };
  const refusal = suspendedRefusal(budgets) ?? closedRefusal(budgets) ?? judge(standing, command, context);
  if (refusal !== undefined) return refusal;
  const shadow = hasShadow(budgets) ? shadowOf(standing, command, context) : undefined;
  if (shadow !== undefined && 'kind' in shadow) return shadow;
  return {
    kind: 'grant',
    maxMicros: command.maxMicros,
    minMicros: command.minMicros,
    price: command.price,
    grantedMicros: least(grantable(command.maxMicros, admittedMicros, counterRoom), largestMicros(judging)),
    binding,
    rates: asked.allRates,
    shadow,
    alternative: '',
  };
}

// What somebody could use who waits and comes first is not there.
function admittedBehind(
  charge: RequestedCharge,
  binding: LimitRoom | undefined,
  behind: Behind,
  { priority }: Reserve,
  { nowMs }: DecideContext,
): bigint | undefined {
  if (behind === NOT_BEHIND) return admitted(charge, binding, priority, nowMs);
  const available = (room: LimitRoom): bigint => least(admissibleMicros(room, priority), leftMicros(behind, room));
  const named = leastBy(limitRooms(charge, nowMs), available);
  return named && available(named);
}

interface Standing extends Asked {
  readonly charge: RequestedCharge;
  readonly admittedMicros: bigint | undefined;
  readonly counterRoom: bigint;
  readonly behind: Behind;
}

function judge(standing: Standing, command: PricedReserve, context: DecideContext): Refusal | undefined {
  const { charge, judging } = standing;
  return (
    reserveShapeRefusal({ ...charge, budgets: judging }, command) ??
    modelRefusal(judging, command.call, context) ??
    command.unpriced ??
    admissionRefusal(admissionOf(standing, command), context)
  );
}

/** What a Reserve asks of the limits, rates and slots. */
export function admissionOf(
  { charge, judging, rates, admittedMicros, counterRoom, behind }: Standing,
  { priority, minMicros }: Pick<Reserve, 'priority' | 'minMicros'>,
): Admission {
  return {
    charge,
    admittedMicros,
    priority,
    counterRoomMicros: counterRoom,
    minMicros,
    ownHeldMicros: undefined,
    rates,
    entering: judging,
    behind,
  };
}

// The same judgement with every budget enforcing; a refusal where it is not known for the moment. Where the price book can't be read at
// all nobody is kept waiting by a budget that only watches: enforcement's word is then what all else says.
function shadowOf(standing: Standing, command: Reserve, context: DecideContext): Shadow | Refusal | undefined {
  const { charge } = standing;
  const judging = asEnforced(charge.budgets);
  const enforced = { ...charge, budgets: judging };
  const use = { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls };
  const rates = rateRooms(judging, use, context.nowMs);
  const binding = tightest(enforced, context.nowMs);
  const admittedMicros = admittedBehind(enforced, binding, standing.behind, command, context);
  const strict = { ...standing, charge: enforced, judging, rates, admittedMicros };
  const word = judge(strict, command, context);
  if (word !== undefined && isForTheMoment(word)) return word;
  const isUnknown = word?.reason === 'PRICE_UNKNOWN';
  const refusal = isUnknown ? admissionRefusal(admissionOf(strict, command), context) : word;
  if (refusal === undefined) return undefined;
  const mode = charge.budgets.find(({ def }) => def.path === refusal.budget)?.def.enforcement.mode ?? 'enforce';
  return { mode, reason: refusal.reason, budget: refusal.budget ?? '' };
}

/** The grant, with the budgets that it makes. One that waited is granted under the id that it waited with. */
export function granted(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  charge: RequestedCharge,
  { maxMicros, minMicros, grantedMicros, price, binding, rates, shadow, alternative }: Grant,
): Decision {
  const { named, accounts } = charge;
  const headroom = headroomAfter(charge, context.nowMs, binding, grantedMicros);
  const reservation = {
    id: command.id,
    budgetNo: named.def.no,
    budget: named.def.path,
    also: command.also,
    unit: named.def.unit,
    accounts,
    createMs: context.nowMs,
    priority: command.priority,
    alternative,
    shadow,
    price,
    priced: undefined,
    queued: undefined,
    holder: command.holder,
    actingFor: command.personal?.actingFor ?? '',
    labels: command.personal?.labels ?? NO_LABELS,
    figures: newFigures(maxMicros, leaseMs(charge.budgets, command.ttlMs), context, grantedMicros),
  };
  const answer = {
    kind: 'reservation',
    treeId: state.treeId,
    reservation,
    headroom,
    replayed: false,
    dryRun: command.dryRun,
  } as const;
  if (command.dryRun) return answerOnly(answer);
  const waiting = state.reservation(command.id);
  invariant(
    waiting === undefined || waiting.figures.state === 'QUEUED',
    `id ${command.id} of a new reservation is taken`,
  );
  const movement = { heldMicros: grantedMicros, settledMicros: 0n, overrunMicros: 0n, active: 1 };
  const made = charge.made.map((def) => createdEntry(state, command, context, def));
  const edited = charge.edited.map((def) => listedEntry(state, command, context, def));
  const before = [...made, ...edited].map((each, index) => ({ ...each, seq: each.seq + index }));
  const base = entryBase(state, command, context);
  const entry: Entry = {
    ...base,
    seq: base.seq + before.length,
    type: 'Granted',
    reservation,
    minMicros,
    revisions: revisionsOf(charge.budgets),
    headroom,
    effects: effectsOf(charge, movement, context.nowMs),
    enqueuedSeq: waiting?.queued?.seq,
    rateMoves: rates.length === 0 ? NO_MOVES : rateMoves(rates),
  };
  return { answer, entries: before.length === 0 ? [entry] : [...before, entry] };
}

const NO_MOVES: readonly never[] = [];

// Nobody asked for it by name: it has no key, and its answer is the grant's.
function createdEntry(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  def: BudgetState['def'],
): BudgetChange {
  return {
    ...entryBase(state, { actor: command.actor, key: undefined, personal: undefined }, context),
    type: 'BudgetCreated',
    def,
    replaceLabels: true,
    addMicros: undefined,
    reason: '',
    opening: [],
    rateMoves: NO_MOVES,
    openChildren: 1,
  };
}

// What is made below it has a floor or a share.
function listedEntry(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  def: BudgetState['def'],
): BudgetChange {
  const opening = openingCounters(state, state.mustBudget(def.no).def, def, undefined);
  return { ...sharesEdit(state, command.actor, def, context), opening };
}

function newFigures(
  requestedMicros: bigint,
  ttlMs: number,
  context: DecideContext,
  grantedMicros: bigint,
): ReservationFigures {
  const expireMs = context.nowMs + ttlMs;
  return {
    state: 'ACTIVE',
    requestedMicros,
    grantedMicros,
    heldMicros: grantedMicros,
    settledMicros: 0n,
    releasedMicros: 0n,
    overrunMicros: 0n,
    estimatedMicros: 0n,
    lapsedHeldMicros: 0n,
    expireMs,
    reclaimMs: expireMs + context.graceMs,
    ttlMs,
    renewalCount: 0,
    endMs: undefined,
    late: false,
    estimated: false,
    started: false,
    outcome: undefined,
    releaseReason: '',
  };
}

/** The most that can be granted of `maxMicros`: what the limits admit and the counters themselves leave. */
export function grantable(maxMicros: bigint, admittedMicros: bigint | undefined, counterRoom: bigint): bigint {
  const fits = least(maxMicros, counterRoom);
  return admittedMicros === undefined ? fits : least(fits, atLeastZero(admittedMicros));
}
