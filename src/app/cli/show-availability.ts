// What is left and what binds it, in one phrase. Its own file because budgets, reservations and tops-up all end with it.
import type { Availability } from '../../gen/budgetd/v1/limit_pb.ts';
import { formatAmount } from './amount.ts';

/** `9.75 USD, bound by acme lifetime`. */
export function formatAvailability(availability: Availability | undefined): string | undefined {
  if (availability === undefined) return undefined;
  if (availability.availableMicros === undefined) return 'without bound: no limit applies';
  const amount = formatAmount(availability.availableMicros, availability.unit);
  return availability.budget === '' ? amount : `${amount}, bound by ${availability.budget} ${availability.limit}`;
}
