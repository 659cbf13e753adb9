// Reserve: the command that asks for money, for a place among the live ones and for a share of the rates, all of it or nothing.
import type { BudgetState, Labels } from './budget.ts';
import { effectsOf } from './charge.ts';
import type { Reserve } from './command.ts';
import { openingCounters, sharesEdit } from './decide-shares.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse, revisionsOf } from './decision.ts';
import { asEnforced, binds, hasShadow, isSpecial } from './enforcement.ts';
import type { BudgetChange, Entry } from './entry.ts';
import { admitted, counterRoomMicros, headroomAfter, type LimitRoom, tightest } from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import type { Refusal } from './refusal.ts';
import { type RateRoom, rateMoves, rateRooms } from './refuse-rate.ts';
import { admissionRefusal, reserveShapeRefusal } from './refuse-reserve.ts';
import { largestMicros, leaseMs } from './refuse-shape.ts';
import { closedRefusal, suspendedRefusal } from './refuse-state.ts';
import { type RequestedCharge, requestedCharge } from './requested-charge.ts';
import type { ReservationFigures, Shadow } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

// One for all: most reservations have none.
const NO_LABELS: Labels = [];

/**
 * Decides a Reserve: existence, suspended, closed, shape, never fits, rates, concurrency, money. Where there is no money, and the
 * budget that has none says so, the first of the alternatives that fits is granted instead.
 */
export function decideReserve(state: TreeState, command: Reserve, context: DecideContext): Decision {
  const charge = requestedCharge(state, command, context);
  if ('reason' in charge) return answerOnly(charge);
  const asked = admit(charge, command, context);
  if (asked.kind === 'grant') return granted(state, command, context, charge, asked);
  if (degrades(charge, asked)) {
    for (const { label, maxMicros } of command.alternatives) {
      const cheaper = { ...command, maxMicros, minMicros: maxMicros };
      const outcome = admit(charge, cheaper, context);
      if (outcome.kind === 'grant') return granted(state, cheaper, context, charge, { ...outcome, alternative: label });
    }
  }
  return refuse(state, command, context, asked, {
    budget: command.budget,
    maxMicros: command.maxMicros,
    minMicros: command.minMicros,
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
interface Grant {
  readonly kind: 'grant';
  readonly grantedMicros: bigint;
  readonly binding: LimitRoom | undefined;
  readonly rates: readonly RateRoom[];
  readonly shadow: Shadow | undefined;
  readonly alternative: string;
}

function admit(charge: RequestedCharge, command: Reserve, context: DecideContext): Grant | Refusal {
  const { budgets } = charge;
  const { nowMs } = context;
  const isPlain = !isSpecial(budgets);
  const binding = tightest(charge, nowMs);
  const counterRoom = counterRoomMicros(charge, nowMs);
  const use = { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls };
  const rates = rateRooms(budgets, use, nowMs);
  const admittedMicros = admitted(charge, binding, command.priority, nowMs);
  const judging = isPlain ? budgets : budgets.filter(binds);
  const refusal =
    suspendedRefusal(budgets) ??
    closedRefusal(budgets) ??
    judge({ charge, judging, rates, admittedMicros, counterRoom }, command, context);
  if (refusal !== undefined) return refusal;
  const largest = largestMicros(judging);
  return {
    kind: 'grant',
    grantedMicros: least(grantable(command.maxMicros, admittedMicros, counterRoom), largest),
    binding,
    rates,
    shadow: hasShadow(budgets)
      ? shadowOf({ charge, judging, rates, admittedMicros, counterRoom }, command, context)
      : undefined,
    alternative: '',
  };
}

interface Standing {
  readonly charge: RequestedCharge;
  /** Budgets whose bounds bind. */
  readonly judging: readonly BudgetState[];
  readonly rates: readonly RateRoom[];
  readonly admittedMicros: bigint | undefined;
  readonly counterRoom: bigint;
}

function judge(standing: Standing, command: Reserve, context: DecideContext): Refusal | undefined {
  const { charge, judging, rates, admittedMicros, counterRoom } = standing;
  const admission = {
    charge,
    admittedMicros,
    priority: command.priority,
    counterRoomMicros: counterRoom,
    minMicros: command.minMicros,
    ownHeldMicros: undefined,
    rates: judging === charge.budgets ? rates : rates.filter(({ budget }) => judging.includes(budget)),
    entering: judging,
  };
  return reserveShapeRefusal({ ...charge, budgets: judging }, command) ?? admissionRefusal(admission, context);
}

// The same judgement with every budget enforcing.
function shadowOf(standing: Standing, command: Reserve, context: DecideContext): Shadow | undefined {
  const { charge, counterRoom } = standing;
  const judging = asEnforced(charge.budgets);
  const enforced = { ...charge, budgets: judging };
  const use = { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls };
  const rates = rateRooms(judging, use, context.nowMs);
  const admittedMicros = admitted(enforced, tightest(enforced, context.nowMs), command.priority, context.nowMs);
  const refusal = judge({ charge: enforced, judging, rates, admittedMicros, counterRoom }, command, context);
  if (refusal === undefined) return undefined;
  const mode = charge.budgets.find(({ def }) => def.path === refusal.budget)?.def.enforcement.mode ?? 'enforce';
  return { mode, reason: refusal.reason, budget: refusal.budget ?? '' };
}

function granted(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  charge: RequestedCharge,
  { grantedMicros, binding, rates, shadow, alternative }: Grant,
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
    holder: command.holder,
    actingFor: command.personal?.actingFor ?? '',
    labels: command.personal?.labels ?? NO_LABELS,
    figures: newFigures(command.maxMicros, leaseMs(charge.budgets, command.ttlMs), context, grantedMicros),
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
  invariant(state.reservation(command.id) === undefined, `id ${command.id} of a new reservation is taken`);
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
    minMicros: command.minMicros,
    revisions: revisionsOf(charge.budgets),
    headroom,
    effects: effectsOf(charge, movement, context.nowMs),
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
