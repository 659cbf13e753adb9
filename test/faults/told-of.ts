// Puts into the history's words what came back for a call: an answer, a refusal, silence, or a status that names no reason. The
// same words for a unary call, a command on a Session and the end of a Session.
import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack, timestampMs } from '@bufbuild/protobuf/wkt';
import { type ServiceError, status as StatusCode } from '@grpc/grpc-js';
import type { Budget } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { type Reservation, ReservationStateSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { type Status, StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import type { ShownReservation, Told } from './history.ts';

// Statuses that grpc-js makes up itself where no answer came.
const SILENT_CODES: ReadonlySet<number> = new Set([
  StatusCode.UNAVAILABLE,
  StatusCode.DEADLINE_EXCEEDED,
  StatusCode.CANCELLED,
]);

/** An answer. Fields that answers have in common: a reservation, a budget, or neither. */
export function toldOfReply(reply: unknown): Told {
  const { reservation, budget } = reply as { reservation?: Reservation; budget?: Budget };
  return {
    kind: 'ok',
    ...(reservation !== undefined && { reservation: shownReservation(reservation) }),
    ...(budget !== undefined && { revision: Number(budget.revision) }),
  };
}

function shownReservation(reservation: Reservation): ShownReservation {
  return {
    id: reservation.reservationId,
    state: (ReservationStateSchema.value[reservation.state]?.name ?? '').replace('RESERVATION_STATE_', ''),
    requested: reservation.requestedMicros,
    granted: reservation.grantedMicros,
    held: reservation.heldMicros,
    settled: reservation.settledMicros,
    released: reservation.releasedMicros,
    overrun: reservation.overrunMicros,
    expireMs: reservation.expireTime === undefined ? 0 : timestampMs(reservation.expireTime),
  };
}

/** The end of a call, unary or a Session, with another status than OK. */
export function toldOfError(error: ServiceError): Told {
  const bytes = error.metadata.get('grpc-status-details-bin')[0];
  const status = bytes instanceof Uint8Array ? fromBinary(StatusSchema, bytes) : undefined;
  return toldOfStatus(error.code, error.details, status);
}

/** A status, with its details where it came with any. */
export function toldOfStatus(code: number, text: string, status: Status | undefined): Told {
  const details = status?.details ?? [];
  const info = details.map((each) => anyUnpack(each, ErrorInfoSchema)).find((each) => each?.domain === 'budgetd');
  if (info !== undefined) {
    const retry = details.map((each) => anyUnpack(each, RetryInfoSchema)).find((each) => each !== undefined);
    const wait = retry?.retryDelay;
    return {
      kind: 'refused',
      status: StatusCode[code] ?? String(code),
      reason: info.reason,
      retryAfterMs: wait === undefined ? undefined : Number(wait.seconds) * 1_000 + wait.nanos / 1e6,
      leaderAddress: info.metadata['leader_address'],
    };
  }
  // A stream that is reset in the middle of a call shows as INTERNAL in grpc-js.
  const isReset = code === StatusCode.INTERNAL && /RST_STREAM|stream/i.test(text);
  const isSilent = SILENT_CODES.has(code) || isReset;
  return { kind: isSilent ? 'silence' : 'untyped', text: `${StatusCode[code] ?? code}: ${text}` };
}
