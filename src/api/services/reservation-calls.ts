// The six commands on one reservation, each with how it is checked and how its answer is written. One table for unary
// calls and Sessions, so that both say the same.
import type {
  ExtendRequest,
  ExtendResponse,
  GetReservationRequest,
  GetReservationResponse,
  ReleaseRequest,
  ReleaseResponse,
  RenewRequest,
  RenewResponse,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
  SettleResponse,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import type { Answer, ReservationAnswer } from '../../kernel/answer.ts';
import type { Command } from '../../kernel/command.ts';
import type { Refusal } from '../../kernel/refusal.ts';
import type { ApiRefusal } from '../api-refusal.ts';
import { reservationReply } from '../encode/reservation-message.ts';
import {
  type CommandOrigin,
  extendCommand,
  getReservationCommand,
  releaseCommand,
  renewCommand,
  reserveCommand,
  settleCommand,
} from '../validate/reservation-commands.ts';

/** One of the six. */
interface ReservationCall<I extends object, O extends object> {
  readonly toCommand: (request: I, origin: CommandOrigin) => Command | ApiRefusal;
  readonly toMessage: (answer: ReservationAnswer) => O;
}

/** The six, by the names that their fields have in a Session's frames. */
export const RESERVATION_CALLS = {
  reserve: {
    toCommand: reserveCommand,
    toMessage: (answer) => ({ $typeName: 'budgetd.v1.ReserveResponse', ...reservationReply(answer) }),
  } satisfies ReservationCall<ReserveRequest, ReserveResponse>,
  extend: {
    toCommand: extendCommand,
    toMessage: (answer) => ({ $typeName: 'budgetd.v1.ExtendResponse', ...reservationReply(answer) }),
  } satisfies ReservationCall<ExtendRequest, ExtendResponse>,
  settle: {
    toCommand: settleCommand,
    toMessage: (answer) => ({ $typeName: 'budgetd.v1.SettleResponse', ...reservationReply(answer) }),
  } satisfies ReservationCall<SettleRequest, SettleResponse>,
  release: {
    toCommand: releaseCommand,
    toMessage: (answer) => ({ $typeName: 'budgetd.v1.ReleaseResponse', ...reservationReply(answer) }),
  } satisfies ReservationCall<ReleaseRequest, ReleaseResponse>,
  renew: {
    toCommand: renewCommand,
    toMessage: (answer) => ({ $typeName: 'budgetd.v1.RenewResponse', ...reservationReply(answer) }),
  } satisfies ReservationCall<RenewRequest, RenewResponse>,
  getReservation: {
    toCommand: getReservationCommand,
    toMessage: (answer) => ({ $typeName: 'budgetd.v1.GetReservationResponse', ...reservationReply(answer) }),
  } satisfies ReservationCall<GetReservationRequest, GetReservationResponse>,
} as const;

/** Thrown where the coordinator answers a command with an answer of another kind: a fault of the program. */
export class WrongAnswerError extends Error {
  override readonly name = 'WrongAnswerError';
}

/** The answer on one reservation, or the refusal; a Renew of one lease is answered by its only result. */
export function reservationAnswer(answer: Answer): ReservationAnswer | Refusal {
  const single = answer.kind === 'renewals' ? answer.results[0] : answer;
  if (single?.kind === 'reservation' || single?.kind === 'refusal') return single;
  throw new WrongAnswerError(`an answer of kind ${answer.kind} to a command on one reservation`);
}
