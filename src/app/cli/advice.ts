// What to do about a failed call. Its own file because it is a table of the contract's reasons and has to be complete.
import { type CallError, type CallFailure, exitCodeOf } from './call-error.ts';
import { formatDurationMs } from './duration.ts';
import { EXIT } from './exit-code.ts';
import { joinForShell } from './shell-words.ts';

/** Refusals that judged nothing about money: the same key may try again. */
const NOT_REMEMBERED: ReadonlySet<string> = new Set(['BUDGET_SUSPENDED']);

/** Refusals that leave no doubt that nothing was done, and that repeating does not cure. */
const NOT_REPEATED: ReadonlySet<string> = new Set([
  'BUDGET_EXISTS',
  'IDEMPOTENCY_KEY_REUSED',
  'FORBIDDEN',
  'UNAUTHENTICATED',
]);

const ADVICE: Readonly<Record<string, string>> = {
  BUDGET_EXHAUSTED: 'The money is spent: raise the limit (budgetctl top-up, set-limit) or ask for less (--min).',
  CAPACITY_HELD: 'Live reservations hold it: wait, take less (--min), or see who holds what (budgetctl top).',
  EXCEEDS_LIMIT: 'This can never fit: ask for less (--min) or raise the limit (budgetctl set-limit).',
  RATE_LIMITED: 'Too much in a short time: wait, or change the rate (budgetctl update --rate).',
  CONCURRENCY_LIMIT: 'Too many live reservations: wait, or see who holds what (budgetctl top).',
  FAN_OUT_LIMIT: 'Too many open budgets below: close what is done (budgetctl close), or update --max-children.',
  DEPTH_LIMIT: 'Budgets may not be that deep here: use one further up, or update --max-depth.',
  MAX_RESERVATION_EXCEEDED: 'One reservation may not be so large: ask for less (--min), or update --max-reservation.',
  MAX_LEASE_EXCEEDED:
    'Ask for a shorter lease (--ttl), or settle and reserve anew; the owner can update --max-lease, --max-renewals.',
  WINDOW_CLOSED: 'Outside the time of a range limit nothing is granted: see budgetctl get for its bounds.',
  OVERRUN_REJECTED:
    'The budget takes no cost past its ceiling: raise the limit (budgetctl top-up), then settle again with a new key.',
  IMPLAUSIBLE_AMOUNT:
    'Is the unit right? 0.25 is a quarter of one, 250000micros the same. If the amount is true: --confirm, with a new key.',
  OVERLOADED: 'The coordinator has too much to do; nothing was decided. Wait and repeat.',
  CONTENTION: 'The command lost a race; nothing was decided. Repeat it.',
  ETAG_MISMATCH: 'Someone else edited the budget meanwhile: read it again (budgetctl get) and repeat.',
  STORE_UNAVAILABLE: 'The database cannot be reached; nothing was granted. See budgetctl status, then repeat.',
  TREE_QUARANTINED: 'The records of this tree do not agree, so it is out of service: run budgetctl verify.',
  IDEMPOTENCY_KEY_REUSED: 'The key belongs to another request: use a new --key.',
  BUDGET_EXISTS: 'A budget of this name exists: see budgetctl get.',
  BUDGET_NOT_FOUND: 'List what there is: budgetctl tree.',
  RESERVATION_NOT_FOUND: 'List what there is: budgetctl reservations BUDGET.',
  BUDGET_SUSPENDED: 'Resume it: budgetctl resume. Settle and release still work.',
  BUDGET_CLOSED: 'A closed budget stays closed: use another one. Settle and release still work.',
  LEASE_EXPIRED: 'The lease is over: settle what was spent, then reserve anew.',
  RESERVATION_SETTLED: 'It has ended: reserve anew.',
  RESERVATION_RELEASED: 'It has ended: reserve anew.',
  RESERVATION_EXPIRED: 'Its lease lapsed: settle what was spent, then reserve anew.',
  UNAUTHENTICATED: 'Give a token: --token or BUDGETD_TOKEN.',
  FORBIDDEN:
    "An agent's token may reserve, extend, renew, settle, release and read; an auditor's may read; all else takes an admin's. " +
    'A token with a subtree may do so there alone.',
};

// Only an Extend gets it: what the reservation holds itself does not come back while it waits.
const OWN_HOLD_ADVICE =
  'Its own hold is in the way, so waiting does not help: ask for less (--min) or raise the limit (budgetctl top-up).';

const BURST_ADVICE =
  'It uses more at once than the rate ever holds: say less (--tokens, --tool-calls) or raise the burst (budgetctl update --rate).';

const UNCAPPED_ADVICE = 'Give it a limit (--limit 10), or say --uncapped if it is meant to have none.';

/** What a person can do about it, one sentence or two each, the most helpful first. */
export function adviceOf(error: CallError): string[] {
  const { failure, repeatOptions } = error;
  const advice: string[] = [];
  const forReason = reasonAdvice(failure);
  if (forReason !== undefined) advice.push(forReason);
  if (failure.reason === 'NOT_LEADER') advice.push(leaderAdvice(failure));
  if (failure.reason === undefined && failure.code === 'UNAVAILABLE') {
    advice.push(`Nothing answers at ${error.server}: is the service running (npm start), and is --server right?`);
  }
  if (failure.reason === undefined && failure.code === 'DEADLINE_EXCEEDED') {
    advice.push('No answer in time, so it is not known whether it was done.');
  }
  if (failure.reason === undefined && failure.code === 'UNIMPLEMENTED') {
    advice.push(`Is ${error.server} the HTTP port? gRPC is on 50051 by default (--server, BUDGETD_SERVER).`);
  }
  if (failure.code === 'INTERNAL') advice.push('A fault of the service: its log says more.');
  if (failure.retryAfterMs !== undefined) advice.push(`Retry after ${formatDurationMs(failure.retryAfterMs)}.`);
  if (repeatOptions.length > 0 && !NOT_REPEATED.has(failure.reason ?? ''))
    advice.push(repeatAdvice(failure, repeatOptions));
  return advice;
}

function reasonAdvice({ reason, metadata, fields, retryAfterMs }: CallFailure): string | undefined {
  if (reason === undefined) return undefined;
  const { budget } = metadata;
  if (reason === 'BUDGET_EXISTS' && budget !== undefined) {
    return `A budget of this name exists: see budgetctl get ${joinForShell([budget])}.`;
  }
  if (reason === 'CAPACITY_HELD' && retryAfterMs === undefined) return OWN_HOLD_ADVICE;
  if (reason === 'EXCEEDS_LIMIT' && metadata['rate_kind'] !== undefined) return BURST_ADVICE;
  if (reason === 'INVALID_FIELD' && fields.some(({ field }) => field === 'budget.uncapped')) return UNCAPPED_ADVICE;
  return ADVICE[reason];
}

function leaderAdvice(failure: CallFailure): string {
  const leader = failure.metadata['leader_address'] ?? failure.metadata['leader'];
  return leader === undefined || leader === ''
    ? 'This replica is a standby and knows no leader yet: wait and repeat.'
    : `This replica is a standby: use --server ${leader}.`;
}

// A refusal that waiting cannot cure is remembered with its key (promise 3), so there a new key is the way on.
function repeatAdvice(failure: CallFailure, repeatOptions: readonly string[]): string {
  const options = joinForShell(repeatOptions);
  const exitCode = exitCodeOf(failure);
  if (exitCode === EXIT.usage || exitCode === EXIT.notFound) {
    return `Nothing was done: the call may still be made with ${options}.`;
  }
  const isRefused = exitCode === EXIT.noMoney || exitCode === EXIT.refused;
  const isFinal = isRefused && failure.retryAfterMs === undefined && !NOT_REMEMBERED.has(failure.reason ?? '');
  return isFinal
    ? `The same request with ${options} may get this same answer again; once things have changed, use a new key.`
    : `To repeat it without a double effect add ${options}.`;
}
