// The suite's own client keeps to the service's bounds, and writes down what it was told: or a run would blame the service for
// what its clients did to each other.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SESSIONS_PER_CALLER_MAX } from '../../src/api/transport-limits.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { Caller, callOf } from './caller.ts';

let replicas: readonly Awaited<ReturnType<typeof startApiServers>>[];
const closers: (() => void)[] = [];

const reserve = callOf(ReservationService.method.reserve, { budget: 'acme', idempotencyKey: 'k', maxMicros: 5n });
const portAt = (at: number): number => replicas[at]?.grpc.port as number;

function onSessions(): Caller {
  const caller = new Caller([portAt(0), portAt(1)], true);
  closers.push(() => caller.close());
  return caller;
}

beforeEach(async () => {
  replicas = [await startApiServers(), await startApiServers()];
});
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  for (const replica of replicas) await replica.stop();
});

it('turns between replicas as often as it likes with one Session on each', async () => {
  const caller = onSessions();
  const kinds = new Set<string>();
  for (let turn = 0; turn <= 2 * SESSIONS_PER_CALLER_MAX; turn++) {
    kinds.add((await caller.once(reserve, portAt(turn % 2))).kind);
  }
  expect([...kinds]).toEqual(['ok']);
  expect(replicas[0]?.coordinator.commands).toHaveLength(SESSIONS_PER_CALLER_MAX + 1);
});

it('writes down why a Session was turned away', async () => {
  const client = new ApiClient(portAt(0));
  closers.push(() => client.close());
  const sessions = Array.from({ length: SESSIONS_PER_CALLER_MAX }, () => client.session());
  for (const session of sessions) session.send({ commandId: 1n, command: { case: 'reserve', value: reserve.request } });
  await Promise.all(sessions.map((session) => session.until(1)));
  const caller = onSessions();
  expect(await caller.once(reserve, portAt(0))).toMatchObject({
    kind: 'refused',
    status: 'RESOURCE_EXHAUSTED',
    reason: 'OVERLOADED',
    retryAfterMs: 1_000,
  });
  for (const session of sessions) session.stream.end();
  await Promise.all(sessions.map((session) => session.ended));
  // Its place is free as soon as the last one is closed at the server, which the client does not see.
  await expect.poll(() => caller.once(reserve, portAt(0)), { timeout: 10_000 }).toMatchObject({ kind: 'ok' });
});
