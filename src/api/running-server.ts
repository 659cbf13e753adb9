// What app sees of a server, whichever it is.

/** A server that listens. */
export interface RunningServer {
  readonly host: string;
  /** The port that it got; where 0 was asked, the one that was free. */
  readonly port: number;
  /** Says to health checks whether commands are decided here. */
  setServing(serving: boolean): void;
  /**
   * Stops: health says NOT_SERVING, no connection is accepted, what is outstanding is finished, Sessions included. What
   * has not ended after `graceMs` is cut. Resolves when the last connection is closed. A second call joins the first.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/** Thrown where the port is taken. */
export class PortInUseError extends Error {
  override readonly name = 'PortInUseError';
  readonly host: string;
  readonly port: number;

  constructor(host: string, port: number) {
    super(`port ${port} on ${host} is in use`);
    this.host = host;
    this.port = port;
  }
}
