// Repeats: what a key that is in the journal already is answered (DESIGN, promise 3). Same key and other request: refused.
// Same key and same request: the same answer, except that a grant is only handed out again while it can be used.
import type { Answer, BudgetAnswer, ReservationAnswer } from './answer.ts';
import type { ApplyBudgets, Command } from './command.ts';
import type { DecideContext } from './decision.ts';
import type { BudgetChange, Entry, Headroom } from './entry.ts';
import { InvariantError, invariant } from './invariant.ts';
import { publicReservationId, type ReservationId } from './names.ts';
import { readBudget, readReservation } from './read.ts';
import type { Refusal } from './refusal.ts';
import { endedRefusal, leaseRefusal } from './refuse-state.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/** The answer from memory; undefined where the command has no key or the key is not known here. */
export function replay(state: TreeState, command: Command, context: DecideContext): Answer | undefined {
  const entry = firstEntryOf(state, command);
  if (entry === undefined) return undefined;
  if (command.kind === 'ApplyBudgets' && entry.type !== 'Refused') return editsAgain(state, command, entry, context);
  if (!isSameRequest(entry, command, context)) return keyReused(state, entry);
  return answerFrom(state, entry, command, context);
}

/** Whether all that a repeat of this command is answered from is known here. False for one without a key. */
export function isRepeatKnown(state: TreeState, command: Command): boolean {
  return firstEntryOf(state, command) !== undefined;
}

// A part of an ApplyBudgets may have been forgotten: then the whole has to be looked for.
function firstEntryOf(state: TreeState, command: Command): Entry | undefined {
  if (command.key === undefined) return undefined;
  const entry = state.remembered(command.key.digest);
  if (entry === undefined || command.kind !== 'ApplyBudgets' || entry.type === 'Refused') return entry;
  // Another request under the same key: it is told from the first entry alone.
  if (entry.key?.fingerprint !== command.key.fingerprint) return entry;
  const isWhole = command.changes.every(({ key }) => key !== undefined && state.remembered(key.digest) !== undefined);
  return isWhole ? entry : undefined;
}

/** The reservation that a remembered entry is about: it must be loaded before a repeat can be answered. */
export function reservationOf(entry: Entry): ReservationId | undefined {
  switch (entry.type) {
    case 'Granted':
      return entry.reservation.id;
    case 'Extended':
    case 'Settled':
    case 'Released':
      return entry.id;
    case 'Renewed':
      return entry.moves[0]?.id;
    case 'LeftQueue':
      return entry.leaves[0]?.id;
    default:
      return undefined;
  }
}

// Personal fields are compared by their commitments. Once erased, nothing is left to compare and they pass as equal.
function isSameRequest(entry: Entry, command: Command, context: DecideContext): boolean {
  if (entry.key?.fingerprint !== command.key?.fingerprint) return false;
  const { personal } = entry;
  if (personal === undefined || command.personal === undefined) return personal === command.personal;
  if (personal.salt === undefined) return true;
  return context.commit({ ...command.personal, salt: personal.salt }) === personal.commitment;
}

function keyReused(state: TreeState, entry: Entry): Refusal {
  const refusal: Refusal = {
    kind: 'refusal',
    reason: 'IDEMPOTENCY_KEY_REUSED',
    message: 'this idempotency key was used for another request',
  };
  const id = reservationOf(entry);
  return id === undefined ? refusal : { ...refusal, reservationId: publicReservationId(state.treeId, id) };
}

function answerFrom(state: TreeState, entry: Entry, { kind }: Command, context: DecideContext): Answer {
  switch (entry.type) {
    case 'Granted':
    case 'Extended': {
      const { id, figures } = entry.type === 'Granted' ? entry.reservation : entry;
      const reservation = mustReservation(state, id);
      const price = entry.type === 'Granted' ? entry.reservation.price : (entry.price ?? reservation.price);
      const granted = { ...reservation, price };
      return unusable(state, reservation, context) ?? grantAgain(state, granted, figures, entry.headroom);
    }
    case 'Settled': {
      const reservation = mustReservation(state, entry.id);
      const { priced = reservation.priced } = entry;
      return asAnswered(state, { ...reservation, priced }, entry.figures, entry.headroom);
    }
    case 'Released':
      return asAnswered(state, mustReservation(state, entry.id), entry.figures, entry.headroom);
    case 'Renewed':
      return {
        kind: 'renewals',
        results: entry.moves.map((move) =>
          asAnswered(state, mustReservation(state, move.id), move.figures, move.headroom),
        ),
      };
    case 'Refused':
      return entry.refusal;
    case 'LeftQueue': {
      const left = entry.leaves[0];
      invariant(left !== undefined, 'an entry with a key is about one that left');
      if (kind !== 'Release') return left.refusal;
      return readReservation(state, { ...mustReservation(state, left.id), figures: left.figures }, context, true);
    }
    case 'Enqueued':
    case 'Alerted':
    case 'Graced':
    case 'Expired':
      throw new InvariantError('what nobody asked for has no key');
    default:
      return budgetAgain(state, entry, context);
  }
}

// Each change from its own entry.
function editsAgain(state: TreeState, { changes, key }: ApplyBudgets, first: Entry, context: DecideContext): Answer {
  if (first.key?.fingerprint !== key?.fingerprint) return keyReused(state, first);
  const results: BudgetAnswer[] = [];
  for (const change of changes) {
    const entry = change.key && state.remembered(change.key.digest);
    invariant(entry !== undefined && 'def' in entry, 'the entries of a repeat are known together');
    if (!isSameRequest(entry, change, context)) return keyReused(state, entry);
    results.push(budgetAgain(state, entry, context));
  }
  return { kind: 'budgets', results, replayed: true };
}

// The definition that the edit made; labels, balances and ancestors as they are now.
function budgetAgain(state: TreeState, entry: BudgetChange, context: DecideContext): BudgetAnswer {
  return readBudget(state, { ...state.mustBudget(entry.def.no), def: entry.def }, context, true);
}

function unusable(state: TreeState, reservation: Reservation, context: DecideContext): Refusal | undefined {
  return endedRefusal(state, reservation) ?? leaseRefusal(state, reservation, context.nowMs);
}

// The figures of the grant, with the lease as it runs now: the time that is left is the one thing that may differ.
function grantAgain(
  state: TreeState,
  reservation: Reservation,
  granted: ReservationFigures,
  headroom: Headroom,
): ReservationAnswer {
  const { expireMs, reclaimMs, ttlMs } = reservation.figures;
  return asAnswered(state, reservation, { ...granted, expireMs, reclaimMs, ttlMs }, headroom);
}

function asAnswered(
  state: TreeState,
  reservation: Reservation,
  figures: ReservationFigures,
  headroom: Headroom,
): ReservationAnswer {
  return {
    kind: 'reservation',
    treeId: state.treeId,
    reservation: { ...reservation, figures },
    headroom,
    replayed: true,
    dryRun: false,
  };
}

function mustReservation(state: TreeState, id: ReservationId): Reservation {
  const reservation = state.reservation(id);
  invariant(reservation !== undefined, `reservation ${id} of a repeat is not loaded`);
  return reservation;
}
