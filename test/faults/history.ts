// What clients sent and what they were told, attempt by attempt: the one witness that the service has no hand in. The audit
// compares it with the journal.
import { commandKey } from '../../src/api/command-key.ts';

/** Calls that change something, by their method's name; the key's digest depends on it. */
export type Method =
  | 'Reserve'
  | 'Extend'
  | 'Renew'
  | 'Settle'
  | 'Release'
  | 'CreateBudget'
  | 'UpdateBudget'
  | 'TopUp'
  | 'SuspendBudget'
  | 'ResumeBudget'
  | 'GetReservation';

/** A reservation as an answer showed it. */
export interface ShownReservation {
  readonly id: string;
  readonly state: string;
  readonly requested: bigint;
  readonly granted: bigint;
  readonly held: bigint;
  readonly settled: bigint;
  readonly released: bigint;
  readonly overrun: bigint;
  readonly expireMs: number;
}

/** What one attempt came to. */
export type Told =
  | { readonly kind: 'ok'; readonly reservation?: ShownReservation; readonly revision?: number }
  | {
      readonly kind: 'refused';
      readonly status: string;
      readonly reason: string;
      readonly retryAfterMs: number | undefined;
      readonly leaderAddress: string | undefined;
    }
  /** No answer of the service: the connection broke, or nothing came in time. */
  | { readonly kind: 'silence'; readonly text: string }
  /** A status that names no reason: never right. */
  | { readonly kind: 'untyped'; readonly text: string };

/** One operation with one key, however often it was sent. */
export interface Operation {
  readonly method: Method;
  /** Path of the budget or id of the reservation. */
  readonly resource: string;
  /** Empty where it has none. */
  readonly key: string;
  readonly told: Told[];
}

/** Reasons after which nobody knows, or nothing was decided, and the same key may try again. */
const UNDECIDED: ReadonlySet<string> = new Set(['STORE_UNAVAILABLE', 'NOT_LEADER', 'CONTENTION', 'OVERLOADED']);

/** Whether an attempt leaves open what became of the operation. */
export function isUndecided(told: Told): boolean {
  return told.kind === 'silence' || (told.kind === 'refused' && UNDECIDED.has(told.reason));
}

/** An attempt in words, for messages. */
export function spelled(told: Told): string {
  return JSON.stringify(told, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
}

/** Digest under which the journal remembers an operation. */
export function digestOf({ method, resource, key }: Operation): string {
  return commandKey(method, resource, key, '').digest;
}

/** Everything that all clients of a run did. */
export class History {
  readonly operations: Operation[] = [];

  begin(method: Method, resource: string, key: string): Operation {
    const operation: Operation = { method, resource, key, told: [] };
    this.operations.push(operation);
    return operation;
  }

  /** How many attempts ended in each way, by kind or reason. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { told } of this.operations) {
      for (const each of told) {
        const name = each.kind === 'refused' ? each.reason : each.kind;
        counts[name] = (counts[name] ?? 0) + 1;
      }
    }
    return counts;
  }
}
