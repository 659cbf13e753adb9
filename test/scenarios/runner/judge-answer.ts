// The differ for answers: compares the outcome of one call, or one reservation, with what a step expects of it. Pure, so
// that its own tests can prove that it finds every kind of difference.
import { clone, toBinary } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Reservation,
  ReservationSchema,
  ReservationStateSchema,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import type { AnswerExpectation, RefusalExpectation, ReservationExpectation } from './expectation-fields.ts';
import type { Outcome } from './outcome.ts';
import { formatRefusal } from './refusal.ts';

/** One expectation that was not met. */
export interface Mismatch {
  readonly field: string;
  readonly expected: string;
  readonly got: string;
}

/** What judging needs besides the outcome. */
export interface JudgeContext {
  /** The injected clock: `expires_in` counts from it. */
  readonly nowMs: number;
  /** The reservation that the step with this `as` was answered with; undefined where it was refused. */
  answerOf(name: string): Reservation | undefined;
}

/** Judges the outcome of a call. A step that expects no refusal must succeed. */
export function judgeAnswer(
  expect: Partial<AnswerExpectation> | undefined,
  outcome: Outcome,
  context: JudgeContext,
): readonly Mismatch[] {
  if (expect !== undefined && expectsRefusal(expect)) return judgeRefusal(expect, outcome);
  if (outcome.kind === 'refused') {
    return [{ field: 'error', expected: 'success', got: formatRefusal(outcome.refusal) }];
  }
  if (expect === undefined) return [];
  return [
    ...judgeReservation(expect, outcome.reservation, context.nowMs),
    ...judgeSameAs(expect.sameAs, outcome.reservation, context),
  ];
}

/** Judges the fields of one reservation. */
export function judgeReservation(
  expect: Partial<ReservationExpectation>,
  reservation: Reservation | undefined,
  nowMs: number,
): readonly Mismatch[] {
  const got = (read: (from: Reservation) => bigint | boolean | string | number) =>
    reservation === undefined ? 'no reservation in the answer' : read(reservation);
  return [
    ...differs(
      'label',
      expect.label,
      got((from) => from.alternative),
    ),
    ...differs(
      'granted',
      expect.granted,
      got((from) => from.grantedMicros),
    ),
    ...differs(
      'held',
      expect.held,
      got((from) => from.heldMicros),
    ),
    ...differs(
      'settled',
      expect.settled,
      got((from) => from.settledMicros),
    ),
    ...differs(
      'released',
      expect.released,
      got((from) => from.releasedMicros),
    ),
    ...differs(
      'overrun',
      expect.overrun,
      got((from) => from.overrunMicros),
    ),
    ...differs(
      'late',
      expect.late,
      got((from) => from.late),
    ),
    ...differs(
      'estimated',
      expect.estimated,
      got((from) => from.estimated),
    ),
    ...differs(
      'state',
      expect.state,
      got((from) => ReservationStateSchema.value[from.state]?.localName ?? `state ${from.state}`),
    ),
    ...differs(
      'expires_in',
      expect.expiresInSeconds,
      got((from) => secondsUntil(from.expireTime, nowMs)),
    ),
  ];
}

/** Compares one expected value, where there is one, with the value found. */
export function differs(
  field: string,
  expected: bigint | boolean | string | number | undefined,
  got: bigint | boolean | string | number,
): readonly Mismatch[] {
  return expected === undefined || expected === got ? [] : [{ field, expected: String(expected), got: String(got) }];
}

function expectsRefusal({ error, reason, budget, retry }: Partial<RefusalExpectation>): boolean {
  return [error, reason, budget, retry].some((part) => part !== undefined);
}

function judgeRefusal(expect: Partial<AnswerExpectation>, outcome: Outcome): readonly Mismatch[] {
  const { error, reason, budget, retry, ...rest } = expect;
  const impossible = Object.entries(rest).filter(([, value]) => value !== undefined);
  if (impossible.length > 0) {
    const fields = impossible.map(([field]) => field).join(', ');
    return [{ field: fields, expected: 'no such expectation beside a refusal', got: 'both' }];
  }
  if (outcome.kind === 'answered') {
    const expected = [error, reason].filter((part) => part !== undefined).join(' ') || 'a refusal';
    return [{ field: 'error', expected, got: `success: ${formatReservation(outcome.reservation)}` }];
  }
  const { refusal } = outcome;
  return [
    ...differs('error', error, refusal.status),
    ...differs('reason', reason, refusal.reason ?? '(no reason)'),
    ...differs('budget', budget, refusal.metadata['budget'] ?? '(no budget named)'),
    ...differs('retry', retry, refusal.retryAfterMs !== undefined),
  ].map((mismatch) => ({ ...mismatch, got: `${mismatch.got} in: ${formatRefusal(refusal)}` }));
}

function judgeSameAs(
  name: string | undefined,
  got: Reservation | undefined,
  context: JudgeContext,
): readonly Mismatch[] {
  if (name === undefined) return [];
  const earlier = context.answerOf(name);
  if (earlier === undefined) {
    return [{ field: 'same_as', expected: `the answer of ${name}`, got: `${name} was never granted` }];
  }
  if (got !== undefined && Buffer.compare(bytesButTimeLeft(earlier), bytesButTimeLeft(got)) === 0) return [];
  return [{ field: 'same_as', expected: `${name}: ${formatReservation(earlier)}`, got: formatReservation(got) }];
}

/** The wire bytes of a reservation, unknown fields included, without what says how much time is left. */
function bytesButTimeLeft(reservation: Reservation): Uint8Array {
  const timeless = clone(ReservationSchema, reservation);
  delete timeless.expireTime;
  delete timeless.renewAfter;
  return toBinary(ReservationSchema, timeless);
}

function secondsUntil(time: Timestamp | undefined, nowMs: number): number | string {
  return time === undefined ? 'no expire_time' : (timestampMs(time) - nowMs) / 1000;
}

function formatReservation(reservation: Reservation | undefined): string {
  if (reservation === undefined) return 'no reservation in the answer';
  return JSON.stringify(reservation, (key, value: unknown) =>
    key.startsWith('$') ? undefined : typeof value === 'bigint' ? String(value) : value,
  );
}
