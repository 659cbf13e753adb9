// Settle and Release: the two commands that end a hold. No spend is lost here (DESIGN, promise 5): what was really spent
// is covered as far as the least available over all levels reaches, and the rest is kept apart as overrun.
import type { Release, Settle } from './command.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse } from './decision.ts';
import type { Effect, Released, Settled } from './entry.ts';
import { counterRoomMicros, headroomAfter, type LimitRoom, tightest } from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import { labelsAfter } from './records-after.ts';
import { overflowRefusal } from './refuse-money.ts';
import { endedRefusal, reservationNotFound } from './refuse-state.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/** How a settlement moves a reservation. `used` is the change of settled + held + overrun at every level. */
interface Movement {
  readonly figures: ReservationFigures;
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
}

/** Decides a Settle of a live hold, or a late one after the lapse. */
export function decideSettle(state: TreeState, command: Settle, context: DecideContext): Decision {
  const reservation = state.reservation(command.id);
  if (reservation === undefined) return answerOnly(reservationNotFound(state, command.id));
  const late = reservation.figures.state === 'EXPIRED';
  const ended = late ? undefined : endedRefusal(state, reservation);
  const request = { budget: reservation.budget, id: command.id, holder: reservation.holder };
  if (ended !== undefined) return refuse(state, command, context, ended, request);
  const binding = tightest(state, reservation.accounts);
  const movement = late
    ? settleLate(reservation.figures, command, context, binding)
    : settleLive(reservation.figures, command, context, binding);
  const usedMicros = movement.heldMicros + movement.settledMicros + movement.overrunMicros;
  const counterRoom = counterRoomMicros(state, reservation.accounts);
  if (usedMicros > counterRoom) {
    const overflow = overflowRefusal(reservation.budget, reservation.unit, usedMicros, counterRoom);
    return refuse(state, command, context, overflow, request);
  }
  const labels = labelsAfter(reservation.labels, command.personal?.labels ?? []);
  const entry: Settled = {
    ...entryBase(state, command, context),
    type: 'Settled',
    id: reservation.id,
    figures: movement.figures,
    actualMicros: command.actualMicros,
    keepOpen: command.keepOpen,
    retainMicros: command.retainMicros,
    headroom: headroomAfter(state, reservation.accounts, binding, usedMicros),
    effects: [effectOf(reservation, movement)],
  };
  return changed(state, { ...reservation, labels, figures: movement.figures }, entry);
}

/** Decides a Release. */
export function decideRelease(state: TreeState, command: Release, context: DecideContext): Decision {
  const reservation = state.reservation(command.id);
  if (reservation === undefined) return answerOnly(reservationNotFound(state, command.id));
  const ended = endedRefusal(state, reservation);
  if (ended !== undefined) {
    return refuse(state, command, context, ended, {
      budget: reservation.budget,
      id: command.id,
      holder: reservation.holder,
    });
  }
  const { figures: before } = reservation;
  const movement: Movement = {
    heldMicros: -before.heldMicros,
    settledMicros: 0n,
    overrunMicros: 0n,
    figures: {
      ...before,
      state: 'RELEASED',
      heldMicros: 0n,
      releasedMicros: before.releasedMicros + before.heldMicros,
      endMs: context.nowMs,
      releaseReason: command.reason,
    },
  };
  const entry: Released = {
    ...entryBase(state, command, context),
    type: 'Released',
    id: reservation.id,
    figures: movement.figures,
    headroom: headroomAfter(state, reservation.accounts, tightest(state, reservation.accounts), movement.heldMicros),
    effects: [effectOf(reservation, movement)],
  };
  return changed(state, { ...reservation, figures: movement.figures }, entry);
}

// The hold covers the cost; past it, what is available does; past that, it is overrun.
function settleLive(
  before: ReservationFigures,
  command: Settle,
  context: DecideContext,
  binding: LimitRoom | undefined,
): Movement {
  const actualMicros = command.actualMicros ?? before.heldMicros;
  const fromHoldMicros = least(actualMicros, before.heldMicros);
  const pastHoldMicros = actualMicros - fromHoldMicros;
  const pastCoveredMicros = covered(pastHoldMicros, binding, 0n);
  const restMicros = before.heldMicros - fromHoldMicros;
  const keptMicros = command.keepOpen ? least(restMicros, command.retainMicros ?? restMicros) : 0n;
  const settledMicros = fromHoldMicros + pastCoveredMicros;
  const overrunMicros = pastHoldMicros - pastCoveredMicros;
  return {
    heldMicros: keptMicros - before.heldMicros,
    settledMicros,
    overrunMicros,
    figures: {
      ...before,
      state: command.keepOpen ? 'ACTIVE' : 'SETTLED',
      heldMicros: keptMicros,
      settledMicros: before.settledMicros + settledMicros,
      overrunMicros: before.overrunMicros + overrunMicros,
      releasedMicros: before.releasedMicros + restMicros - keptMicros,
      estimatedMicros: command.actualMicros === undefined ? settledMicros : 0n,
      estimated: command.actualMicros === undefined,
      started: true,
      endMs: command.keepOpen ? undefined : context.nowMs,
      outcome: command.outcome ?? before.outcome,
    },
  };
}

// The hold has gone back already. An estimate made at the lapse is taken out first, then the cost is covered as far as
// what is available reaches.
function settleLate(
  before: ReservationFigures,
  command: Settle,
  context: DecideContext,
  binding: LimitRoom | undefined,
): Movement {
  const actualMicros = command.actualMicros ?? before.lapsedHeldMicros;
  // A part replaces as much of the estimate as it costs; the last settlement replaces what is left of it.
  const replacedMicros = command.keepOpen ? least(actualMicros, before.estimatedMicros) : before.estimatedMicros;
  const leftMicros = before.estimatedMicros - replacedMicros;
  const coveredMicros = covered(actualMicros, binding, replacedMicros);
  const overrunMicros = actualMicros - coveredMicros;
  invariant(before.heldMicros === 0n, 'a lapsed reservation holds nothing');
  return {
    heldMicros: 0n,
    settledMicros: coveredMicros - replacedMicros,
    overrunMicros,
    figures: {
      ...before,
      state: command.keepOpen ? 'EXPIRED' : 'SETTLED',
      settledMicros: before.settledMicros - replacedMicros + coveredMicros,
      overrunMicros: before.overrunMicros + overrunMicros,
      releasedMicros: before.releasedMicros + atLeastZero(replacedMicros - actualMicros),
      estimatedMicros: command.actualMicros === undefined ? coveredMicros : leftMicros,
      estimated: command.actualMicros === undefined || leftMicros > 0n,
      // What is still unknown of the hold: parts that came late are not taken for unknown again.
      lapsedHeldMicros: command.keepOpen
        ? atLeastZero(before.lapsedHeldMicros - actualMicros)
        : before.lapsedHeldMicros,
      late: true,
      endMs: command.keepOpen ? before.endMs : context.nowMs,
      outcome: command.outcome ?? before.outcome,
    },
  };
}

// `freedMicros` comes free at every level in the same step.
function covered(costMicros: bigint, binding: LimitRoom | undefined, freedMicros: bigint): bigint {
  if (binding === undefined) return costMicros;
  return least(costMicros, atLeastZero(binding.roomMicros + freedMicros));
}

function effectOf(reservation: Reservation, movement: Movement): Effect {
  const wasActive = reservation.figures.state === 'ACTIVE';
  const isActive = movement.figures.state === 'ACTIVE';
  return {
    heldMicros: movement.heldMicros,
    settledMicros: movement.settledMicros,
    overrunMicros: movement.overrunMicros,
    active: Number(isActive) - Number(wasActive),
    accounts: reservation.accounts,
  };
}

function changed(state: TreeState, reservation: Reservation, entry: Settled | Released): Decision {
  return {
    answer: {
      kind: 'reservation',
      treeId: state.treeId,
      reservation,
      headroom: entry.headroom,
      replayed: false,
      dryRun: false,
    },
    entries: [entry],
  };
}
