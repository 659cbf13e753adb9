// What to do about a failed call. Its own file because it is a table of the contract's reasons and has to be complete.
import { formatAmount } from './amount.ts';
import { type CallError, type CallFailure, exitCodeOf } from './call-error.ts';
import { formatWaitMs } from './duration.ts';
import { EXIT } from './exit-code.ts';
import { priceAdvice } from './price-advice.ts';
import { joinForShell, operandForShell } from './shell-words.ts';

/** Refusals that judged nothing about money: the same key may try again. */
const NOT_REMEMBERED: ReadonlySet<string> = new Set(['BUDGET_SUSPENDED', 'NOT_ACTIVE', 'PRICE_UNKNOWN']);

/** Refusals that leave no doubt that nothing was done, and that repeating does not cure. */
const NOT_REPEATED: ReadonlySet<string> = new Set([
  'BUDGET_EXISTS',
  'ETAG_MISMATCH',
  'IDEMPOTENCY_KEY_REUSED',
  'FORBIDDEN',
  'UNAUTHENTICATED',
]);

/** Settle and Release find it as they would have left it. */
const NOTHING_LEFT = 'Nothing is left to be done.';
const REMAKE = 'It has ended: reserve anew.';

/** Advice that is the same whatever the details. */
const ADVICE: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'Too much in a short time: wait, or change the rate (budgetctl update --rate).',
  QUEUE_TIMEOUT:
    'No room came in time: wait longer (--max-wait), or see who waits and who holds what (budgetctl queue, top).',
  QUEUE_FULL: 'As many wait as may: come back later, or see who waits (budgetctl queue).',
  NOT_ACTIVE: 'It waits for room and holds nothing yet: release takes it out of the queue.',
  FAN_OUT_LIMIT: 'Too many open budgets below: close what is done (budgetctl close), or update --max-children.',
  DEPTH_LIMIT: 'Budgets may not be that deep here: use one further up, or update --max-depth.',
  WINDOW_CLOSED: 'Outside the time of a range limit nothing is granted: see budgetctl get for its bounds.',
  MODEL_NOT_ALLOWED:
    'The budget lets calls name other models, or cheaper tiers: see budgetctl get, or update --models, --max-tier.',
  IMPLAUSIBLE_AMOUNT:
    'Is the unit right? 0.25 is a quarter of one, 250000micros the same. If the amount is true: --confirm, with a new key.',
  OVERLOADED: 'The coordinator has too much to do; nothing was decided. Wait and repeat.',
  CONTENTION: 'The command lost a race; nothing was decided. Repeat it.',
  ETAG_MISMATCH:
    'Someone else edited the budget meanwhile: read it again (budgetctl get), then edit with its new etag.',
  STORE_UNAVAILABLE: 'The database cannot be reached; nothing was granted. See budgetctl status, then repeat.',
  TREE_QUARANTINED: 'The records of this tree do not agree, so it is out of service: run budgetctl verify.',
  IDEMPOTENCY_KEY_REUSED: 'The key belongs to another request: use a new --key.',
  RESERVATION_NOT_FOUND: 'List what there is: budgetctl reservations BUDGET.',
  BUDGET_SUSPENDED: 'Resume it: budgetctl resume. Settle and release still work.',
  BUDGET_CLOSED: 'A closed budget stays closed: use another one. Settle and release still work.',
  LEASE_EXPIRED: 'The lease is over: settle what was spent, then reserve anew.',
  RESERVATION_EXPIRED: 'Its lease lapsed: settle what was spent, then reserve anew.',
  UNAUTHENTICATED: 'Give a token: --token or BUDGETD_TOKEN.',
};

const FORBIDDEN_ADVICE =
  "An agent's token may reserve, extend, renew, settle, release and read; an auditor's may read; all else takes an admin's. " +
  'A token with a subtree may do so there alone.';

const UNCAPPED_ADVICE = 'Give it a limit (--limit 10), or say --uncapped if it is meant to have none.';

/** How the service names searches that a report does not tell. */
const UNTOLD_SEARCHES = /^usage\.counts\.((?:web|file)_searches)$/;

/** Advice that goes by the details of the failure. Undefined: they say nothing. */
const DETAILED: Readonly<Record<string, (failure: CallFailure, error: CallError) => string | undefined>> = {
  BUDGET_EXHAUSTED: (failure, error) => {
    const wait = failure.retryAfterMs === undefined ? '' : ' for now: wait';
    const spent = `The money is spent${wait}${wait === '' ? ':' : ','} ${raise(failure)}, or ${askForLess(error)}.`;
    return `${spent}${keptForOthers(failure)}`;
  },
  // Only an Extend gets it without RetryInfo: what the reservation holds itself does not come back while it waits.
  CAPACITY_HELD: (failure, error) => {
    if (failure.retryAfterMs === undefined)
      return `Its own hold is in the way, so waiting does not help: ${askForLess(error)}, or ${raise(failure)}.`;
    if (failure.message.includes('somebody waits for it'))
      return `Others wait for this room and come first: wait too (--max-wait), or see who they are (budgetctl queue${of(failure)}).`;
    return `Live reservations hold it: wait, ${askForLess(error)}, or see who holds what (budgetctl top).${keptForOthers(failure)}`;
  },
  EXCEEDS_LIMIT: (failure, error) => {
    if (failure.metadata['rate_kind'] !== undefined)
      return 'It uses more at once than the rate ever holds: split the work, or raise the burst (budgetctl update --rate).';
    const less = withinLargest(error);
    if (fitsTheAmount(failure))
      return `The limit is large enough, but its floors, a share or kept capacity are for others: ${less}see them (budgetctl tree${of(failure)}) and update --floor, --share or --keep.`;
    return `This can't fit as the budgets stand: ${less}raise the limit (budgetctl set-limit).`;
  },
  CONCURRENCY_LIMIT: ({ metadata }) =>
    metadata['bound_max'] === '0'
      ? 'It may have no live reservation at all: update --max-active, or use another budget.'
      : 'Too many live reservations: wait, or see who holds what (budgetctl top).',
  MAX_RESERVATION_EXCEEDED: (_failure, error) =>
    error.method === 'Extend'
      ? 'One reservation may not come to so much: settle it and reserve anew, or update --max-reservation.'
      : `One reservation may not be so large: ${askForLess(error)}, or update --max-reservation.`,
  MAX_LEASE_EXCEEDED: ({ metadata }) =>
    metadata['bound'] === 'max_renewals'
      ? 'It was renewed as often as may be: settle and reserve anew, or update --max-renewals.'
      : 'Ask for a shorter lease (--ttl, or leave it out), or update --max-lease.',
  OVERRUN_REJECTED: (failure) =>
    failure.retryAfterMs === undefined
      ? `The budget takes no cost past its ceiling: ${raise(failure)}, then settle again with a new key.`
      : `The budget takes no cost past its ceiling: wait until others are done, and settle again with the same key; or ${raise(failure)}.`,
  PRICE_UNKNOWN: priceAdvice,
  USAGE_INVALID: ({ metadata: { field = '' } }) => {
    const [, searches] = UNTOLD_SEARCHES.exec(field) ?? [];
    return searches === undefined
      ? 'The report is refused and the hold stays: settle with the whole report and its --kind, with its counts (--count), with the actual cost, or --unknown.'
      : `The report is refused and the hold stays: settle with its counts instead, how many searches ran among them (--count ${searches}=…), with the actual cost, or --unknown.`;
  },
  BUDGET_EXISTS: ({ metadata: { budget } }) =>
    `A budget of this name exists: see budgetctl get${budget === undefined ? '' : ` ${operandForShell(budget)}`}.`,
  BUDGET_NOT_FOUND: ({ metadata: { budget } }, { method }) => {
    if (budget !== undefined && method === 'CreateBudget') return `Create ${budget} first, then what is below it.`;
    const list = 'List what there is: budgetctl tree.';
    if (method !== 'Reserve') return list;
    return `${list} A reserve makes a budget only where the one right above has a child template: budgetctl create makes it.`;
  },
  RESERVATION_SETTLED: (_failure, { method }) => (method === 'Settle' ? NOTHING_LEFT : REMAKE),
  RESERVATION_RELEASED: (_failure, { method }) => (method === 'Release' ? NOTHING_LEFT : REMAKE),
  FORBIDDEN: (_failure, { method }) =>
    method === 'ListBudgets' ? `${FORBIDDEN_ADVICE} Name your subtree: budgetctl tree acme/triage.` : FORBIDDEN_ADVICE,
  INVALID_FIELD: ({ fields }) =>
    fields.some(({ field }) => field === 'budget.uncapped') ? UNCAPPED_ADVICE : undefined,
};

function of({ metadata: { budget } }: CallFailure): string {
  return budget === undefined ? '' : ` ${operandForShell(budget)}`;
}

// A refusal says what is available, not what of the rest is spent and what is kept.
function keptForOthers(failure: CallFailure): string {
  return failure.metadata['budget'] === undefined
    ? ''
    : ` What is kept for others of it: budgetctl tree${of(failure)}.`;
}

function fitsTheAmount({ metadata: { amount, requested } }: CallFailure): boolean {
  return amount !== undefined && requested !== undefined && BigInt(requested) <= BigInt(amount);
}

// How to ask for what can be granted; empty where nothing can be. A service of before it was told names no largest amount.
function withinLargest(error: CallError): string {
  const { largest, unit = '' } = error.failure.metadata;
  if (largest === '0') return '';
  const most =
    largest === undefined ? '' : ` (${formatAmount(BigInt(largest), unit)} at the most${heldToo(error.method)})`;
  return `${askForLess(error, most)}, or `;
}

// An Extend comes on top of what its reservation holds.
function heldToo(method: string): string {
  return method === 'Extend' ? ', with what it holds already' : '';
}

// Only a Reserve can be made anew for another amount; an Extend goes with the hold that there is.
// A call is granted whole or not at all.
function askForLess({ method, notes }: CallError, most = ''): string {
  const less = notes.isModelCall
    ? `ask for less${most} by a smaller --max-output, a shorter prompt or a cheaper --model`
    : `ask for less${most}, or accept less with --min`;
  return method === 'Extend' ? `${less}, or settle and reserve anew` : less;
}

// A rolling limit has no period that a top-up could raise.
function raise({ metadata: { limit = '' } }: CallFailure): string {
  return `raise the limit (budgetctl ${limit.startsWith('rolling:') ? '' : 'top-up, '}set-limit)`;
}

function adviceForReason(error: CallError): string | undefined {
  const { reason = '' } = error.failure;
  return DETAILED[reason]?.(error.failure, error) ?? ADVICE[reason];
}

/** What a person can do about it, one sentence or two each, the most helpful first. */
export function adviceOf(error: CallError): string[] {
  const { failure } = error;
  const advice: string[] = [];
  const forReason = adviceForReason(error);
  if (forReason !== undefined) advice.push(forReason);
  if (failure.reason === 'NOT_LEADER') advice.push(leaderAdvice(error));
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
  if (failure.retryAfterMs !== undefined) advice.push(`Retry after ${formatWaitMs(failure.retryAfterMs)}.`);
  const repeat = repeatAdvice(error);
  if (repeat !== undefined) advice.push(repeat);
  return advice;
}

function leaderAdvice({ failure, server }: CallError): string {
  const leader = failure.metadata['leader_address'] ?? failure.metadata['leader'];
  if (leader !== undefined && numericHost(leader) === numericHost(server)) {
    return 'That is the address that was asked: it has just started, and leads once the lease of the one before it has run out. Repeat in some seconds.';
  }
  return leader === undefined || leader === ''
    ? 'This replica is a standby and knows no leader yet: wait and repeat.'
    : `This replica is a standby: use --server ${leader}.`;
}

const numericHost = (address: string): string => address.replace(/^localhost:/, '127.0.0.1:');

/**
 * What makes a repeat of the command the same request, where that is worth a try: nobody knows what was done, or waiting may help.
 * Empty where what was said is final, or where nothing was done, so that a new key does no harm.
 */
export function repeatOptionsOf(error: CallError): readonly string[] {
  return isWorthRepeating(error) ? error.notes.repeatOptions : [];
}

function isWorthRepeating(error: CallError): boolean {
  const { failure } = error;
  const exitCode = exitCodeOf(error);
  if (NOT_REPEATED.has(failure.reason ?? '') || adviceForReason(error) === NOTHING_LEFT) return false;
  if (exitCode === EXIT.usage || exitCode === EXIT.notFound || failure.code === 'UNIMPLEMENTED') return false;
  return (exitCode !== EXIT.noMoney && exitCode !== EXIT.refused) || failure.retryAfterMs !== undefined;
}

// A key is worth a word where nobody knows what was done, where the same call may be made again, and where it will not help: a refusal
// that waiting cannot cure is remembered with its key (promise 3). A key that nobody typed is not in the way of the next call.
function repeatAdvice(error: CallError): string | undefined {
  const { failure, notes } = error;
  const { reason = '' } = failure;
  const options = joinForShell(notes.repeatOptions);
  if (options === '') return undefined;
  if (isWorthRepeating(error)) return `To repeat it without a double effect add ${options}.`;
  const exitCode = exitCodeOf(error);
  const isRefused = exitCode === EXIT.noMoney || exitCode === EXIT.refused;
  const isOver = NOT_REPEATED.has(reason) || adviceForReason(error) === NOTHING_LEFT;
  if (!isRefused || isOver || NOT_REMEMBERED.has(reason) || !notes.isKeyTyped) return undefined;
  return `The same request with ${options} may get this same answer again; once things have changed, use a new key.`;
}
