// Peers that take their time, against both servers with small bounds: requests that dribble in or stop, answers that nobody takes,
// peers that vanish without a word, and connections past their number. Each is let go in its time, with a status where one is due.
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TRANSPORT_LIMITS, type TransportLimits } from '../../src/api/transport-bounds.ts';
import { WATCHES_MAX } from '../../src/api/transport-limits.ts';
import { ReservationService, ReserveRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { RESERVE_PATH } from '../support/hostile-world.ts';
import {
  endOf,
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

let servers: Awaited<ReturnType<typeof startApiServers>>;
const connections: ClientHttp2Session[] = [];
const sockets: Socket[] = [];
const clients: ApiClient[] = [];

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const client of clients.splice(0)) client.close();
  await servers.stop();
});

type Bounds = { readonly [Part in keyof TransportLimits]?: Partial<TransportLimits[Part]> };

async function start(bounds: Bounds): Promise<void> {
  const { arrivals, answers, waits, ...rest } = bounds;
  const limits = {
    ...TRANSPORT_LIMITS,
    ...rest,
    arrivals: { ...TRANSPORT_LIMITS.arrivals, ...arrivals },
    answers: { ...TRANSPORT_LIMITS.answers, ...answers },
    waits: { ...TRANSPORT_LIMITS.waits, ...waits },
  };
  servers = await startApiServers({ limits });
}

async function openConnection(port: number): Promise<ClientHttp2Session> {
  const connection = await openHttp2(port);
  connections.push(connection);
  return connection;
}

function clientOf(port: number): ApiClient {
  const client = new ApiClient(port);
  clients.push(client);
  return client;
}

const honest = { budget: 'acme', idempotencyKey: 'k', maxMicros: 5n };
const message = envelope(toBinary(ReserveRequestSchema, create(ReserveRequestSchema, honest)));
const expectServed = async (port: number) =>
  expect(await clientOf(port).call(ReservationService.method.reserve, honest)).toHaveProperty('reservation');

describe.each(['grpc', 'connect'] as const)('on the %s server', (which) => {
  const port = () => servers[which].port;

  it('a request that dribbles in is told that it is late', async () => {
    await start({ arrivals: { timeMs: 100, checkMs: 10 } });
    const stream = openStream(await openConnection(port()), RESERVE_PATH);
    const end = endOf(stream);
    let at = 0;
    const dribble = setInterval(() => {
      stream.write(message.subarray(at, at + 1));
      at += 1;
    }, 10);
    expect(await end).toMatchObject({ code: 4 });
    clearInterval(dribble);
    expect(servers.coordinator.commands).toEqual([]);
    await expectServed(port());
    expect(servers.errors).toEqual([]);
  });

  it('a request of which nothing but its headers comes is let go', async () => {
    await start({ arrivals: { timeMs: 50, checkMs: 10 }, answers: { checkMs: 10 } });
    const end = await endOf(openStream(await openConnection(port()), RESERVE_PATH));
    expect(end).toMatchObject(which === 'grpc' ? { code: 4 } : { httpStatus: 408 });
  });

  it('a request that is whole but not ended is let go, and not carried out', async () => {
    await start({ arrivals: { timeMs: 50, checkMs: 10 } });
    const stream = openStream(await openConnection(port()), RESERVE_PATH);
    stream.write(message);
    expect(await endOf(stream)).toMatchObject({ code: 4 });
    expect(servers.coordinator.commands).toEqual([]);
  });

  it('a request that is whole but reset before its end is not carried out', async () => {
    await start({});
    const socket = await openSocket(port());
    sockets.push(socket);
    socket.resume();
    const opened = frame(FRAME.headers, FLAG.endHeaders, 1, postHeaders(RESERVE_PATH));
    socket.write(Buffer.concat([PREFACE, opened, frame(FRAME.data, 0, 1, message)]));
    await expectServed(port());
    socket.write(frame(FRAME.reset, 0, 1, Buffer.of(0, 0, 0, 8)));
    await expectServed(port());
    // The honest ones' alone.
    expect(servers.coordinator.commands).toHaveLength(2);
  });

  it('of more half-open requests than may be, the oldest go', async () => {
    await start({ arrivals: { countMax: 10 } });
    const connection = await openConnection(port());
    const streams = Array.from({ length: 15 }, () => openStream(connection, RESERVE_PATH));
    const ends = await Promise.all(streams.slice(0, 5).map(endOf));
    for (const end of ends) {
      if (which === 'grpc') expect(end).toMatchObject({ code: 8, reason: 'OVERLOADED' });
      else expect(end).toMatchObject({ resetCode: constants.NGHTTP2_REFUSED_STREAM });
    }
    expect(streams.slice(5).some((stream) => stream.closed)).toBe(false);
    await expectServed(port());
  });

  it('of requests that hold more bytes than may be, the largest go and small ones stay', async () => {
    await start({ arrivals: { bytesMax: 100_000 } });
    const connection = await openConnection(port());
    const small = openStream(connection, RESERVE_PATH);
    small.write(message.subarray(0, 8));
    const large = Array.from({ length: 4 }, () => openStream(connection, RESERVE_PATH));
    const ends = large.map(endOf);
    for (const stream of large) stream.write(envelope(Buffer.alloc(40_000), { length: 50_000 }));
    expect(await Promise.race(ends)).toMatchObject({ code: 8, reason: 'OVERLOADED' });
    const end = endOf(small);
    small.end(message.subarray(8));
    expect(await end).toMatchObject({ code: 0 });
  });

  it('an answer that is not taken is given up', async () => {
    await start({ answers: { timeMs: 100, checkMs: 10 } });
    const connection = connectHttp2(`http://127.0.0.1:${port()}`, { settings: { initialWindowSize: 0 } });
    connections.push(connection);
    await once(connection, 'remoteSettings');
    const stream = openStream(connection, RESERVE_PATH);
    stream.end(message);
    await once(stream, 'close').catch(() => undefined);
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    await expectServed(port());
  });

  it('of answers that hold more bytes than may be, some are given up at once', async () => {
    await start({ answers: { bytesMax: 500, checkMs: 10 } });
    const connection = connectHttp2(`http://127.0.0.1:${port()}`, { settings: { initialWindowSize: 0 } });
    connections.push(connection);
    await once(connection, 'remoteSettings');
    const streams = Array.from({ length: 20 }, () => openStream(connection, RESERVE_PATH));
    for (const stream of streams) stream.end(message);
    await vi.waitFor(() => expect(streams.filter((stream) => stream.closed).length).toBeGreaterThan(10));
    await expectServed(port());
  });

  it('a peer that vanished is noticed by its silence', async () => {
    await start({ keepaliveMs: 50, keepaliveTimeoutMs: 50 });
    const socket = await openSocket(port());
    sockets.push(socket);
    // It answers no ping, as one whose machine lost its power.
    socket.write(PREFACE);
    socket.resume();
    await once(socket, 'close');
    await expectServed(port());
  });

  it('a connection that idles makes room for one that comes', async () => {
    // On the HTTP port three quarters of the places are for HTTP/2.
    await start({ connectionsMax: which === 'grpc' ? 6 : 8 });
    const idle = await openConnection(port());
    const busy = await openConnection(port());
    const stream = openStream(busy, RESERVE_PATH);
    for (let n = 0; n < 5; n += 1) await openConnection(port());
    if (!idle.closed) await once(idle, 'close');
    expect(busy.closed).toBe(false);
    const end = endOf(stream);
    stream.end(message);
    expect(await end).toMatchObject({ code: 0 });
  });
});

it('a watcher of health past their number is refused', async () => {
  await start({});
  const body = envelope(Buffer.alloc(0));
  const opened: Promise<unknown>[] = [];
  for (let left = WATCHES_MAX; left > 0; left -= 512) {
    const connection = await openConnection(servers.grpc.port);
    for (let n = 0; n < Math.min(left, 512); n += 1) {
      const stream = openStream(connection, '/grpc.health.v1.Health/Watch');
      opened.push(once(stream, 'response'));
      stream.end(body);
    }
  }
  await Promise.all(opened);
  const one = openStream(await openConnection(servers.grpc.port), '/grpc.health.v1.Health/Watch');
  one.end(body);
  expect(await endOf(one)).toMatchObject({ code: 8, reason: 'OVERLOADED' });
  await expectServed(servers.grpc.port);
});
