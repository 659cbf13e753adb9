// Pairs every method of the contract with its handler, so that both servers serve the same list and a method without a
// handler does not compile.
import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { BudgetService } from '../../gen/budgetd/v1/budget_pb.ts';
import { EventService } from '../../gen/budgetd/v1/event_pb.ts';
import { PriceService } from '../../gen/budgetd/v1/price_pb.ts';
import { ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../gen/budgetd/v1/server_info_pb.ts';
import type { Services } from './create-services.ts';
import type { Handler, StreamHandler } from './handler.ts';

/** A handler whose message types only the descriptor knows. */
export type AnyHandler = Handler<Message, Message>;

/** A handler that answers with a stream, likewise. */
export type AnyStreamHandler = StreamHandler<Message, Message>;

/** One service with its handlers by local name. */
export interface ServedService {
  readonly desc: DescService;
  readonly handlers: Readonly<Record<string, AnyHandler>>;
  readonly streams: Readonly<Record<string, AnyStreamHandler>>;
}

/** Every service of the contract. */
export const SERVICE_DESCS: readonly DescService[] = [
  ReservationService,
  BudgetService,
  EventService,
  PriceService,
  ServerInfoService,
];

/** The one method that takes a stream. */
export const SESSION_METHOD: DescMethod = ReservationService.method.session;

/** A method as observers are told of it and as metrics name it: `package.Service/Method`. */
export function methodPath(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** Path of Session. */
export const SESSION_PATH = methodPath(SESSION_METHOD);

const STREAMED: ReadonlySet<string> = new Set(
  SERVICE_DESCS.flatMap(({ methods }) => methods)
    .filter(({ methodKind }) => methodKind !== 'unary')
    .map((method) => `/${methodPath(method)}`),
);

/** Whether a method answers with a stream, which lasts; `path` as in a request: with its slash in front. */
export function answersWithStream(path: string): boolean {
  return STREAMED.has(path);
}

/** Every service with its handlers. */
export function servedServices(services: Services): readonly ServedService[] {
  // `UnaryHandlers` has proved each handler against its method; here they are only looked up by name.
  const untyped = (handlers: object) => handlers as Readonly<Record<string, AnyHandler>>;
  return [
    { desc: ReservationService, handlers: untyped(services.reservation), streams: {} },
    { desc: BudgetService, handlers: untyped(services.budget), streams: {} },
    {
      desc: EventService,
      handlers: {},
      streams: services.event as object as Readonly<Record<string, AnyStreamHandler>>,
    },
    { desc: PriceService, handlers: untyped(services.price), streams: {} },
    { desc: ServerInfoService, handlers: untyped(services.serverInfo), streams: {} },
  ];
}
