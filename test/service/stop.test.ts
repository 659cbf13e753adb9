// How both servers stop: together, so that one lets nothing in while the other finishes; within one grace and not one after the
// other; and with every command that was let in answered, and found in the journal afterwards.
import { setImmediate as turn } from 'node:timers/promises';
import postgres from 'postgres';
import { afterEach, expect, it, vi } from 'vitest';
import { stopServers } from '../../src/app/servers.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { type FakeCoordinator, succeed } from '../support/fake-coordinator.ts';
import { makeBudget, post, RESERVE, scrape, startObserved } from '../support/observed-service.ts';
import { createDatabase } from '../support/postgres.ts';

const UNAVAILABLE = 14;
const GRACE_MS = 60_000;
// A busy machine may take its time; what is polled for takes milliseconds.
const POLL = { interval: 10, timeout: 10_000 };
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers.splice(0).reverse()) await close();
});

const connect = (port: number): ApiClient => {
  const client = new ApiClient(port);
  closers.push(() => client.close());
  return client;
};

/** Commands wait for the function that is returned. */
function hold(coordinator: FakeCoordinator): () => void {
  const waiting: (() => void)[] = [];
  coordinator.answer = (command) =>
    new Promise<Answer>((resolve) => {
      waiting.push(() => resolve(succeed(command)));
    });
  return () => {
    for (const answer of waiting.splice(0)) answer();
  };
}

const reserve = (idempotencyKey: string) => ({ budget: 'acme', idempotencyKey, maxMicros: 5n });
const inJson = (idempotencyKey: string) => ({ ...reserve(idempotencyKey), maxMicros: '5' });

const sessionOn = (port: number, idempotencyKey: string) => {
  const session = connect(port).session();
  session.send({ commandId: 1n, command: { case: 'reserve', value: reserve(idempotencyKey) } });
  return session;
};

/** Both servers with a call and a Session on each that wait for their answers. */
async function busyServers() {
  const servers = await startApiServers();
  closers.push(servers.stop);
  const release = hold(servers.coordinator);
  const [grpcPort, connectPort] = [servers.grpc.port, servers.connect.port];
  const calls = {
    grpc: connect(grpcPort).call(BudgetService.method.getBudget, { budget: 'acme' }),
    json: post({ connectPort }, RESERVE, inJson('json')),
  };
  // What becomes of it is looked at later; until then it must not count as nobody's.
  calls.json.catch(() => undefined);
  const sessions = [sessionOn(grpcPort, 's1'), sessionOn(connectPort, 's2')];
  await expect.poll(() => servers.coordinator.commands.length, POLL).toBe(4);
  return { servers, release, calls, sessions };
}

it('lets nothing in at either while either still finishes, and finishes on both', async () => {
  const { servers, release, calls, sessions } = await busyServers();
  const stopped = stopServers([servers.grpc, servers.connect], GRACE_MS);
  const late = await connect(servers.grpc.port).call(BudgetService.method.getBudget, { budget: 'acme' });
  expect(late).toMatchObject({ code: UNAVAILABLE });
  await expect(post({ connectPort: servers.connect.port }, RESERVE, inJson('late'))).rejects.toThrow();
  expect(servers.coordinator.commands).toHaveLength(4);
  release();
  expect(await calls.grpc).toHaveProperty('budget');
  expect((await calls.json).status).toBe(200);
  for (const session of sessions) {
    expect((await session.ended).code).toBe(UNAVAILABLE);
    expect(session.results.map(({ result }) => result.case)).toEqual(['reserve']);
  }
  await stopped;
});

it('cuts what never ends on both within one grace', async () => {
  const { servers, calls, sessions } = await busyServers();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let isStopped = false;
  const stopped = stopServers([servers.grpc, servers.connect], GRACE_MS).then(() => {
    isStopped = true;
  });
  vi.advanceTimersByTime(GRACE_MS - 1);
  // Enough turns of the event loop for sockets to close, were they cut.
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(isStopped).toBe(false);
  // A second grace, begun after the first, would never pass: nobody moves this clock any further.
  vi.advanceTimersByTime(1);
  await stopped;
  expect(await calls.grpc).toHaveProperty('code');
  await expect(calls.json).rejects.toThrow();
  for (const session of sessions) expect((await session.ended).code).not.toBe(0);
}, 60_000);

it('answers what waits for its commit when the stop comes, and leaves it in the journal', async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const admin = postgres(database.url, { max: 2, onnotice: () => undefined });
  closers.push(() => admin.end());
  const service = await startObserved(database.url, { BUDGETD_SHUTDOWN_GRACE: '30s' });
  closers.push(() => service.stop());
  const client = connect(service.grpcPort);
  await makeBudget(client, 'acme', 100n);

  const locked = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const holding = admin.begin(async (sql) => {
    await sql`LOCK TABLE budgetd.journal IN SHARE MODE`;
    locked.resolve();
    await letGo.promise;
  });
  closers.push(() => letGo.resolve());
  await locked.promise;
  const first = client.call(ReservationService.method.reserve, reserve('grpc'));
  // Databases from one template share the numbers of their tables, so the lock is looked for in this one.
  const waitingAppends = () => admin`
    SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND relation = 'budgetd.journal'::regclass AND NOT granted`;
  await expect.poll(async () => (await waitingAppends()).length, POLL).toBe(1);
  // These wait in the queue meanwhile, for the batch after that one.
  const second = post(service, RESERVE, inJson('json'));
  const session = sessionOn(service.grpcPort, 'session');
  await expect.poll(async () => (await scrape(service)).text(), POLL).toMatch(/^budgetd_queue_depth 2$/m);

  const stopped = service.stop();
  const late = await connect(service.grpcPort).call(ServerInfoService.method.getServerInfo, {});
  expect(late).toMatchObject({ code: UNAVAILABLE });
  await expect(scrape(service)).rejects.toThrow();
  letGo.resolve();
  await holding;

  const answered = await first;
  if (!('reservation' in answered)) throw new Error(`refused: ${JSON.stringify(answered)}`);
  const inTheSession = (await session.until(1)).map(({ result }) =>
    result.case === 'reserve' ? result.value.reservation?.reservationId : result.case,
  );
  const json = (await (await second).json()) as { reservation: { reservationId: string } };
  expect((await session.ended).code).toBe(UNAVAILABLE);
  await stopped;
  const rows =
    await admin`SELECT tree || ':' || (entry ->> 'id') AS id FROM budgetd.journal_entries WHERE type = 'Granted'`;
  const told = [answered.reservation?.reservationId, json.reservation.reservationId, ...inTheSession];
  expect(rows.map(({ id }) => id).sort()).toEqual(told.sort());
});
