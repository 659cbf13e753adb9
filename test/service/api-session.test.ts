// Session through a real client, on grpc-js and on the HTTP server's HTTP/2: order, back-pressure, half-close, cancel, stop,
// peers that do not read, and how many a caller may have.
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectSession, constants } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, describe, expect, it } from 'vitest';
import { SESSIONS_PER_CALLER_MAX } from '../../src/api/transport-limits.ts';
import { ReservationService, SessionRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import { ApiClient, type SessionClient, startApiServers } from '../support/api-servers.ts';
import { type FakeCoordinator, succeed } from '../support/fake-coordinator.ts';

let servers: Awaited<ReturnType<typeof startApiServers>>;
const clients: ApiClient[] = [];

const reserve = (commandId: bigint) => ({
  commandId,
  command: {
    case: 'reserve' as const,
    value: { budget: 'acme', idempotencyKey: `k${commandId}`, maxMicros: 5n },
  },
});

/** Commands wait until released; `arrived` resolves once so many have come. */
function hold(coordinator: FakeCoordinator) {
  const waiting: (() => void)[] = [];
  let notify: () => void = () => undefined;
  coordinator.answer = (command) =>
    new Promise<Answer>((resolve) => {
      waiting.push(() => resolve(succeed(command)));
      notify();
    });
  const arrived = async (count: number): Promise<void> => {
    while (coordinator.commands.length < count) {
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
  };
  const release = () => {
    for (const answer of waiting.splice(0)) answer();
  };
  return { arrived, release };
}

const connect = (port: number): ApiClient => {
  const client = new ApiClient(port);
  clients.push(client);
  return client;
};

const bound = 8_192;
const roomy = {
  waitingMax: bound,
  ageMs: 3_600_000,
  stallMs: 3_600_000,
  restMs: 100,
  flushMs: 3_600_000,
  keptMs: 10_000,
};

const connections: ClientHttp2Session[] = [];

/** Opens a Session whose results nobody reads, and asks for more of them than the window and all buffers before it take. */
function deafSession(port: number): ClientHttp2Stream {
  const connection = connectSession(`http://127.0.0.1:${port}`);
  connections.push(connection);
  const path = '/budgetd.v1.ReservationService/Session';
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = connection.request(headers);
  for (let frame = 0n; frame < 40n; frame += 1n) {
    const commands = Array.from({ length: 1_000 }, (_, n) => reserve(frame * 1_000n + BigInt(n)));
    const bytes = toBinary(SessionRequestSchema, create(SessionRequestSchema, { commands }));
    const envelope = Buffer.alloc(5);
    envelope.writeUInt32BE(bytes.length, 1);
    stream.write(Buffer.concat([envelope, bytes]));
  }
  return stream;
}

/** Opens Sessions and waits until each has answered a command. */
async function answered(client: ApiClient, count: number): Promise<SessionClient[]> {
  const sessions = Array.from({ length: count }, () => client.session());
  for (const session of sessions) session.send(reserve(1n));
  await Promise.all(sessions.map((session) => session.until(1)));
  return sessions;
}

/** Tells how a stream was closed, however it was. */
async function closing(stream: ClientHttp2Stream): Promise<number | undefined> {
  stream.on('error', () => undefined);
  if (!stream.closed) await once(stream, 'aborted');
  return stream.rstCode;
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const connection of connections.splice(0)) connection.destroy();
  await servers.stop();
});

describe.each(['grpc', 'connect'] as const)('a Session on the %s server', (which) => {
  const start = async (commandsMax = 8_192) => {
    servers = await startApiServers({ sessionLimits: { ...roomy, commandsMax } });
    return connect(servers[which].port).session();
  };

  it('answers many frames, each command once', async () => {
    const session = await start();
    for (let frame = 0; frame < 20; frame += 1) {
      session.send(...Array.from({ length: 100 }, (_, n) => reserve(BigInt(frame * 100 + n))));
    }
    const results = await session.until(2_000);
    expect(new Set(results.map(({ commandId }) => commandId)).size).toBe(2_000);
    expect(results.every(({ result }) => result.case === 'reserve')).toBe(true);
    session.stream.end();
    expect((await session.ended).code).toBe(0);
    expect(session.results).toHaveLength(2_000);
  });

  it('submits a frame together and answers it together', async () => {
    const session = await start();
    const { arrived, release } = hold(servers.coordinator);
    session.send(reserve(1n), reserve(2n), reserve(3n));
    await arrived(3);
    release();
    await session.until(3);
    expect(session.frames).toHaveLength(1);
  });

  it('stops reading a peer that has too much outstanding, and goes on after', async () => {
    const session = await start(100);
    const { arrived, release } = hold(servers.coordinator);
    for (let frame = 0; frame < 400; frame += 1) {
      session.send(...Array.from({ length: 50 }, (_, n) => reserve(BigInt(frame * 50 + n))));
    }
    await arrived(100);
    // A further frame could only come with a further turn; several have passed when a unary call has been there and back.
    await connect(servers[which].port).call(ReservationService.method.getReservation, { reservationId: '' });
    expect(servers.coordinator.commands.length).toBeLessThanOrEqual(150);
    servers.coordinator.answer = succeed;
    release();
    expect(await session.until(20_000)).toHaveLength(20_000);
  });

  it('finishes what is outstanding after a half-close', async () => {
    const session = await start();
    const { arrived, release } = hold(servers.coordinator);
    session.send(reserve(1n), reserve(2n));
    session.stream.end();
    await arrived(2);
    release();
    expect((await session.ended).code).toBe(0);
    expect(session.results).toHaveLength(2);
  });

  it('drops answers, not effects, of a peer that cancels, and serves others', async () => {
    const session = await start();
    const { arrived, release } = hold(servers.coordinator);
    session.send(reserve(1n));
    await arrived(1);
    session.stream.cancel();
    expect((await session.ended).code).toBe(1);
    release();
    servers.coordinator.answer = succeed;
    const other = connect(servers[which].port).session();
    other.send(reserve(2n));
    expect(await other.until(1)).toHaveLength(1);
    expect(servers.coordinator.commands).toHaveLength(2);
    expect(servers.errors).toEqual([]);
  });

  it('ends at a frame that cannot be read', async () => {
    const session = await start();
    session.send(reserve(1n));
    await session.until(1);
    session.stream.write(Buffer.from([0xff, 0xff, 0xff]));
    expect((await session.ended).code).toBe(3);
  });

  it('finishes what it took when the server stops, and tells the peer to go elsewhere', async () => {
    const session = await start();
    const { arrived, release } = hold(servers.coordinator);
    session.send(reserve(1n));
    await arrived(1);
    const stopped = servers[which].stop({ graceMs: 10_000 });
    release();
    expect((await session.ended).code).toBe(14);
    expect(session.results).toHaveLength(1);
    await stopped;
  });

  it('is reset where its results are not read and its status cannot get past them', async () => {
    servers = await startApiServers({ sessionLimits: { ...roomy, commandsMax: bound, stallMs: 50, flushMs: 50 } });
    const client = connect(servers[which].port);
    // All places of the caller but one: the next two tell whether the Session that was cut has given up its own.
    await answered(client, SESSIONS_PER_CALLER_MAX - 1);
    const stream = deafSession(servers[which].port);
    expect(await closing(stream)).toBe(constants.NGHTTP2_CANCEL);
    await answered(client, 1);
    expect(await client.session().ended).toMatchObject({ code: 8, reason: 'OVERLOADED' });
    expect(servers.errors).toEqual([]);
  });

  it('does not hold up a stop where its results are not read', async () => {
    servers = await startApiServers({ sessionLimits: { ...roomy, commandsMax: bound, flushMs: 50 } });
    const stream = deafSession(servers[which].port);
    await once(stream, 'response');
    // Far more than the time that the test has: the stop must come to its end without it.
    await servers[which].stop({ graceMs: 3_600_000 });
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });

  it('leaves places for others where one caller has many, and gives its place back', async () => {
    const secrets = ['busy', 'other'].map((name) => ({ name, role: 'agent' as const, secret: { plaintext: name } }));
    const limits = { ...roomy, commandsMax: bound, stallMs: 50, flushMs: 50 };
    servers = await startApiServers({ tokens: secrets, sessionLimits: limits });
    const { port } = servers[which];
    const open = (token: string) => {
      const client = new ApiClient(port, token);
      clients.push(client);
      return client;
    };
    const busy = open('busy');
    const [first] = await answered(busy, SESSIONS_PER_CALLER_MAX);
    expect(await busy.session().ended).toMatchObject({ code: 8, reason: 'OVERLOADED' });
    await answered(open('other'), 1);
    first?.stream.end();
    expect((await first?.ended)?.code).toBe(0);
    await answered(busy, 1);
  });
});

it('speaks Connect’s own clients too', async () => {
  servers = await startApiServers();
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${servers.connect.port}` });
  const client = createClient(ReservationService, transport);
  async function* frames() {
    yield create(SessionRequestSchema, { commands: [reserve(1n), reserve(2n)] });
  }
  const ids: bigint[] = [];
  for await (const { results } of client.session(frames())) ids.push(...results.map(({ commandId }) => commandId));
  expect(ids).toEqual([1n, 2n]);
});
