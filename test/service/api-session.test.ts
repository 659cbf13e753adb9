// Session through a real client, on grpc-js and on the HTTP server's HTTP/2: order, back-pressure, half-close, cancel, stop.
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, describe, expect, it } from 'vitest';
import { ReservationService, SessionRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
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

const roomy = { ageMs: 3_600_000, stallMs: 3_600_000 };

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
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
