// Reads what a step expects. Every expectation of the format is known here; which of them a verb may carry is part of
// its rules, so that an expectation nobody judges is an error in the file and not a silent pass.
import { type FieldsOf, mapOf, oneOf, optional, type Read, readFields, required } from './field-rules.ts';
import type { Located } from './located-yaml.ts';
import { amount, bool, count, seconds, word } from './scalar-fields.ts';

const STATUS_NAMES = [
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** What may be expected of a reservation, in an answer or in a `check`. */
const RESERVATION_RULES = {
  granted: optional('granted', amount),
  held: optional('held', amount),
  settled: optional('settled', amount),
  released: optional('released', amount),
  overrun: optional('overrun', amount),
  late: optional('late', bool),
  estimated: optional('estimated', bool),
  state: optional('state', oneOf('QUEUED', 'PARKED', 'ACTIVE', 'SETTLED', 'RELEASED', 'EXPIRED')),
  label: optional('label', word),
  expiresInSeconds: optional('expires_in', seconds),
};

const REFUSAL_RULES = {
  error: optional('error', oneOf(...STATUS_NAMES)),
  reason: optional('reason', word),
  budget: optional('budget', word),
  retry: optional('retry', bool),
};

const ANSWER_RULES = { ...RESERVATION_RULES, ...REFUSAL_RULES, sameAs: optional('same_as', word) };

/** Expectations of one reservation. */
export type ReservationExpectation = FieldsOf<typeof RESERVATION_RULES>;

/** Expectations of a refusal. Any of them set means that the call must be refused. */
export type RefusalExpectation = FieldsOf<typeof REFUSAL_RULES>;

/** Expectations of the answer to one call on a reservation. */
export type AnswerExpectation = FieldsOf<typeof ANSWER_RULES>;

/** Waiting calls that a step must answer, by their `as`, each with its own expectations. */
export type Resolutions = ReadonlyMap<string, AnswerExpectation>;

const answerExpectation: Read<AnswerExpectation> = (value) => readFields(value, 'an expectation', ANSWER_RULES);

// `resolves: NAME` alone expects no more than a grant, as a step without expectations does.
const resolutions: Read<Resolutions> = (value) =>
  value.kind === 'scalar'
    ? new Map([
        [
          word(value),
          readFields({ kind: 'map', line: value.line, entries: new Map() }, 'an expectation', ANSWER_RULES),
        ],
      ])
    : mapOf((under) =>
        isNull(under)
          ? answerExpectation({ kind: 'map', line: under.line, entries: new Map() })
          : answerExpectation(under),
      )(value);

const isNull = (value: Located): boolean => value.kind === 'scalar' && value.value === null;

const RESOLVES_RULES = { resolves: optional('resolves', resolutions) };

const reader =
  <Rules extends Parameters<typeof readFields>[2]>(rules: Rules): Read<FieldsOf<Rules>> =>
  (value) =>
    readFields(value, 'expect', rules);

/** `expect` of a reserve. */
export const reserveExpect = reader({ ...ANSWER_RULES, ...RESOLVES_RULES, pending: optional('pending', bool) });

/** `expect` of the other calls on a reservation. */
export const answerExpect = reader({ ...ANSWER_RULES, ...RESOLVES_RULES });

/** `expect` of a call on a budget. */
export const refusalExpect = reader({ ...REFUSAL_RULES, ...RESOLVES_RULES });

/** `expect` of `parallel`. */
export const parallelExpect = reader({
  grantedCount: optional('granted_count', count),
  refusedCount: optional('refused_count', count),
  grantedTotal: optional('granted_total', amount),
  reasons: optional('reasons', mapOf(count)),
  okCount: optional('ok_count', count),
  ...RESOLVES_RULES,
});

/** Counts that a `parallel` expects. */
export type ParallelExpectation = ReturnType<typeof parallelExpect>;

/** `expect` of a step that calls nothing. */
export const quietExpect = reader(RESOLVES_RULES);

/** What a `check` says of one reservation. */
export const reservationExpectation: Read<ReservationExpectation> = (value) =>
  readFields(value, 'a reservation', RESERVATION_RULES);

/** What a `check` says of one budget. */
export const balanceExpectation = (value: Located) =>
  readFields(value, 'a balance', {
    held: optional('held', amount),
    settled: optional('settled', amount),
    overrun: optional('overrun', amount),
    available: optional('available', amount),
  });

/** Expected balances of one budget. */
export type BalanceExpectation = ReturnType<typeof balanceExpectation>;

/** A way that a reserve would rather go than be refused. */
export const alternative = (value: Located) =>
  readFields(value, 'an alternative', { label: required('label', word), maxMicros: required('max', amount) });
