// Peers that cost by what they open and leave open, against the real service on both ports: thousands of idle connections and of
// half-open streams, requests that are never finished, resets, pings and settings in floods.
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { HostileWorld, RESERVE_PATH } from '../support/hostile-world.ts';
import {
  envelope,
  FLAG,
  FRAME,
  frame,
  openHttp2,
  openSocket,
  openStream,
  PREFACE,
  postHeaders,
} from '../support/raw-http2.ts';

let world: HostileWorld;
const connections: ClientHttp2Session[] = [];
const sockets: Socket[] = [];
beforeAll(async () => {
  world = await HostileWorld.start();
});
afterEach(() => {
  for (const connection of connections.splice(0)) connection.destroy();
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => world.stop());

/** Opens connections, a hundred at a time: the queue of those not yet accepted is short. */
async function openMany(port: number, count: number, first: Uint8Array): Promise<void> {
  for (let opened = 0; opened < count; opened += 100) {
    const batch = await Promise.all(Array.from({ length: 100 }, () => openSocket(port)));
    for (const socket of batch) {
      socket.resume();
      if (first.length > 0) socket.write(first);
    }
    sockets.push(...batch);
  }
}

describe.each(['grpc', 'connect'] as const)('on the %s port', (which) => {
  const port = () => (which === 'grpc' ? world.service.grpcPort : world.service.connectPort);

  it.each([
    [500, 'that say nothing', Buffer.alloc(0)],
    [2_000, 'that have begun to speak HTTP/2', PREFACE],
    [500, 'that have sent half of their headers', Buffer.from('POST / HTTP/1.1\r\nhost: localhost\r\n')],
  ])('%d connections %s keep nobody out, and are given back', async (count, _, first) => {
    await openMany(port(), count, first);
    await world.expectServing();
    for (const socket of sockets.splice(0)) socket.destroy();
    await world.expectUnharmed();
  });

  it('thousands of half-open streams keep nobody out, and are given back', async () => {
    for (let n = 0; n < 6; n += 1) {
      const connection = await openHttp2(port());
      connections.push(connection);
      for (let no = 0; no < 1_000; no += 1) openStream(connection, RESERVE_PATH);
    }
    await world.expectServing();
    for (const connection of connections.splice(0)) connection.destroy();
    await world.expectUnharmed();
  });

  it('hundreds of requests of almost 1 MiB that are never finished hold a bounded amount', async () => {
    const connection = await openHttp2(port());
    connections.push(connection);
    const body = envelope(Buffer.alloc(900_000), { length: 1_000_000 });
    const streams = Array.from({ length: 300 }, () => openStream(connection, RESERVE_PATH));
    // Written, or cut before it could be.
    await Promise.all(
      streams.map(
        (stream) =>
          new Promise<void>((resolve) => {
            stream.once('close', () => resolve());
            stream.write(body, () => resolve());
          }),
      ),
    );
    await world.expectServing();
    connection.destroy();
    await world.expectUnharmed();
  });

  it('streams that are reset as soon as they are opened cost the connection', async () => {
    const rounds = Array.from({ length: 3_000 }, (_, n) => [
      frame(FRAME.headers, FLAG.endHeaders, 2 * n + 1, postHeaders(RESERVE_PATH)),
      frame(FRAME.reset, 0, 2 * n + 1, Buffer.of(0, 0, 0, 8)),
    ]);
    const socket = await openSocket(port());
    sockets.push(socket);
    socket.resume();
    const closed = once(socket, 'close');
    socket.write(Buffer.concat([PREFACE, ...rounds.flat()]));
    await closed;
    await world.expectUnharmed();
  });

  it.each([
    ['pings', frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
    ['settings', frame(FRAME.settings, 0, 0)],
  ])('a flood of %s whose answers are not read costs the connection, or nothing', async (_, one) => {
    const flood = Buffer.concat([PREFACE, ...Array.from({ length: 20_000 }, () => one)]);
    for (let n = 0; n < 5; n += 1) {
      const socket = await openSocket(port());
      sockets.push(socket);
      socket.pause();
      socket.write(flood);
    }
    await world.expectServing();
    for (const socket of sockets.splice(0)) socket.destroy();
    await world.expectUnharmed();
  });
});

it('streams past the largest number on a connection are refused, and no more', async () => {
  for (const port of world.ports) {
    const socket = await openSocket(port);
    sockets.push(socket);
    socket.resume();
    const opened = Array.from({ length: 1_500 }, (_, n) =>
      frame(FRAME.headers, FLAG.endHeaders, 2 * n + 1, postHeaders(RESERVE_PATH)),
    );
    socket.write(Buffer.concat([PREFACE, ...opened]));
    await world.expectServing();
    socket.destroy();
  }
  await world.expectUnharmed();
});
