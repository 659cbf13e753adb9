// The Sessions of one server: how many there may be, in all and of one caller, how many results they may hold together for peers
// that do not read, and their orderly end when the server stops.
import { type ApiRefusal, overloaded } from './api-refusal.ts';
import type { Actor } from './auth/actor.ts';
import type { Services } from './services/create-services.ts';
import type { Session, SessionSink } from './session/session.ts';
import type { SessionLimits } from './session/session-limits.ts';
import { UnreadResults } from './session/unread-results.ts';
import { SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, SESSIONS_RETRY_MS, UNREAD_RESULTS_MAX } from './transport-limits.ts';

/** Opens Sessions and keeps track of them. */
export class ServingSessions {
  readonly #services: Services;
  readonly #limits: SessionLimits;
  // With the name of the caller of each, and how many each caller has.
  readonly #open = new Map<Session, string>();
  readonly #counts = new Map<string, number>();
  readonly #unread: UnreadResults;
  #stopping = false;

  constructor(services: Services, limits: SessionLimits, unreadResultsMax = UNREAD_RESULTS_MAX) {
    this.#unread = new UnreadResults(unreadResultsMax);
    this.#services = services;
    this.#limits = limits;
  }

  /** Opens a Session, unless there are too many. The caller reports its end with `closed`. */
  open(actor: Actor, sink: SessionSink): Session | ApiRefusal {
    const { name } = actor;
    const count = this.#counts.get(name) ?? 0;
    if (this.#open.size >= SESSIONS_MAX) return overloaded('too many sessions are open here', SESSIONS_RETRY_MS);
    if (count >= SESSIONS_PER_CALLER_MAX) {
      return overloaded('this token has too many sessions open here', SESSIONS_RETRY_MS);
    }
    const session = this.#services.openSession(actor, sink, this.#limits, this.#unread);
    this.#open.set(session, name);
    this.#counts.set(name, count + 1);
    if (this.#stopping) session.stop();
    return session;
  }

  /** The Session's stream is over, one way or another. Only the first report counts. */
  closed(session: Session): void {
    const name = this.#open.get(session);
    if (name === undefined) return;
    this.#open.delete(session);
    const left = (this.#counts.get(name) ?? 0) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }

  /** Lets every Session finish what is outstanding and end; later ones too, at once. */
  stop(): void {
    this.#stopping = true;
    for (const session of this.#open.keys()) session.stop();
  }
}
