// ReservationService: the unary methods. Session has a file of its own.
import {
  type ListQueueRequest,
  type ListQueueResponse,
  type ListReservationsRequest,
  type ListReservationsResponse,
  ReservationSchema,
  type ReservationService,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import type { ReservationAnswer } from '../../kernel/answer.ts';
import type { Command } from '../../kernel/command.ts';
import { type ApiRefusal, isRefusal, type Reply } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { judgeList, seesBudget } from '../auth/permissions.ts';
import { reservationMessage } from '../encode/reservation-message.ts';
import { encodePageToken } from '../page-token.ts';
import { getBudgetCommand } from '../validate/budget-commands.ts';
import { getQueueCommand, listReservationsQuery } from '../validate/list-queries.ts';
import type { CommandOrigin } from '../validate/reservation-commands.ts';
import { batchRenew } from './batch-renew.ts';
import type { CommandDesk } from './command-desk.ts';
import type { CallContext, Handler, UnaryHandlers } from './handler.ts';
import { cutPage, readOrRefuse } from './list-page.ts';
import { RESERVATION_CALLS, reservationAnswer, WrongAnswerError } from './reservation-calls.ts';
import type { ServiceDeps } from './service-deps.ts';

async function listReservations(
  deps: ServiceDeps,
  desk: CommandDesk,
  request: ListReservationsRequest,
  actor: Actor,
): Promise<Reply<ListReservationsResponse>> {
  const paged = listReservationsQuery(request);
  if (isRefusal(paged)) return paged;
  const { query, digest } = paged;
  const denied = judgeList(actor, query.budget) ?? (await deps.coordinator.catchUp(query.treeId));
  if (denied !== undefined) return denied;
  // One more than asked tells whether there is another page.
  const reading = deps.reads.listReservations({ ...query, countMax: query.countMax + 1 });
  const read = await readOrRefuse(reading, deps.log);
  if (isRefusal(read)) return read;
  if (read.value.length === 0 && query.after === undefined) {
    const missing = await refusedBudget(desk, query.budget, actor);
    if (missing !== undefined) return missing;
  }
  const messages = read.value.map((reservation) => reservationMessage(query.treeId, reservation, false));
  const reservations = [...cutPage(ReservationSchema, messages, query.countMax)];
  const last = reservations.length < messages.length ? reservations.at(-1)?.reservationId : undefined;
  const nextPageToken = last === undefined ? '' : encodePageToken(digest, last);
  return { $typeName: 'budgetd.v1.ListReservationsResponse', reservations, nextPageToken };
}

async function listQueue(
  desk: CommandDesk,
  request: ListQueueRequest,
  actor: Actor,
): Promise<Reply<ListQueueResponse>> {
  const command = getQueueCommand(request, actor.name);
  if (isRefusal(command)) return command;
  const answer = await desk.submit(actor, command);
  if (isRefusal(answer)) return answer;
  if (answer.kind !== 'queue') throw new WrongAnswerError(`an answer of kind ${answer.kind} to ${command.kind}`);
  const messages = answer.waiting
    // One that charges the budget by `also` may belong where its caller sees nothing.
    .filter(({ reservation }) => seesBudget(actor, reservation.budget))
    .map(({ reservation, standing }) => reservationMessage(answer.treeId, reservation, false, standing));
  return {
    $typeName: 'budgetd.v1.ListQueueResponse',
    reservations: [...cutPage(ReservationSchema, messages, command.countMax)],
    totalCount: BigInt(answer.count),
  };
}

// What may wait is let go with its caller. The deadline is no part of the request: a repeat with another is the same.
function submit(desk: CommandDesk, command: Command, { actor, timeLeftMs, wait }: CallContext) {
  if (command.kind !== 'Reserve' || command.waitMs === 0 || command.dryRun) return desk.submit(actor, command);
  const waitMs = Math.min(command.waitMs, Math.max(0, Math.floor(timeLeftMs() ?? command.waitMs)));
  return wait((gone) => desk.submit(actor, { ...command, waitMs }, gone));
}

// An empty list of a budget that does not exist would say that it holds nothing.
async function refusedBudget(desk: CommandDesk, budget: string, actor: Actor): Promise<ApiRefusal | undefined> {
  const command = getBudgetCommand({ $typeName: 'budgetd.v1.GetBudgetRequest', budget }, actor.name);
  if (isRefusal(command)) return command;
  const answer = await desk.submit(actor, command);
  return answer.kind === 'refusal' ? answer : undefined;
}

/** The handlers of ReservationService's unary methods. */
export function createReservationService(
  deps: ServiceDeps,
  desk: CommandDesk,
): UnaryHandlers<typeof ReservationService> {
  const newReservationId = () => deps.coordinator.newReservationId();
  const unary = <I extends object, O extends object>(call: {
    readonly toCommand: (request: I, origin: CommandOrigin) => Command | ApiRefusal;
    readonly toMessage: (answer: ReservationAnswer) => O;
  }): Handler<I, O> => {
    return async (request: I, context: CallContext) => {
      const command = call.toCommand(request, { actor: context.actor.name, newReservationId });
      if (command.kind === 'refusal') return command;
      const answer = await submit(desk, command, context);
      if (isRefusal(answer)) return answer;
      const single = reservationAnswer(answer);
      return single.kind === 'refusal' ? single : call.toMessage(single);
    };
  };
  return {
    reserve: unary(RESERVATION_CALLS.reserve),
    extend: unary(RESERVATION_CALLS.extend),
    settle: unary(RESERVATION_CALLS.settle),
    release: unary(RESERVATION_CALLS.release),
    renew: unary(RESERVATION_CALLS.renew),
    getReservation: unary(RESERVATION_CALLS.getReservation),
    batchRenew: (request, { actor }) => batchRenew(desk, request, actor),
    listReservations: (request, { actor }) => listReservations(deps, desk, request, actor),
    listQueue: (request, { actor }) => listQueue(desk, request, actor),
  };
}
