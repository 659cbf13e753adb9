// A TCP proxy that tests put between the service and PostgreSQL, to make the network fail on command: refuse, cut, stall
// one or both ways, delay. What it does to live and to new connections is exact and immediate, so that no test sleeps.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Which way bytes go: to the server behind the proxy, or back to its client. */
type Direction = 'to-server' | 'to-client';

/** A running proxy. It starts by passing everything on. */
export interface TcpProxy {
  /** Where clients connect, on the loopback interface. */
  readonly port: number;
  /** Live connections. */
  connectionCount(): number;
  /** Breaks every live connection; new ones are still taken. */
  cut(): void;
  /** Breaks every live connection, and each new one at once, until `pass`. */
  refuse(): void;
  /** Holds back bytes going the given ways (both, if none is given), on live and new connections, until `pass`. */
  stall(...directions: readonly Direction[]): void;
  /** Passes each chunk on only so many milliseconds after it came, in order, until `pass` or another delay. */
  delay(delayMs: number): void;
  /** Undoes refuse, stall and delay; bytes held back go on their way. */
  pass(): void;
  close(): Promise<void>;
}

interface Pipe {
  readonly direction: Direction;
  readonly source: Socket;
  readonly sink: Socket;
  /** What came and was not passed on yet, in order; the end of the stream has no chunk. */
  readonly queue: { readonly chunk: Buffer | undefined; readonly dueMs: number }[];
  timer: NodeJS.Timeout | undefined;
}

/** Starts a proxy in front of one server. */
export async function startTcpProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
  const pipes = new Set<Pipe>();
  const stalled = new Set<Direction>();
  let isRefusing = false;
  let delayMs = 0;

  const join = (direction: Direction, source: Socket, sink: Socket): void => {
    const pipe: Pipe = { direction, source, sink, queue: [], timer: undefined };
    const enqueue = (chunk: Buffer | undefined): void => {
      pipe.queue.push({ chunk, dueMs: performance.now() + delayMs });
      pump(pipe);
    };
    pipes.add(pipe);
    source.setNoDelay(true);
    source.on('data', enqueue);
    source.once('end', () => enqueue(undefined));
    source.once('close', () => {
      clearTimeout(pipe.timer);
      pipes.delete(pipe);
      sink.destroy();
    });
    // An error is followed by `close`, which ends the other side too.
    source.on('error', () => undefined);
    sink.on('drain', () => {
      if (!stalled.has(direction)) source.resume();
    });
    if (stalled.has(direction)) source.pause();
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (isRefusing) {
      client.on('error', () => undefined);
      client.destroy();
      return;
    }
    const upstream = connect({ ...target, allowHalfOpen: true });
    join('to-server', client, upstream);
    join('to-client', upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  // Not `resetAndDestroy`: on a socket that is already shutting down it leaves a handle behind that keeps Node from exiting.
  const cut = (): void => {
    for (const pipe of pipes) pipe.source.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => [...pipes].filter((pipe) => pipe.direction === 'to-server').length,
    cut,
    refuse: () => {
      isRefusing = true;
      cut();
    },
    stall: (...directions) => {
      for (const direction of directions.length === 0 ? (['to-server', 'to-client'] as const) : directions) {
        stalled.add(direction);
      }
      for (const pipe of pipes) if (stalled.has(pipe.direction)) pipe.source.pause();
    },
    delay: (nextDelayMs) => {
      delayMs = nextDelayMs;
    },
    pass: () => {
      isRefusing = false;
      delayMs = 0;
      stalled.clear();
      for (const pipe of pipes) {
        pump(pipe, Number.POSITIVE_INFINITY);
        pipe.source.resume();
      }
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Passes on what is due by `nowMs`, and comes back when the next chunk is. */
function pump(pipe: Pipe, nowMs: number = performance.now()): void {
  clearTimeout(pipe.timer);
  for (let head = pipe.queue[0]; head !== undefined; head = pipe.queue[0]) {
    if (head.dueMs > nowMs) {
      pipe.timer = setTimeout(() => pump(pipe), head.dueMs - nowMs);
      return;
    }
    pipe.queue.shift();
    if (!pipe.sink.writable) continue;
    if (head.chunk === undefined) pipe.sink.end();
    // The source must not be read faster than the sink takes.
    else if (!pipe.sink.write(head.chunk)) pipe.source.pause();
  }
}
