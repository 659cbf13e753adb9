// The outcome of one call: an answer or a refusal, both values, so that they can be judged, counted and kept by name.
import type { Budget } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import type { Reservation } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { decodeRefusal, isServiceError, type RefusalSeen } from './refusal.ts';

/** What an accepted call answered. */
export interface Reply {
  readonly reservation?: Reservation | undefined;
  readonly budget?: Budget | undefined;
}

/** How a call ended. */
export type Outcome =
  | ({ readonly kind: 'answered' } & Reply)
  | { readonly kind: 'refused'; readonly refusal: RefusalSeen };

/** Waits for a call. Rejects only for what is no answer of the service: a fault of the file or of the runner. */
export async function outcomeOf(call: Promise<Reply>): Promise<Outcome> {
  try {
    return { kind: 'answered', ...(await call) };
  } catch (error) {
    if (!isServiceError(error)) throw error;
    return { kind: 'refused', refusal: decodeRefusal(error) };
  }
}
