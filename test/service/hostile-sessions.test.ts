// Sessions that are misused, against the real service on both ports: frames with too much in them, results that nobody reads,
// frames sent ahead, more Sessions than there are places.
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { setImmediate as turn } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SESSIONS_PER_CALLER_MAX } from '../../src/api/transport-limits.ts';
import { SessionRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ApiClient } from '../support/api-servers.ts';
import { HostileWorld, SESSION_PATH } from '../support/hostile-world.ts';
import { endOf, envelope, openHttp2, openStream } from '../support/raw-http2.ts';

let world: HostileWorld;
const connections: ClientHttp2Session[] = [];
beforeAll(async () => {
  world = await HostileWorld.start();
});
const leave = () => {
  for (const connection of connections.splice(0)) connection.destroy();
};
afterEach(leave);
afterAll(() => world.stop());

const portOf = (which: 'grpc' | 'connect') => (which === 'grpc' ? world.service.grpcPort : world.service.connectPort);

async function openConnection(which: 'grpc' | 'connect'): Promise<ClientHttp2Session> {
  const connection = await openHttp2(portOf(which));
  connections.push(connection);
  return connection;
}

/** A frame whose commands are all refused, since no budget is called so: nothing is charged however many there are. */
function frameOf(count: number, label = ''): Buffer {
  const commands = Array.from({ length: count }, (_, n) => ({
    commandId: BigInt(n) + 1n,
    command: {
      case: 'reserve' as const,
      value: { budget: 'nobody', idempotencyKey: `k${n}`, maxMicros: 1n, labels: { label } },
    },
  }));
  return envelope(toBinary(SessionRequestSchema, create(SessionRequestSchema, { commands })));
}

/** Writes as fast as the other side takes it, until it does not or so much is written. */
async function pour(stream: ClientHttp2Stream, chunk: Buffer, timesMax: number): Promise<void> {
  for (let times = 0; times < timesMax && !stream.closed; times += 1) {
    stream.write(chunk);
    await turn();
  }
}

describe.each(['grpc', 'connect'] as const)('a Session on the %s port', (which) => {
  it('with far too many commands in a frame ends with the field named', async () => {
    const stream = openStream(await openConnection(which), SESSION_PATH);
    const end = endOf(stream);
    // Commands without anything in them: 100,000 of two bytes each fit the largest message.
    stream.write(envelope(Buffer.concat(Array.from({ length: 100_000 }, () => Buffer.of(0x0a, 0x00)))));
    expect(await end).toMatchObject({ code: 3, reason: 'INVALID_FIELD' });
    await world.expectUnharmed();
  });

  it('takes a flood of empty frames as nothing', async () => {
    const stream = openStream(await openConnection(which), SESSION_PATH);
    await pour(stream, Buffer.alloc(5 * 3_000), 100);
    await world.expectServing();
    leave();
    await world.expectUnharmed();
  });

  it('whose results nobody reads is not read from, and costs a bounded amount', async () => {
    const connection = await openConnection(which);
    const frame = frameOf(4_000);
    const streams = Array.from({ length: 20 }, () => openStream(connection, SESSION_PATH));
    // 20 Sessions with 160,000 results between them: more than may wait for all peers together.
    await Promise.all(streams.map((stream) => pour(stream, frame, 4)));
    await world.expectServing();
    leave();
    await world.expectUnharmed();
  });

  it('that sends far ahead of what is answered holds little of it', async () => {
    const connection = await openConnection(which);
    const frame = frameOf(500, 'x'.repeat(1_000));
    // Each offers 50 MB; what the service holds of all of them is in the bound of memory.
    const streams = Array.from({ length: 10 }, () => openStream(connection, SESSION_PATH));
    await Promise.all(streams.map((stream) => pour(stream, frame, 100)));
    await world.expectServing();
    leave();
    await world.expectUnharmed();
  });

  it('has places, and those who take all of them keep nobody from unary calls', async () => {
    const client = new ApiClient(portOf(which));
    const sessions = Array.from({ length: SESSIONS_PER_CALLER_MAX }, () => client.session());
    for (const session of sessions) session.send({ commandId: 1n });
    await Promise.all(sessions.map((session) => session.until(1)));
    expect(await client.session().ended).toMatchObject({ code: 8, reason: 'OVERLOADED' });
    await world.expectServing();
    client.close();
    await world.expectUnharmed();
  });
});
