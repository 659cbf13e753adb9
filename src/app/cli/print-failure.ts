// Tells a person why a call failed, in units and in the words of the command line, or a program the same facts as JSON. Its own
// file because the service speaks of fields and micro-units, which nobody typed.
import { adviceOf, repeatOptionsOf } from './advice.ts';
import { formatAmount, formatMicros } from './amount.ts';
import { type CallError, type CallFailure, exitCodeOf } from './call-error.ts';
import { writeDurationMs } from './duration.ts';
import { printable } from './printable-text.ts';
import type { Terminal } from './terminal.ts';
import { typedName, typedText } from './typed-names.ts';

/** The longest name of a fact is `leader address`, `reservation id`. */
const FACT_NAME_WIDTH = 14;
/** Metadata that holds an amount in micro-units. */
const AMOUNT_KEYS: ReadonlySet<string> = new Set(['amount', 'available', 'requested', 'largest']);

// How the service writes amounts in its sentences, in micro-units; any other wording is left as it is.
const LEFT_OF_AMOUNT = /^([0-9]+) of ([0-9]+) available$/;
const AVAILABLE_AND_NEEDED = /\(available ([0-9]+) of ([0-9]+), needed ([0-9]+)\)/;
const LARGEST = /at most ([0-9]+) can be granted/;
const LARGEST_AND_NEEDED = /may come to ([0-9]+), not to ([0-9]+)$/;
const COST_AND_GRANT = /^([0-9]+) is more than ([0-9]+) times the ([0-9]+) that were granted/;
const FLOORS_AND_LIMIT = /come to ([0-9]+), more than the ([0-9]+) of/;
// How it writes rates and lengths of time.
const RATE = /\(([0-9]+) ([a-z_]+) in ([0-9]+) ms, at most ([0-9]+) at once\)/;
const LEASE_LENGTHS = /may run for ([0-9]+) ms, not for ([0-9]+)$/;
// How it writes the ranges of rates and fees, which are in USD, of a time of day, and of any other amount.
const RATE_RANGE = /^must be 0 or ([0-9]+) to ([0-9]+) micros per million tokens$/;
const FEE_RANGE = /^must be 0 to ([0-9]+) micros$/;
const TIME_OF_DAY_RANGE = 'each 0 to 86399999 ms';
const MICROS_FIELD = /micros$/;
const MICROS_RANGE = /^must be ([0-9]+) to ([0-9]+)$/;
// How it ends a text that it has cut.
const CUT_OFF = /…$/;
// How it says that the cost is not known.
const UNKNOWN_COST = 'settle with usage_unknown';
// How it writes the rule of the names in a path.
const SEGMENT_RULE = 'each segment must match [A-Za-z0-9_-][A-Za-z0-9._-]{0,62}';

/** Prints a failure on the terminal's standard error. */
export function printFailure(error: CallError, terminal: Terminal): void {
  const { failure } = error;
  const lines = [terminal.paint('bad', printable(`${failure.reason ?? failure.code}: ${headline(failure)}`))];
  const fact = (name: string, value: string): void => {
    lines.push(`  ${name.padEnd(FACT_NAME_WIDTH)} ${printable(value)}`);
  };
  for (const [name, value] of metadataFacts(failure)) fact(name, value);
  for (const [index, { subject, description }] of failure.failing.entries()) {
    fact(
      index === 0 ? 'failing' : '',
      description === '' ? subject : `${subject}: ${inUnits(description, unitOf(failure))}`,
    );
  }
  for (const { field, description } of failure.fields)
    fact('field', `${typedName(field, error.method)}: ${typedText(fieldText(description, field, unitOf(failure)))}`);
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
      exitCode: exitCodeOf(error),
    },
    repeatOptions: repeatOptionsOf(error),
  };
}

// The service's sentence, but for what follows it here anyway (fields) and for amounts in micro-units.
function headline({ message, metadata, fields }: CallFailure): string {
  const [field] = fields;
  // Of a long description the field tells the beginning, which says as much as it can.
  if (field !== undefined && message.includes(field.description.replace(CUT_OFF, ''))) return 'invalid request';
  const { unit = '' } = metadata;
  const amount = (micros: string): string => formatAmount(BigInt(micros), unit);
  return message
    .replace(UNKNOWN_COST, 'settle with --unknown')
    .replace(
      AVAILABLE_AND_NEEDED,
      (_text, available: string, whole: string, needed: string) =>
        `(${amount(available)} available of ${amount(whole)}, ${amount(needed)} needed)`,
    )
    .replace(LARGEST, (_text, largest: string) => `at most ${amount(largest)} can be granted`)
    .replace(
      LARGEST_AND_NEEDED,
      (_text, max: string, needed: string) => `may come to ${amount(max)}, not to ${amount(needed)}`,
    )
    .replace(
      COST_AND_GRANT,
      (_text, cost: string, factor: string, grant: string) =>
        `${amount(cost)} is more than ${factor} times the ${amount(grant)} that were granted`,
    )
    .replace(
      RATE,
      (_text, count: string, kind: string, perMs: string, burst: string) => `(${rateText(count, kind, perMs, burst)})`,
    )
    .replace(
      LEASE_LENGTHS,
      (_text, max: string, asked: string) =>
        `may run for ${writeDurationMs(Number(max))}, not for ${writeDurationMs(Number(asked))}`,
    );
}

// As they were typed: a rate is one fact, a length of time is no count of milliseconds.
function metadataFacts(failure: CallFailure): (readonly [name: string, value: string])[] {
  const { metadata } = failure;
  const { rate_kind: kind = '', rate_count: count = '', rate_per_ms: perMs = '', rate_burst: burst = '' } = metadata;
  return Object.entries(metadata).flatMap(([key, value]): (readonly [string, string])[] => {
    if (key === 'rate_kind') return [['rate', rateText(count, kind, perMs, burst)]];
    // Nobody else has no price.
    if (key === 'more' && value === '0') return [];
    // Told below, with what is wrong with it.
    if (key === 'field' && failure.fields.some(({ field }) => field === value)) return [];
    if (key === 'rate_count' || key === 'rate_per_ms' || key === 'rate_burst') return [];
    const isLength = metadata['bound'] === 'max_lease' && (key === 'bound_max' || key === 'bound_observed');
    return [[key.replaceAll('_', ' '), isLength ? writeDurationMs(Number(value)) : readable(key, value, failure)]];
  });
}

function rateText(count: string, kind: string, perMs: string, burst: string): string {
  return `${count} ${kind}/${writeDurationMs(Number(perMs))}${burst === count ? '' : ` burst ${burst}`}`;
}

function unitOf(failure: CallFailure): string {
  return failure.metadata['unit'] ?? '';
}

function readable(key: string, value: string, failure: CallFailure): string {
  if (!AMOUNT_KEYS.has(key) || !/^-?[0-9]+$/.test(value)) return value;
  return `${formatAmount(BigInt(value), unitOf(failure))} (${value} micros)`;
}

function inUnits(description: string, unit: string): string {
  const [, available, amount] = LEFT_OF_AMOUNT.exec(description) ?? [];
  if (available === undefined || amount === undefined) return description;
  return `${formatMicros(BigInt(available))} of ${formatAmount(BigInt(amount), unit)} available`;
}

/** What is wrong with a field, as the service says it, in amounts and times as people type them; `unit`: of the tree, as far as it is known. */
export function fieldText(description: string, field: string, unit: string): string {
  const usd = (micros: string): string => formatAmount(BigInt(micros), 'USD');
  const whole = (micros: string): string => formatMicros(BigInt(micros));
  const worded = (description.startsWith(`${field} `) ? description.slice(field.length + 1) : description)
    .replace(UNKNOWN_COST, 'settle with --unknown')
    .replace(SEGMENT_RULE, 'a name has 1 to 63 characters: letters, digits, . _ - (no dot first)')
    .replace(
      RATE_RANGE,
      (_text, min: string, max: string) => `must be 0 or ${whole(min)} to ${usd(max)} per million tokens`,
    )
    .replace(FEE_RANGE, (_text, max: string) => `must be 0 to ${usd(max)}`)
    .replace(TIME_OF_DAY_RANGE, 'each 00:00 to 23:59')
    .replace(
      FLOORS_AND_LIMIT,
      (_text, sum: string, amount: string) =>
        `come to ${formatAmount(BigInt(sum), unit)}, more than the ${formatAmount(BigInt(amount), unit)} of`,
    );
  if (!MICROS_FIELD.test(field)) return worded;
  return worded.replace(
    MICROS_RANGE,
    (_text, min: string, max: string) => `must be ${whole(min)} to ${whole(max)} (${min} to ${max} micros)`,
  );
}
