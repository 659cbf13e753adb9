// Joins the services, as plain handlers that know no server: grpc-js and Connect serve the same ones.
import type { BudgetService } from '../../gen/budgetd/v1/budget_pb.ts';
import type { EventService } from '../../gen/budgetd/v1/event_pb.ts';
import type { PriceService } from '../../gen/budgetd/v1/price_pb.ts';
import type { ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { ServerInfoService } from '../../gen/budgetd/v1/server_info_pb.ts';
import type { Actor } from '../auth/actor.ts';
import { Session, type SessionSink } from '../session/session.ts';
import type { SessionLimits } from '../session/session-limits.ts';
import type { UnreadResults } from '../session/unread-results.ts';
import { createBudgetService } from './budget-service.ts';
import { CommandDesk } from './command-desk.ts';
import { createEventService } from './event-service.ts';
import type { StreamHandlers, UnaryHandlers } from './handler.ts';
import { createPriceService } from './price-service.ts';
import { createReservationService } from './reservation-service.ts';
import { createServerInfoService } from './server-info-service.ts';
import type { ServiceDeps } from './service-deps.ts';

/** All that is served. */
export interface Services {
  readonly reservation: UnaryHandlers<typeof ReservationService>;
  readonly budget: UnaryHandlers<typeof BudgetService>;
  readonly price: UnaryHandlers<typeof PriceService>;
  readonly serverInfo: UnaryHandlers<typeof ServerInfoService>;
  readonly event: StreamHandlers<typeof EventService>;
  /** Begins a Session whose frames go to `sink`. */
  openSession(actor: Actor, sink: SessionSink, limits: SessionLimits, unread?: UnreadResults): Session;
}

/** Makes the services. */
export function createServices(deps: ServiceDeps): Services {
  const desk = new CommandDesk(deps.coordinator);
  const newReservationId = () => deps.coordinator.newReservationId();
  const sessionDeps = { desk, newReservationId, log: deps.log, observer: deps.observer };
  return {
    reservation: createReservationService(deps, desk),
    budget: createBudgetService(deps, desk),
    price: createPriceService(deps),
    serverInfo: createServerInfoService(deps),
    event: createEventService(deps),
    openSession: (actor, sink, limits, unread) => new Session({ ...sessionDeps, unread }, actor, sink, limits),
  };
}
