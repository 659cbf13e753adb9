// A real service in a process of its own that a test starts, kills with SIGKILL, restarts on the same database, and whose
// clock it moves. The clock survives a restart, as the world's does.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RestingProcesses } from './resting-processes.ts';
import { CLOCK_VARIABLE, type FromChild, type Holdings, type ToChild } from './service-messages.ts';

const CHILD_FILE = fileURLToPath(new URL('./service-process.ts', import.meta.url));
// Loading the sources takes a second or two alone; a machine that runs all tests at once may need ten times that.
const START_DEADLINE_MS = 30_000;
// Enough to see why a service died.
const LOG_TAIL_CHARS = 16_384;

/** How to start it. */
export interface ServiceOptions {
  readonly databaseUrl: string;
  /** First reading of the injected clock, in milliseconds since the epoch. Absent: the service has the real clock. */
  readonly clockMs?: number;
  /** More environment, for example BUDGETD_GRACE. Ports are free ones unless it says otherwise. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Where to look for a process before one is started, and where `rest` leaves it. Absent: each start is a new process. */
  readonly processes?: RestingProcesses;
}

/** One service and the process it lives in. */
export class ServiceUnderTest {
  readonly #options: ServiceOptions;
  #child: ChildProcess | undefined;
  #ports = { grpcPort: 0, connectPort: 0 };
  #nowMs: number | undefined;
  #log = '';

  private constructor(options: ServiceOptions) {
    this.#options = options;
    this.#nowMs = options.clockMs;
  }

  /** Starts a service and waits until it listens. Throws with its last words where it does not. */
  static async start(options: ServiceOptions): Promise<ServiceUnderTest> {
    const service = new ServiceUnderTest(options);
    await service.#launch();
    return service;
  }

  /** Port of the gRPC server; another one after a restart. */
  get grpcPort(): number {
    return this.#ports.grpcPort;
  }

  /** Port of the Connect server; another one after a restart. */
  get connectPort(): number {
    return this.#ports.connectPort;
  }

  /** The injected clock's reading. Throws where the service has the real clock. */
  get nowMs(): number {
    if (this.#nowMs === undefined) throw new Error('this service has the real clock');
    return this.#nowMs;
  }

  /** Sets the injected clock, and returns once the service reads the new time. */
  async moveClock(nowMs: number): Promise<void> {
    if (this.#nowMs === undefined) throw new Error('this service has the real clock');
    this.#nowMs = nowMs;
    this.#say({ kind: 'move-clock', nowMs });
    await this.#hear('clock-moved');
  }

  /** What the process holds, after it has collected its garbage. */
  async measure(): Promise<Holdings> {
    this.#say({ kind: 'measure' });
    return await this.#hear('measured');
  }

  /** Ends the process at once, as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** Sends the process a signal, for example SIGSTOP; it is not waited for. */
  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Kills it and starts it on the same database, at the same time of the injected clock. */
  async restart(): Promise<void> {
    await this.kill();
    await this.#launch();
  }

  /** Lets it shut down in its own way. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    this.#say({ kind: 'stop' });
    await exit;
  }

  /** Lets it shut down in its own way and leaves its process to the next service. Throws, and kills it, where it does not. */
  async rest(): Promise<void> {
    const child = this.#child;
    if (this.#options.processes === undefined || child?.connected !== true) return await this.kill();
    this.#say({ kind: 'rest' });
    try {
      await this.#hear('resting');
    } catch (error) {
      await this.kill();
      throw error;
    }
    for (const stream of [child.stdout, child.stderr]) stream?.off('data', this.#keepLog);
    this.#child = undefined;
    this.#options.processes.give(child);
  }

  /** The end of what it wrote to its output, over all restarts. */
  logTail(): string {
    return this.#log;
  }

  async #launch(): Promise<void> {
    const rested = this.#options.processes?.take();
    const environment = this.#environment();
    const child =
      rested ?? fork(CHILD_FILE, { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: environment });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', this.#keepLog);
    if (rested !== undefined) this.#say({ kind: 'serve', environment });
    this.#ports = await this.#hear('listening');
  }

  readonly #keepLog = (chunk: Buffer): void => {
    this.#log = (this.#log + chunk.toString()).slice(-LOG_TAIL_CHARS);
  };

  #environment(): Record<string, string> {
    const inherited = Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || /^(BUDGETD_|DATABASE_URL$|NODE_OPTIONS$)/.test(name) ? [] : [[name, value] as const],
    );
    return {
      ...Object.fromEntries(inherited),
      // Sources are stripped of their types once, not at every start.
      NODE_COMPILE_CACHE: join(tmpdir(), 'budgetd-test-compile-cache'),
      DATABASE_URL: this.#options.databaseUrl,
      BUDGETD_GRPC_PORT: '0',
      BUDGETD_HTTP_PORT: '0',
      // Thousands of rows into a new database for each test; those that are about it say so.
      BUDGETD_PRICE_CATALOGUE: 'off',
      ...(this.#nowMs === undefined ? {} : { [CLOCK_VARIABLE]: String(this.#nowMs) }),
      ...this.#options.environment,
    };
  }

  #say(message: ToChild): void {
    if (this.#child?.connected !== true) throw new Error(`the service is not running\n${this.#log}`);
    this.#child.send(message);
  }

  /** Waits for one kind of message; an exit, a failure or the deadline reject instead. */
  async #hear<Kind extends FromChild['kind']>(kind: Kind): Promise<Extract<FromChild, { kind: Kind }>> {
    const child = this.#child;
    if (child === undefined) throw new Error('the service was never started');
    const { promise, resolve, reject } = Promise.withResolvers<Extract<FromChild, { kind: Kind }>>();
    const onMessage = (message: FromChild): void => {
      if (message.kind === kind) resolve(message as Extract<FromChild, { kind: Kind }>);
      else if (message.kind === 'failed') reject(new Error(`the service failed: ${message.message}\n${this.#log}`));
    };
    const onExit = (): void => reject(new Error(`the service ended while "${kind}" was awaited\n${this.#log}`));
    const timer = setTimeout(() => reject(new Error(`no "${kind}" in time\n${this.#log}`)), START_DEADLINE_MS);
    child.on('message', onMessage);
    child.once('exit', onExit);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
    }
  }
}
