// The Sessions of one server: how many there may be, and their orderly end when the server stops.
import { type ApiRefusal, overloaded } from './api-refusal.ts';
import type { Actor } from './auth/actor.ts';
import type { Services } from './services/create-services.ts';
import { type Session, type SessionSink, STOPPING } from './session/session.ts';
import type { SessionLimits } from './session/session-limits.ts';
import { SESSIONS_MAX, SESSIONS_RETRY_MS } from './transport-limits.ts';

/** Opens Sessions and keeps track of them. */
export class ServingSessions {
  readonly #services: Services;
  readonly #limits: SessionLimits;
  readonly #open = new Set<Session>();
  #stopping = false;

  constructor(services: Services, limits: SessionLimits) {
    this.#services = services;
    this.#limits = limits;
  }

  /** Opens a Session, unless there are too many. The caller reports its end with `closed`. */
  open(actor: Actor, sink: SessionSink): Session | ApiRefusal {
    if (this.#open.size >= SESSIONS_MAX) return overloaded('too many sessions are open here', SESSIONS_RETRY_MS);
    const session = this.#services.openSession(actor, sink, this.#limits);
    this.#open.add(session);
    if (this.#stopping) session.close(STOPPING);
    return session;
  }

  /** The Session has ended, one way or another. */
  closed(session: Session): void {
    this.#open.delete(session);
  }

  /** Lets every Session finish what is outstanding and end; later ones too, at once. */
  stop(): void {
    this.#stopping = true;
    for (const session of this.#open) session.close(STOPPING);
  }
}
