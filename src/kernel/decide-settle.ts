// Settle and Release: the two commands that end a hold. No spend is lost here (DESIGN, promise 5): what was really spent
// is covered as far as the least available over all levels reaches, and the rest is kept apart as overrun.
import { type Charge, effectsOf, type Movement, reservationCharge } from './charge.ts';
import type { Release, Settle } from './command.ts';
import { coveredLate, coveredLive, roomsOnceReplaced } from './coverage.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse } from './decision.ts';
import { binds } from './enforcement.ts';
import type { Released, Settled } from './entry.ts';
import {
  counterRoomMicros,
  coverableMicros,
  headroomAfter,
  headroomIn,
  type LimitRoom,
  leastBy,
  limitRooms,
  tightest,
} from './headroom.ts';
import { invariant } from './invariant.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import { publicReservationId } from './names.ts';
import type { PricedUsage, Unpriced, UsageToPrice } from './price.ts';
import { labelsAfter } from './records-after.ts';
import type { Refusal } from './refusal.ts';
import { type Ask, overflowRefusal, recoveryMs, refusalOf } from './refuse-money.ts';
import { unpricedRefusal } from './refuse-price.ts';
import { withRetry } from './refuse-reserve.ts';
import { implausibleRefusal } from './refuse-shape.ts';
import { endedRefusal, reservationNotFound } from './refuse-state.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/** How a settlement moves a reservation, and the accounts at every level. */
interface Settlement extends Omit<Movement, 'active'> {
  readonly figures: ReservationFigures;
}

/** Decides a Settle of a live hold, or a late one after the lapse. */
export function decideSettle(state: TreeState, asked: Settle, context: DecideContext): Decision {
  const { usage } = asked;
  if (usage?.kind === 'refusal') return answerOnly(usage);
  const reservation = state.reservation(asked.id);
  if (reservation === undefined) return answerOnly(reservationNotFound(state, asked.id));
  const late = reservation.figures.state === 'EXPIRED';
  const ended = late ? undefined : endedRefusal(state, reservation);
  const request = { budget: reservation.budget, id: asked.id, holder: reservation.holder };
  const cost = ended === undefined ? costOf(state, reservation, usage, context) : undefined;
  if (cost?.kind === 'refusal') return refuse(state, asked, context, cost, request);
  const command = cost === undefined ? asked : { ...asked, actualMicros: cost.micros };
  const implausible = command.confirmed
    ? undefined
    : implausibleRefusal(reservation, command.actualMicros, context.implausibleFactor);
  const early = ended ?? implausible;
  if (early !== undefined) return refuse(state, command, context, early, request);
  const charge = reservationCharge(state, reservation, context.calendar);
  const { figures } = reservation;
  const lateRooms = late ? roomsForLate(charge, figures, command, context) : undefined;
  const binding = tightest(charge, context.nowMs);
  const settlement =
    lateRooms === undefined
      ? settleLive(figures, command, context, coveredLive(charge, binding, figures.heldMicros, context.nowMs))
      : settleLate(figures, command, context, coveredLate(lateRooms));
  const usedMicros = settlement.heldMicros + settlement.settledMicros + settlement.overrunMicros;
  const counterRoom = counterRoomMicros(charge, context.nowMs);
  const refusal =
    usedMicros > counterRoom
      ? overflowRefusal(reservation.budget, reservation.unit, usedMicros, counterRoom)
      : overrunRefusal(charge, reservation, command, settlement, context);
  if (refusal !== undefined) return refuse(state, command, context, refusal, request);
  const labels = labelsAfter(reservation.labels, command.personal?.labels ?? []);
  const entry: Settled = {
    ...entryBase(state, command, context),
    type: 'Settled',
    id: reservation.id,
    figures: settlement.figures,
    actualMicros: command.actualMicros,
    priced: cost?.priced,
    keepOpen: command.keepOpen,
    retainMicros: command.retainMicros,
    headroom:
      lateRooms === undefined
        ? headroomAfter(charge, context.nowMs, binding, usedMicros)
        : headroomIn(lateRooms, usedMicros + (settlement.replaces?.micros ?? 0n)),
    effects: effectsOf(charge, movementOf(reservation, settlement), context.nowMs),
  };
  const priced = cost?.priced ?? reservation.priced;
  return changed(state, { ...reservation, labels, priced, figures: settlement.figures }, entry);
}

// What reported usage came to, by what was pinned at admission. A report that is refused changes nothing: the hold stays.
function costOf(
  state: TreeState,
  { id, budget, price }: Reservation,
  usage: UsageToPrice | undefined,
  { pricing, nowMs }: DecideContext,
): { readonly kind: 'cost'; readonly micros: bigint; readonly priced: PricedUsage } | Refusal | undefined {
  if (usage === undefined) return undefined;
  const cost = price === undefined ? ASKED_BY_AMOUNT : pricing.cost(price, usage, nowMs);
  if (cost.kind === 'cost') return { kind: 'cost', micros: cost.priced.micros, priced: cost.priced };
  return { ...unpricedRefusal(cost, budget), reservationId: publicReservationId(state.treeId, id) };
}

const ASKED_BY_AMOUNT: Unpriced = {
  kind: 'unpriced',
  reason: 'PRICE_UNKNOWN',
  message: 'it was reserved by amount, so that no prices are pinned for it: settle an amount',
};

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
  const charge = reservationCharge(state, reservation, context.calendar);
  const settlement: Settlement = {
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
    figures: settlement.figures,
    headroom: headroomAfter(charge, context.nowMs, tightest(charge, context.nowMs), settlement.heldMicros),
    effects: effectsOf(charge, movementOf(reservation, settlement), context.nowMs),
  };
  return changed(state, { ...reservation, figures: settlement.figures }, entry);
}

// The hold covers the cost; past it, what is available does; past that, it is overrun.
function settleLive(
  before: ReservationFigures,
  command: Settle,
  context: DecideContext,
  coverMicros: bigint | undefined,
): Settlement {
  const actualMicros = command.actualMicros ?? before.heldMicros;
  const restMicros = before.heldMicros - least(actualMicros, before.heldMicros);
  const keptMicros = command.keepOpen ? least(restMicros, command.retainMicros ?? restMicros) : 0n;
  const settledMicros = atMost(actualMicros, coverMicros);
  const overrunMicros = actualMicros - settledMicros;
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

// A part replaces as much of the estimate as it costs; the last settlement replaces what is left of it.
function replacedMicrosOf(before: ReservationFigures, command: Settle): bigint {
  const actualMicros = command.actualMicros ?? before.lapsedHeldMicros;
  return command.keepOpen ? least(actualMicros, before.estimatedMicros) : before.estimatedMicros;
}

function roomsForLate(charge: Charge, before: ReservationFigures, command: Settle, { nowMs }: DecideContext) {
  return roomsOnceReplaced(charge, replacedMicrosOf(before, command), before.endMs ?? nowMs, nowMs);
}

// The hold has gone back already. An estimate made at the lapse is taken out first, then the cost is covered as far as
// what is available reaches.
function settleLate(
  before: ReservationFigures,
  command: Settle,
  context: DecideContext,
  coverMicros: bigint | undefined,
): Settlement {
  const actualMicros = command.actualMicros ?? before.lapsedHeldMicros;
  const replacedMicros = replacedMicrosOf(before, command);
  const leftMicros = before.estimatedMicros - replacedMicros;
  const coveredMicros = atMost(actualMicros, coverMicros);
  const overrunMicros = actualMicros - coveredMicros;
  invariant(before.heldMicros === 0n, 'a lapsed reservation holds nothing');
  return {
    heldMicros: 0n,
    settledMicros: coveredMicros - replacedMicros,
    overrunMicros,
    replaces: { micros: replacedMicros, atMs: before.endMs ?? context.nowMs },
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

function atMost(costMicros: bigint, coverMicros: bigint | undefined): bigint {
  return coverMicros === undefined ? costMicros : least(costMicros, coverMicros);
}

function movementOf(reservation: Reservation, settlement: Settlement): Movement {
  const wasActive = reservation.figures.state === 'ACTIVE';
  const isActive = settlement.figures.state === 'ACTIVE';
  return { ...settlement, active: Number(isActive) - Number(wasActive) };
}

// A live hold may not overrun where any budget that it charges says so. Late settlements are always recorded: the money is spent.
function overrunRefusal(
  charge: Charge,
  reservation: Reservation,
  command: Settle,
  { overrunMicros }: Settlement,
  context: DecideContext,
): Refusal | undefined {
  const { figures } = reservation;
  if (overrunMicros === 0n || figures.state !== 'ACTIVE') return undefined;
  const rejecting = charge.budgets.find((budget) => budget.def.overrun === 'reject' && binds(budget));
  if (rejecting === undefined) return undefined;
  const pastHoldMicros = (command.actualMicros ?? figures.heldMicros) - figures.heldMicros;
  const { heldMicros: ownHeldMicros } = figures;
  const ask: Ask = { minMicros: pastHoldMicros, priority: reservation.priority, ownHeldMicros, ...context };
  // What is kept for urgent work is no bound for what is spent already.
  const rooms = limitRooms(charge, context.nowMs).filter(({ budget }) => binds(budget));
  const coverable = (room: LimitRoom): bigint => atLeastZero(coverableMicros(room));
  const failing = rooms.filter((room) => coverable(room) < pastHoldMicros);
  // What only budgets that watch do not cover is no reason to refuse: they stop nobody.
  if (failing.length === 0) return undefined;
  const why = `the cost passes the hold by more than is available, and ${rejecting.def.path} takes no overrun`;
  const refusal = refusalOf('OVERRUN_REJECTED', why, leastBy(failing, coverable), failing, ask);
  return withRetry(
    refusal,
    failing.map((room) => recoveryMs(room, ask)),
  );
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
