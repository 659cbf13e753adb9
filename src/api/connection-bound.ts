// How many HTTP/2 connections one port keeps. Past the bound the one that has been idle for longest goes, which costs an honest
// client a new connection when it next calls, so that a crowd of idle ones keeps nobody out.
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { ApiLog } from './api-log.ts';

/** How often the log tells of it: it comes in thousands. */
const TELL_MS = 60_000;

/** See the head of this file. */
export class ConnectionBound {
  readonly #max: number;
  readonly #log: ApiLog;
  readonly #open = new Set<ServerHttp2Session>();
  // Those without a stream, the one that is so for longest first.
  readonly #idle = new Set<ServerHttp2Session>();
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(max: number, log: ApiLog) {
    this.#max = max;
    this.#log = log;
  }

  /** The connections that are open now. */
  get open(): ReadonlySet<ServerHttp2Session> {
    return this.#open;
  }

  /** A connection has been made. It is watched until it closes; for it another may be closed, or itself. */
  opened(session: ServerHttp2Session): void {
    this.#open.add(session);
    this.#idle.add(session);
    let streamCount = 0;
    session.on('stream', (stream: ServerHttp2Stream) => {
      if (streamCount === 0) this.#idle.delete(session);
      streamCount += 1;
      stream.once('close', () => {
        streamCount -= 1;
        if (streamCount === 0 && this.#open.has(session)) this.#idle.add(session);
      });
    });
    session.once('close', () => this.#closed(session));
    if (this.#open.size > this.#max) this.#turnOneAway(session);
  }

  #turnOneAway(newcomer: ServerHttp2Session): void {
    // The newcomer is the last of them.
    const [idle = newcomer] = this.#idle;
    this.#closed(idle);
    idle.destroy(undefined, constants.NGHTTP2_NO_ERROR);
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < TELL_MS) return;
    this.#toldMs = nowMs;
    this.#log.warn({ connectionsMax: this.#max }, 'as many connections as may be: those that idle are closed');
  }

  #closed(session: ServerHttp2Session): void {
    this.#open.delete(session);
    this.#idle.delete(session);
  }
}
