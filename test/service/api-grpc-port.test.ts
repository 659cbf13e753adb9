// How the gRPC server comes to its port: the look whether it is free, before it listens, says what is wrong in its own words,
// and holds up neither the start nor the clients that wait for the server to come back.
import { once } from 'node:events';
import { connect as connectSocket, createServer, Server, type Socket } from 'node:net';
import { Client, connectivityState, credentials, Metadata } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startGrpcServer } from '../../src/api/grpc/start-grpc-server.ts';
import { PortInUseError, type RunningServer } from '../../src/api/running-server.ts';
import { freePort } from '../faults/free-port.ts';
import { startApiServers } from '../support/api-servers.ts';

const HOST = '127.0.0.1';

let apis: Awaited<ReturnType<typeof startApiServers>>;
const started: RunningServer[] = [];

beforeEach(async () => {
  apis = await startApiServers();
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const server of started.splice(0)) await server.stop({ graceMs: 0 });
  await apis.stop();
});

async function startOn(port: number, host = HOST): Promise<RunningServer> {
  const { services, authenticate, log } = apis;
  const server = await startGrpcServer({ host, port, services, authenticate, log });
  started.push(server);
  return server;
}

/** Health of the server on a port; waits until there is one. */
function healthOn(port: number): { readonly answer: Promise<Buffer | undefined>; readonly client: Client } {
  const client = new Client(`${HOST}:${port}`, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 50,
    'grpc.max_reconnect_backoff_ms': 50,
  });
  const asIs = (bytes: Buffer): Buffer => bytes;
  const answer = new Promise<Buffer | undefined>((resolve, reject) => {
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      asIs,
      asIs,
      Buffer.alloc(0),
      new Metadata({ waitForReady: true }),
      (error, reply) => (error === null ? resolve(reply) : reject(error)),
    );
  });
  return { answer, client };
}

it('names a port that is taken, and nothing else writes about it', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const holder = createServer();
  await once(holder.listen(0, HOST), 'listening');
  const { port } = holder.address() as { readonly port: number };
  await expect(startOn(port)).rejects.toThrow(new PortInUseError(HOST, port));
  expect(said).not.toHaveBeenCalled();
  holder.close();
});

it('says of an address that is not this machine what the system says', async () => {
  // From the range that is kept for documentation.
  await expect(startOn(50_051, '192.0.2.1')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
});

it('drops a client that is let in by the look whether the port is free', async () => {
  const port = await freePort();
  const early = Promise.withResolvers<Socket>();
  // Node takes nobody in before the look is over, as far as is known; here it does, and the client says nothing and stays.
  const close = Server.prototype.close;
  vi.spyOn(Server.prototype, 'close').mockImplementationOnce(function (this: Server, done) {
    this.once('connection', () => close.call(this, done));
    early.resolve(connectSocket(port, HOST));
    return this;
  });
  const starting = startOn(port);
  const socket = await early.promise;
  socket.on('error', () => undefined);
  if (!socket.closed) await once(socket, 'close');
  expect((await starting).port).toBe(port);
});

it('answers clients that were waiting for it to come back', async () => {
  const port = await freePort();
  const waiting = Array.from({ length: 20 }, () => healthOn(port));
  // All of them have been refused at least once, and try again by themselves.
  const isRefused = ({ client }: (typeof waiting)[number]) =>
    client.getChannel().getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE;
  await expect.poll(() => waiting.every(isRefused), { timeout: 10_000 }).toBe(true);
  (await startOn(port)).setServing(true);
  for (const { answer, client } of waiting) {
    expect(await answer).toBeInstanceOf(Buffer);
    client.close();
  }
});
