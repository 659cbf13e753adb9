// Tells a person why a call failed and what to do about it, or a program the same facts as JSON. Its own file because
// the advice is a table of the contract's reasons and has to be complete.
import { formatMicros } from './amount.ts';
import { type CallError, type CallFailure, exitCodeOf } from './call-error.ts';
import { formatDurationMs } from './duration.ts';
import { EXIT } from './exit-code.ts';
import { printable } from './printable-text.ts';
import { joinForShell } from './shell-words.ts';
import type { Terminal } from './terminal.ts';

/** The longest name of a fact is `leader address`, `reservation id`. */
const FACT_NAME_WIDTH = 14;
/** Metadata that holds an amount in micro-units. */
const AMOUNT_KEYS: ReadonlySet<string> = new Set(['available', 'requested']);

/** Refusals that judged nothing about money: the same key may try again. */
const NOT_REMEMBERED: ReadonlySet<string> = new Set(['BUDGET_SUSPENDED', 'FORBIDDEN', 'UNAUTHENTICATED']);

const ADVICE: Readonly<Record<string, string>> = {
  BUDGET_EXHAUSTED: 'The money is spent: raise the limit (budgetctl top-up, set-limit) or ask for less (--min).',
  CAPACITY_HELD: 'Live reservations hold it: wait, take less (--min), or see who holds what (budgetctl top).',
  EXCEEDS_LIMIT: 'This can never fit: ask for less (--min) or raise the limit (budgetctl set-limit).',
  RATE_LIMITED: 'Too many in a short time: wait.',
  CONCURRENCY_LIMIT: 'Too many live reservations: wait, or see who holds what (budgetctl top).',
  OVERLOADED: 'The coordinator has too much to do; nothing was decided. Wait and repeat.',
  CONTENTION: 'The command lost a race; nothing was decided. Repeat it.',
  ETAG_MISMATCH: 'Someone else edited the budget meanwhile: read it again (budgetctl get) and repeat.',
  STORE_UNAVAILABLE: 'The database cannot be reached; nothing was granted. See budgetctl status, then repeat.',
  TREE_QUARANTINED: 'The records of this tree do not agree, so it is out of service: run budgetctl verify.',
  IDEMPOTENCY_KEY_REUSED: 'The key belongs to another request: use a new --key.',
  BUDGET_EXISTS: 'The budget is there already: see budgetctl get.',
  BUDGET_NOT_FOUND: 'List what there is: budgetctl tree.',
  RESERVATION_NOT_FOUND: 'List what there is: budgetctl reservations BUDGET.',
  BUDGET_SUSPENDED: 'Resume it: budgetctl resume. Settle and release still work.',
  BUDGET_CLOSED: 'A closed budget stays closed: use another one. Settle and release still work.',
  LEASE_EXPIRED: 'The lease is over: settle what was spent, then reserve anew.',
  RESERVATION_SETTLED: 'It has ended: reserve anew.',
  RESERVATION_RELEASED: 'It has ended: reserve anew.',
  RESERVATION_EXPIRED: 'Its lease lapsed: settle what was spent, then reserve anew.',
  UNAUTHENTICATED: 'Give a token: --token or BUDGETD_TOKEN.',
  FORBIDDEN: 'The token does not allow this: use another one.',
};

/** Prints a failure on the terminal's standard error. */
export function printFailure(error: CallError, terminal: Terminal): void {
  const { failure } = error;
  const lines = [terminal.paint('bad', printable(`${failure.reason ?? failure.code}: ${failure.message}`))];
  const fact = (name: string, value: string): void => {
    lines.push(`  ${name.padEnd(FACT_NAME_WIDTH)} ${printable(value)}`);
  };
  for (const [key, value] of Object.entries(failure.metadata))
    fact(key.replaceAll('_', ' '), readable(key, value, failure));
  for (const [index, { subject, description }] of failure.failing.entries()) {
    fact(index === 0 ? 'failing' : '', description === '' ? subject : `${subject}: ${inUnits(description)}`);
  }
  for (const { field, description } of failure.fields) fact('field', `${field}: ${description}`);
  for (const advice of adviceOf(error)) lines.push(`  ${terminal.paint('heading', '→')} ${printable(advice)}`);
  terminal.err(lines.join('\n'));
}

/** The same facts for programs: one JSON object. */
export function failureToJson(error: CallError): object {
  const { failure } = error;
  return {
    error: {
      code: failure.code,
      ...(failure.reason === undefined ? {} : { reason: failure.reason }),
      message: failure.message,
      metadata: failure.metadata,
      failing: failure.failing,
      fields: failure.fields,
      ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
      exitCode: exitCodeOf(failure),
    },
    repeatOptions: error.repeatOptions,
  };
}

function readable(key: string, value: string, failure: CallFailure): string {
  if (!AMOUNT_KEYS.has(key) || !/^-?[0-9]+$/.test(value)) return value;
  const unit = failure.metadata['unit'];
  return `${formatMicros(BigInt(value))}${unit === undefined ? '' : ` ${unit}`} (${value} micros)`;
}

// The service writes `100000 of 9000000 available`, in micro-units; any other wording is left as it is.
function inUnits(description: string): string {
  const match = /^([0-9]+) of ([0-9]+) available$/.exec(description);
  const [, available, amount] = match ?? [];
  if (available === undefined || amount === undefined) return description;
  return `${formatMicros(BigInt(available))} of ${formatMicros(BigInt(amount))} available`;
}

function adviceOf(error: CallError): string[] {
  const { failure, repeatOptions } = error;
  const advice: string[] = [];
  const forReason = failure.reason === undefined ? undefined : ADVICE[failure.reason];
  if (forReason !== undefined) advice.push(forReason);
  if (failure.reason === 'NOT_LEADER') advice.push(leaderAdvice(failure));
  if (failure.reason === undefined && failure.code === 'UNAVAILABLE') {
    advice.push(`Nothing answers at ${error.server}: is the service running (npm start), and is --server right?`);
  }
  if (failure.reason === undefined && failure.code === 'DEADLINE_EXCEEDED') {
    advice.push('No answer in time, so it is not known whether it was done.');
  }
  if (failure.code === 'INTERNAL') advice.push('A fault of the service: its log says more.');
  if (failure.retryAfterMs !== undefined) advice.push(`Retry after ${formatDurationMs(failure.retryAfterMs)}.`);
  if (repeatOptions.length > 0) advice.push(repeatAdvice(failure, repeatOptions));
  return advice;
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
