// Enum values of requests. A value that this version does not know is refused: to take it for "not said" would do
// something else than the caller asked.
import { OnExpiry as OnExpiryValue } from '../../gen/budgetd/v1/limit_pb.ts';
import { Outcome as OutcomeValue, ReservationState as StateValue } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { OnExpiry } from '../../kernel/budget.ts';
import type { Outcome, ReservationState } from '../../kernel/reservation.ts';
import type { Problems } from './problems.ts';

const OUTCOMES: ReadonlyMap<number, Outcome> = new Map([
  [OutcomeValue.SUCCEEDED, 'succeeded'],
  [OutcomeValue.FAILED, 'failed'],
  [OutcomeValue.CANCELLED, 'cancelled'],
]);

const EXPIRIES: ReadonlyMap<number, OnExpiry> = new Map([
  [OnExpiryValue.RELEASE, 'release'],
  [OnExpiryValue.CHARGE, 'charge'],
  [OnExpiryValue.CHARGE_STARTED, 'charge_started'],
]);

const STATES: ReadonlyMap<number, ReservationState> = new Map([
  [StateValue.ACTIVE, 'ACTIVE'],
  [StateValue.SETTLED, 'SETTLED'],
  [StateValue.RELEASED, 'RELEASED'],
  [StateValue.EXPIRED, 'EXPIRED'],
]);

// 0 is UNSPECIFIED in every enum: not said.
function checkEnum<T>(problems: Problems, field: string, value: number, known: ReadonlyMap<number, T>): T | undefined {
  if (value === 0) return undefined;
  const found = known.get(value);
  if (found === undefined) problems.push({ field, description: `has no value ${value}` });
  return found;
}

/** An outcome; undefined: not said. */
export function checkOutcome(problems: Problems, field: string, value: number): Outcome | undefined {
  return checkEnum(problems, field, value, OUTCOMES);
}

/** What happens to lapsed holds; RELEASE where not said. */
export function checkOnExpiry(problems: Problems, field: string, value: number): OnExpiry {
  return checkEnum(problems, field, value, EXPIRIES) ?? 'release';
}

/** A state to list; undefined: any. */
export function checkState(problems: Problems, field: string, value: number): ReservationState | undefined {
  return checkEnum(problems, field, value, STATES);
}
