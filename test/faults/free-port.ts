// Ports that are kept over restarts: from below the range out of which systems give ports to connections, so that nobody takes
// one while its server is down.
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;

let next = Math.floor(Math.random() * PORT_COUNT);

/** A port on the loopback interface that nobody listens on, another one at each call. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORT_COUNT; tries++) {
    const port = FIRST_PORT + (next++ % PORT_COUNT);
    const server = createServer();
    try {
      server.listen({ port, host: '127.0.0.1', exclusive: true });
      await once(server, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error('no free port');
}
