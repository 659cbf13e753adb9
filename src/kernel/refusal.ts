// Refusals: values, never exceptions, with the reasons of the public contract. Also says which of them a key remembers.
import type { RateKind } from './rate.ts';

/** Every reason that the kernel itself gives (DESIGN, section 5). */
export type KernelReason =
  | 'INVALID_FIELD'
  | 'BUDGET_NOT_FOUND'
  | 'RESERVATION_NOT_FOUND'
  | 'BUDGET_EXISTS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'BUDGET_EXHAUSTED'
  | 'CAPACITY_HELD'
  | 'EXCEEDS_LIMIT'
  | 'RATE_LIMITED'
  | 'CONCURRENCY_LIMIT'
  | 'QUEUE_FULL'
  | 'QUEUE_TIMEOUT'
  | 'NOT_ACTIVE'
  | 'FAN_OUT_LIMIT'
  | 'MAX_RESERVATION_EXCEEDED'
  | 'MAX_LEASE_EXCEEDED'
  | 'DEPTH_LIMIT'
  | 'WINDOW_CLOSED'
  | 'OVERRUN_REJECTED'
  | 'PRICE_UNKNOWN'
  | 'USAGE_INVALID'
  | 'MODEL_NOT_ALLOWED'
  | 'IMPLAUSIBLE_AMOUNT'
  | 'BUDGET_SUSPENDED'
  | 'BUDGET_CLOSED'
  | 'LEASE_EXPIRED'
  | 'RESERVATION_SETTLED'
  | 'RESERVATION_RELEASED'
  | 'RESERVATION_EXPIRED'
  | 'ETAG_MISMATCH';

/** Reasons that come from around the kernel: the lane, the store and the writer's lease. */
export type ServiceReason = 'OVERLOADED' | 'CONTENTION' | 'STORE_UNAVAILABLE' | 'NOT_LEADER' | 'TREE_QUARANTINED';

/** Every reason that a command can be refused for once its fields and its caller are in order. */
export type Reason = KernelReason | ServiceReason;

/** A limit that fails a request. */
export interface FailingLimit {
  readonly budget: string;
  readonly limit: string;
  readonly amountMicros: bigint;
  readonly availableMicros: bigint;
}

/** A rate that fails a request: what is configured, and what was there when it was asked. Units are those of the kind. */
export interface FailingRate {
  readonly kind: RateKind;
  readonly count: number;
  readonly perMs: number;
  readonly burst: number;
  readonly availableCount: number;
  readonly requestedCount: number;
}

/** Bounds on form that counts and lengths can fail, as the contract names them. */
export type BoundName = 'queue_length' | 'max_lease' | 'max_renewals' | 'max_active' | 'max_children' | 'max_depth';

/** A count or a length that fails a request: most that is allowed, and what was asked for or is there. */
export interface FailingBound {
  /** Undefined in journals of before it was told. */
  readonly name?: BoundName;
  readonly max: number;
  readonly observed: number;
}

/** A field that the state of the tree makes invalid. */
export interface FieldProblem {
  /** Path of the field in the request message, for example `budget.limits`. */
  readonly field: string;
  readonly description: string;
}

/** What has no price, or is not allowed; as far as it is about one. */
export interface UnpricedDetails {
  readonly provider?: string;
  readonly model?: string;
  readonly unit?: string;
  /** Candidates beside that one that have no price either. */
  readonly moreCount?: number;
  /** The rule, or the reason's own word. */
  readonly why?: string;
  /** Path in the call or the report. */
  readonly field?: string;
}

/** Why a command was refused. Everything that its caller needs to know, and nothing that names a type of the wire. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly reason: Reason;
  /** One sentence for people. */
  readonly message: string;
  /** Path of the budget that the reason is about. */
  readonly budget?: string;
  /** Name of the binding limit. */
  readonly limit?: string;
  /** Unit of the amounts; where there are amounts. */
  readonly unit?: string;
  readonly availableMicros?: bigint;
  readonly requestedMicros?: bigint;
  /**
   * EXCEEDS_LIMIT of a limit: the most that one reservation there can be granted as the budgets stand, 0 or more: a hold through two
   * children with floors, which uses both, may leave more to others later. Undefined in journals of before it was told.
   */
  readonly largestMicros?: bigint;
  /** Public id of the reservation that the reason is about. */
  readonly reservationId?: string;
  /** Present exactly where waiting can help: how long to wait before a retry makes sense. */
  readonly retryAfterMs?: number;
  /** Failing limits, tightest first. */
  readonly failing?: readonly FailingLimit[];
  readonly rate?: FailingRate;
  readonly bound?: FailingBound;
  /** Of a change among several: its place, from 0, and the budget that it names. */
  readonly change?: { readonly index: number; readonly budget: string };
  readonly fields?: readonly FieldProblem[];
  /** PRICE_UNKNOWN, USAGE_INVALID and MODEL_NOT_ALLOWED: the model, unit, rule or field that it is about. */
  readonly unpriced?: UnpricedDetails;
  /** NOT_LEADER: address of the leader, where known. */
  readonly leaderAddress?: string;
}

// Reasons that judged nothing about money: the same key may try again (DESIGN, promise 3).
const NEVER_REMEMBERED: ReadonlySet<Reason> = new Set<Reason>([
  'INVALID_FIELD',
  'BUDGET_NOT_FOUND',
  'RESERVATION_NOT_FOUND',
  'BUDGET_EXISTS',
  'IDEMPOTENCY_KEY_REUSED',
  'BUDGET_SUSPENDED',
  'NOT_ACTIVE',
  'PRICE_UNKNOWN',
  'USAGE_INVALID',
  'ETAG_MISMATCH',
  'OVERLOADED',
  'CONTENTION',
  'STORE_UNAVAILABLE',
  'NOT_LEADER',
  'TREE_QUARANTINED',
]);

// Reasons that are no decision on work: the journal would gain nothing from them.
const JOURNALED_ALL_THE_SAME: ReadonlySet<Reason> = new Set<Reason>(['BUDGET_SUSPENDED', 'PRICE_UNKNOWN']);
const NEVER_JOURNALED: ReadonlySet<Reason> = new Set<Reason>(
  [...NEVER_REMEMBERED].filter((reason) => !JOURNALED_ALL_THE_SAME.has(reason)),
);

/** Whether a repeat with the same key gets this refusal again: it has no RetryInfo and it judged the request. */
export function isRemembered(refusal: Refusal): boolean {
  return refusal.retryAfterMs === undefined && !NEVER_REMEMBERED.has(refusal.reason);
}

/** Whether this refusal is a decision that the journal explains. */
export function isJournaled(refusal: Refusal): boolean {
  return !NEVER_JOURNALED.has(refusal.reason);
}
