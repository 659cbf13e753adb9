// Connections of the service: role, isolation and time-outs are set when they are opened, so that no statement can run
// without them. A server that stops answering is given up after a deadline on our side, since its own time-outs stop with
// it; the connections are dropped and opened anew for the next call.
import postgres from 'postgres';
import { StoreTimeoutError, StoreUnavailableError } from './port.ts';
import { isSessionEnd, storeErrorOf } from './sql-errors.ts';
import { Turns } from './turns.ts';

/** The driver's handle, with its default types. */
export type Sql = postgres.Sql;

/** The role that the service works as; it owns nothing. */
export const SERVICE_ROLE = 'budgetd_service';

// A connection within one data centre opens in milliseconds. The driver alone would try a server that hangs up at once
// for ever, and a silent one for as long as TCP does.
const CONNECT_DEADLINE_MS = 2_000;
// The longest statement (a page of a list over a million rows) takes well under a second; past this the server is sick.
const STATEMENT_TIMEOUT_MS = 5_000;
// Longer than the statement time-out, so that it only ever fires when the server or the way to it has stalled.
const DEADLINE_MS = 8_000;
// No transaction here waits for anything but its own statements.
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
// A restarted server is back within seconds: asking it ten times a second costs nothing and finds it at once.
const RECONNECT_DELAY_S = 0.1;

/** How to open connections. */
export interface SqlClientOptions {
  readonly url: string;
  /** Role to work as; undefined: the one that logs in. */
  readonly role: string | undefined;
  /** What pg_stat_activity shows, for example `budgetd append`. */
  readonly applicationName: string;
  readonly connectionCountMax: number;
  readonly isolation: 'serializable' | 'repeatable read' | 'read committed';
  /** From the moment a connection is free. Default: 8 seconds. */
  readonly deadlineMs?: number;
  /**
   * Whether only questions are asked here. One that the server gives up, or that finds no free connection in time, is then
   * StoreTimeoutError, and the others go on. Default: false.
   */
  readonly isRead?: boolean;
  /** Further settings of the session. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Whatever runs statements: a pool, or one transaction. */
export interface Runs {
  run<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

interface Pool {
  readonly sql: Sql;
  /** Settled once a session has answered; undefined where none has since the last one ended. */
  opening: Promise<void> | undefined;
}

/** A small pool that can be dropped and opened anew. */
export class SqlClient implements Runs {
  readonly #options: SqlClientOptions;
  readonly #deadlineMs: number;
  readonly #turns: Turns;
  #pool: Pool;
  readonly #leaving = new Set<Promise<void>>();
  #closed = false;

  constructor(options: SqlClientOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#turns = new Turns(options.connectionCountMax);
    this.#pool = openPool(options);
  }

  /**
   * Runs statements. Throws StoreUnavailableError where the server cannot be reached or does not answer within the
   * deadline (what it did is then unknown), StoreTimeoutError as the options say, and every other error as it is.
   */
  async run<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    // The driver would put a statement behind another one on the same connection, where it waits for that one's end and its
    // own deadline passes without anything being wrong.
    if (!(await this.#turns.take(this.#deadlineMs))) {
      throw this.#options.isRead === true
        ? new StoreTimeoutError('no connection to the store was free in time')
        : new StoreUnavailableError('no connection to the store was free in time');
    }
    try {
      return await this.#run(work);
    } finally {
      this.#turns.giveBack();
    }
  }

  async #run<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreUnavailableError('the store is closed');
    const pool = this.#pool;
    try {
      pool.opening ??= open(pool);
      await within(Math.min(CONNECT_DEADLINE_MS, this.#deadlineMs), pool.opening);
      return await within(this.#deadlineMs, work(pool.sql));
    } catch (error) {
      // The driver (postgres 3.4.9) hands the farewell of a session that was ended to the first statement of the next one
      // on the same connection, whatever became of that statement. So no connection is used again after it.
      if (error instanceof StoreUnavailableError || isSessionEnd(error)) this.#replace(pool);
      throw storeErrorOf(error, this.#options.isRead);
    }
  }

  /** Closes the connections, after the statements that run; each of those is bound by its own time-out. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#leaving, this.#pool.sql.end({ timeout: this.#deadlineMs / 1_000 })]);
  }

  // What else is in flight on the old connections fails with it: they are most likely gone as well.
  #replace(pool: Pool): void {
    if (pool !== this.#pool || this.#closed) return;
    this.#pool = openPool(this.#options);
    const left = pool.sql.end({ timeout: 0 }).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }
}

async function open(pool: Pool): Promise<void> {
  try {
    await pool.sql`SELECT 1`;
  } catch (error) {
    pool.opening = undefined;
    throw error;
  }
}

/** Waits for `work`, but no longer than the deadline; then throws StoreUnavailableError. */
async function within<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new StoreUnavailableError(`the store did not answer within ${deadlineMs} ms`)),
    deadlineMs,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function openPool(options: SqlClientOptions): Pool {
  const sql = postgres(options.url, {
    max: options.connectionCountMax,
    connect_timeout: CONNECT_DEADLINE_MS / 1_000,
    backoff: () => RECONNECT_DELAY_S,
    // Statements are prepared once a connection, and arrays are written by us: no look at the catalogue is needed.
    fetch_types: false,
    max_lifetime: null,
    onnotice: () => undefined,
    onclose: () => {
      pool.opening = undefined;
    },
    connection: {
      application_name: options.applicationName,
      ...(options.role !== undefined && { role: options.role }),
      default_transaction_isolation: options.isolation,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      timezone: 'UTC',
      // Compiling a plan costs more than any statement here.
      jit: 'off',
      ...options.settings,
    } as Record<string, string | number>,
  });
  const pool: Pool = { sql, opening: undefined };
  return pool;
}
