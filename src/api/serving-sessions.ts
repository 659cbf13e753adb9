// The Sessions of one server: how many there may be, in all and of one caller, how many results they may hold together for peers
// that do not read, and their orderly end when the server stops.
import type { ApiRefusal } from './api-refusal.ts';
import type { Actor } from './auth/actor.ts';
import { OpenCalls } from './open-calls.ts';
import type { Services } from './services/create-services.ts';
import type { Session, SessionSink } from './session/session.ts';
import type { SessionLimits } from './session/session-limits.ts';
import { UnreadResults } from './session/unread-results.ts';
import { SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, UNREAD_RESULTS_MAX } from './transport-limits.ts';

/** Opens Sessions and keeps track of them. */
export class ServingSessions {
  readonly #services: Services;
  readonly #limits: SessionLimits;
  readonly #open = new OpenCalls<Session>({
    max: SESSIONS_MAX,
    perCallerMax: SESSIONS_PER_CALLER_MAX,
    plural: 'sessions',
  });
  readonly #unread: UnreadResults;
  #stopping = false;

  constructor(services: Services, limits: SessionLimits, unreadResultsMax = UNREAD_RESULTS_MAX) {
    this.#unread = new UnreadResults(unreadResultsMax);
    this.#services = services;
    this.#limits = limits;
  }

  /** Opens a Session, unless there are too many. The caller reports its end with `closed`. */
  open(actor: Actor, sink: SessionSink): Session | ApiRefusal {
    const refusal = this.#open.refusal(actor.name);
    if (refusal !== undefined) return refusal;
    const session = this.#services.openSession(actor, sink, this.#limits, this.#unread);
    this.#open.add(session, actor.name);
    if (this.#stopping) session.stop();
    return session;
  }

  /** The Session's stream is over, one way or another. Only the first report counts. */
  closed(session: Session): void {
    this.#open.delete(session);
  }

  /** Lets every Session finish what is outstanding and end; later ones too, at once. */
  stop(): void {
    this.#stopping = true;
    for (const session of this.#open.all) session.stop();
  }
}
