// Reserve: the command that asks for money, for a place among the live ones and for a share of the rates, all of it or nothing.
import type { BudgetState, Labels } from './budget.ts';
import { effectsOf } from './charge.ts';
import type { Reserve } from './command.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse, revisionsOf } from './decision.ts';
import type { BudgetChange, Entry } from './entry.ts';
import { counterRoomMicros, headroomAfter, type LimitRoom, tightest } from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import { type RateRoom, rateMoves, rateRooms } from './refuse-rate.ts';
import { admissionRefusal, reserveShapeRefusal } from './refuse-reserve.ts';
import { largestMicros } from './refuse-shape.ts';
import { closedRefusal, suspendedRefusal } from './refuse-state.ts';
import { type RequestedCharge, requestedCharge } from './requested-charge.ts';
import type { ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

// One for all: most reservations have none.
const NO_LABELS: Labels = [];

/** Decides a Reserve: existence, suspended, closed, shape, never fits, rates, concurrency, money. */
export function decideReserve(state: TreeState, command: Reserve, context: DecideContext): Decision {
  const charge = requestedCharge(state, command, context);
  if ('reason' in charge) return answerOnly(charge);
  const { budgets } = charge;
  const { nowMs } = context;
  const binding = tightest(charge, nowMs);
  const counterRoom = counterRoomMicros(charge, nowMs);
  const rates = rateRooms(budgets, { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls }, nowMs);
  const admission = {
    charge,
    binding,
    counterRoomMicros: counterRoom,
    minMicros: command.minMicros,
    ownHeldMicros: undefined,
    rates,
    entering: budgets,
  };
  const refusal =
    suspendedRefusal(budgets) ??
    closedRefusal(budgets) ??
    reserveShapeRefusal(charge, command) ??
    admissionRefusal(admission, context);
  if (refusal !== undefined) {
    return refuse(state, command, context, refusal, {
      budget: command.budget,
      maxMicros: command.maxMicros,
      minMicros: command.minMicros,
      holder: command.holder,
      budgets: charge.made.length === 0 ? budgets : budgets.filter(({ def }) => state.budget(def.no) !== undefined),
    });
  }
  const grantedMicros = least(grantable(command.maxMicros, binding, counterRoom), largestMicros(budgets));
  return granted(state, command, context, charge, { grantedMicros, binding, rates });
}

interface Grant {
  readonly grantedMicros: bigint;
  readonly binding: LimitRoom | undefined;
  readonly rates: readonly RateRoom[];
}

function granted(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  charge: RequestedCharge,
  { grantedMicros, binding, rates }: Grant,
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
    holder: command.holder,
    actingFor: command.personal?.actingFor ?? '',
    labels: command.personal?.labels ?? NO_LABELS,
    figures: newFigures(command, context, grantedMicros),
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
  const made = charge.made.map((def, index) => createdEntry(state, command, context, def, index));
  const base = entryBase(state, command, context);
  const entry: Entry = {
    ...base,
    seq: base.seq + made.length,
    type: 'Granted',
    reservation,
    minMicros: command.minMicros,
    revisions: revisionsOf(charge.budgets),
    headroom,
    effects: effectsOf(charge, movement, context.nowMs),
    rateMoves: rates.length === 0 ? NO_MOVES : rateMoves(rates),
  };
  return { answer, entries: made.length === 0 ? [entry] : [...made, entry] };
}

const NO_MOVES: readonly never[] = [];

// Nobody asked for it by name: it has no key, and its answer is the grant's.
function createdEntry(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  def: BudgetState['def'],
  index: number,
): BudgetChange {
  const base = entryBase(state, { actor: command.actor, key: undefined, personal: undefined }, context);
  return {
    ...base,
    seq: base.seq + index,
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

function newFigures(command: Reserve, context: DecideContext, grantedMicros: bigint): ReservationFigures {
  const expireMs = context.nowMs + command.ttlMs;
  return {
    state: 'ACTIVE',
    requestedMicros: command.maxMicros,
    grantedMicros,
    heldMicros: grantedMicros,
    settledMicros: 0n,
    releasedMicros: 0n,
    overrunMicros: 0n,
    estimatedMicros: 0n,
    lapsedHeldMicros: 0n,
    expireMs,
    reclaimMs: expireMs + context.graceMs,
    ttlMs: command.ttlMs,
    renewalCount: 0,
    endMs: undefined,
    late: false,
    estimated: false,
    started: false,
    outcome: undefined,
    releaseReason: '',
  };
}

/** The most that can be granted of `maxMicros`: what the tightest limit and the counters themselves leave. */
export function grantable(maxMicros: bigint, binding: LimitRoom | undefined, counterRoom: bigint): bigint {
  const fits = least(maxMicros, counterRoom);
  return binding === undefined ? fits : least(fits, atLeastZero(binding.roomMicros));
}
