// The contract's table of refusals, written down a second time from the design and not from the code, so that a reason that
// travels under another status, or under none that callers know, is found.

const BY_STATUS: Readonly<Record<string, readonly string[]>> = {
  INVALID_ARGUMENT: ['INVALID_FIELD', 'USAGE_INVALID'],
  NOT_FOUND: ['BUDGET_NOT_FOUND', 'RESERVATION_NOT_FOUND'],
  ALREADY_EXISTS: ['BUDGET_EXISTS', 'IDEMPOTENCY_KEY_REUSED'],
  RESOURCE_EXHAUSTED: [
    'BUDGET_EXHAUSTED',
    'CAPACITY_HELD',
    'RATE_LIMITED',
    'CONCURRENCY_LIMIT',
    'FAN_OUT_LIMIT',
    'QUEUE_FULL',
    'QUEUE_TIMEOUT',
    'OVERLOADED',
  ],
  FAILED_PRECONDITION: [
    'EXCEEDS_LIMIT',
    'MAX_RESERVATION_EXCEEDED',
    'MAX_LEASE_EXCEEDED',
    'DEPTH_LIMIT',
    'BUDGET_SUSPENDED',
    'BUDGET_CLOSED',
    'WINDOW_CLOSED',
    'LEASE_EXPIRED',
    'RESERVATION_SETTLED',
    'RESERVATION_RELEASED',
    'RESERVATION_EXPIRED',
    'NOT_ACTIVE',
    'NOT_SETTLED',
    'NOT_PARKED',
    'PRICE_UNKNOWN',
    'MODEL_NOT_ALLOWED',
    'APPROVAL_REQUIRED',
    'OVERRUN_REJECTED',
    'IMPLAUSIBLE_AMOUNT',
  ],
  PERMISSION_DENIED: ['FORBIDDEN', 'APPROVAL_REJECTED'],
  UNAUTHENTICATED: ['UNAUTHENTICATED'],
  ABORTED: ['CONTENTION', 'ETAG_MISMATCH'],
  UNAVAILABLE: ['STORE_UNAVAILABLE', 'NOT_LEADER', 'TREE_QUARANTINED'],
};

/** Whether the contract has this reason under this status. */
export function isInContract(status: string, reason: string): boolean {
  return BY_STATUS[status]?.includes(reason) ?? false;
}
