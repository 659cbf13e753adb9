// Reserve and Extend: the two commands that ask for money.

import type { Account, BudgetState, Labels } from './budget.ts';
import type { Extend, Reserve } from './command.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse, revisionsOf } from './decision.ts';
import type { Effect, Entry } from './entry.ts';
import { counterRoomMicros, headroomAfter, type LimitRoom, limitRooms, tightest } from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least, MICROS_MAX } from './money.ts';
import type { Refusal } from './refusal.ts';
import { moneyRefusal, overflowRefusal } from './refuse-money.ts';
import {
  budgetNotFound,
  closedRefusal,
  endedRefusal,
  leaseRefusal,
  reservationNotFound,
  suspendedRefusal,
} from './refuse-state.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

// One for all: most reservations have none.
const NO_LABELS: Labels = [];

/** Decides a Reserve. Existence, suspended, closed, then money. */
export function decideReserve(state: TreeState, command: Reserve, context: DecideContext): Decision {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return answerOnly(budgetNotFound(command.budget));
  const chain = state.chain(budget);
  const accounts = state.accountsOf(budget);
  const binding = tightest(state, accounts);
  const counterRoom = counterRoomMicros(state, accounts);
  const refusal =
    suspendedRefusal(chain) ??
    closedRefusal(chain) ??
    amountRefusal(state, accounts, binding, counterRoom, command.minMicros, 0n);
  if (refusal !== undefined) {
    return refuse(state, command, context, refusal, {
      budget: command.budget,
      maxMicros: command.maxMicros,
      minMicros: command.minMicros,
      holder: command.holder,
      budgets: chain,
    });
  }
  return granted(state, command, context, chain, binding, counterRoom);
}

function granted(
  state: TreeState,
  command: Reserve,
  context: DecideContext,
  chain: readonly BudgetState[],
  binding: LimitRoom | undefined,
  counterRoom: bigint,
): Decision {
  const budget = chain.at(-1) as BudgetState;
  const grantedMicros = grantable(command.maxMicros, binding, counterRoom);
  const accounts = state.accountsOf(budget);
  const headroom = headroomAfter(state, accounts, binding, grantedMicros);
  const reservation = {
    id: command.id,
    budgetNo: budget.def.no,
    budget: budget.def.path,
    unit: budget.def.unit,
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
  const effect: Effect = { heldMicros: grantedMicros, settledMicros: 0n, overrunMicros: 0n, active: 1, accounts };
  const entry: Entry = {
    ...entryBase(state, command, context),
    type: 'Granted',
    reservation,
    minMicros: command.minMicros,
    revisions: revisionsOf(chain),
    headroom,
    effects: [effect],
  };
  return { answer, entries: [entry] };
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
    endMs: undefined,
    late: false,
    estimated: false,
    started: false,
    outcome: undefined,
    releaseReason: '',
  };
}

/** Decides an Extend: judged against the reservation's own periods. */
export function decideExtend(state: TreeState, command: Extend, context: DecideContext): Decision {
  const reservation = state.reservation(command.id);
  if (reservation === undefined) return answerOnly(reservationNotFound(state, command.id));
  const chain = state.chain(state.mustBudget(reservation.budgetNo));
  const binding = tightest(state, reservation.accounts);
  const counterRoom = counterRoomMicros(state, reservation.accounts);
  const refusal =
    leaseRefusal(state, reservation, context.nowMs) ??
    endedRefusal(state, reservation) ??
    suspendedRefusal(chain) ??
    closedRefusal(chain) ??
    requestOverflow(reservation, command.addMicros) ??
    amountRefusal(state, reservation.accounts, binding, counterRoom, command.minMicros, reservation.figures.heldMicros);
  if (refusal !== undefined) {
    return refuse(state, command, context, refusal, {
      budget: reservation.budget,
      id: command.id,
      maxMicros: command.addMicros,
      minMicros: command.minMicros,
      holder: reservation.holder,
      budgets: chain,
    });
  }
  return extended(state, command, context, reservation, chain, binding, counterRoom);
}

function extended(
  state: TreeState,
  command: Extend,
  context: DecideContext,
  reservation: Reservation,
  chain: readonly BudgetState[],
  binding: LimitRoom | undefined,
  counterRoom: bigint,
): Decision {
  const addedMicros = grantable(command.addMicros, binding, counterRoom);
  const { figures: before } = reservation;
  const figures: ReservationFigures = {
    ...before,
    requestedMicros: before.requestedMicros + command.addMicros,
    grantedMicros: before.grantedMicros + addedMicros,
    heldMicros: before.heldMicros + addedMicros,
    started: true,
  };
  const headroom = headroomAfter(state, reservation.accounts, binding, addedMicros);
  const entry: Entry = {
    ...entryBase(state, command, context),
    type: 'Extended',
    id: reservation.id,
    figures,
    addMicros: command.addMicros,
    minMicros: command.minMicros,
    revisions: revisionsOf(chain),
    headroom,
    effects: [
      { heldMicros: addedMicros, settledMicros: 0n, overrunMicros: 0n, active: 0, accounts: reservation.accounts },
    ],
  };
  return {
    answer: {
      kind: 'reservation',
      treeId: state.treeId,
      reservation: { ...reservation, figures },
      headroom,
      replayed: false,
      dryRun: false,
    },
    entries: [entry],
  };
}

// What was requested in all is a sum too: with small minimums it may pass every counter by far.
function requestOverflow(reservation: Reservation, addMicros: bigint): Refusal | undefined {
  const roomMicros = MICROS_MAX - reservation.figures.requestedMicros;
  if (addMicros <= roomMicros) return undefined;
  return overflowRefusal(reservation.budget, reservation.unit, addMicros, roomMicros);
}

// A limit says more than the counters: where it fails, its reason is the one to give. Only where none does is a sum past
// int64 the reason.
function amountRefusal(
  state: TreeState,
  accounts: readonly Account[],
  binding: LimitRoom | undefined,
  counterRoom: bigint,
  minMicros: bigint,
  ownHeldMicros: bigint,
): Refusal | undefined {
  // Where the tightest limit has room all of them have: the usual case looks no further.
  const fits = binding === undefined || atLeastZero(binding.roomMicros) >= minMicros;
  const money = fits ? undefined : moneyRefusal(limitRooms(state, accounts), minMicros, ownHeldMicros);
  if (money !== undefined || counterRoom >= minMicros) return money;
  const { def: root } = state.mustBudget((accounts[0] as Account).budgetNo);
  return overflowRefusal(root.path, root.unit, minMicros, counterRoom);
}

function grantable(maxMicros: bigint, binding: LimitRoom | undefined, counterRoom: bigint): bigint {
  const fits = least(maxMicros, counterRoom);
  return binding === undefined ? fits : least(fits, atLeastZero(binding.roomMicros));
}
