// Lists and ServerInfo through a real client: pages, their tokens and size, and what happens without a store.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { fakeReservation, path, succeed } from '../support/fake-coordinator.ts';

const { listReservations } = ReservationService.method;
const { listBudgets } = BudgetService.method;

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: ApiClient;

beforeEach(async () => {
  servers = await startApiServers();
  client = new ApiClient(servers.grpc.port);
});

afterEach(async () => {
  client.close();
  await servers.stop();
});

describe('a list', () => {
  it('lists budgets page by page with balances as of now', async () => {
    servers.reads.paths = ['acme', 'acme/a', 'acme/b'].map(path);
    const first = await client.call(listBudgets, { parent: 'acme', pageSize: 2 });
    if ('code' in first) throw new Error(first.message);
    expect(first.budgets.map(({ budget }) => budget)).toEqual(['acme', 'acme/a']);
    const rest = { parent: 'acme', pageSize: 2, pageToken: first.nextPageToken };
    const second = await client.call(listBudgets, rest);
    expect(second).toMatchObject({ budgets: [{ budget: 'acme/b' }], nextPageToken: '' });
    expect(await client.call(listBudgets, { ...rest, recursive: true })).toMatchObject({ reason: 'INVALID_FIELD' });
    expect(servers.coordinator.caughtUp).toEqual(['acme', 'acme']);
  });

  it('catches up all trees for the first page of a list over them, and not for each page', async () => {
    servers.reads.paths = ['acme', 'beta', 'gamma'].map(path);
    const first = await client.call(listBudgets, { pageSize: 1 });
    if ('code' in first) throw new Error(first.message);
    expect(servers.coordinator.caughtUp).toEqual([undefined]);
    const rest = { pageSize: 1, pageToken: first.nextPageToken };
    expect(await client.call(listBudgets, rest)).toMatchObject({ budgets: [{ budget: 'beta' }] });
    expect(servers.coordinator.caughtUp).toEqual([undefined]);
    servers.coordinator.statusNow = { ...servers.coordinator.statusNow, leader: false };
    servers.coordinator.catchUpRefusal = { kind: 'refusal', reason: 'NOT_LEADER', message: 'standby' };
    expect(await client.call(listBudgets, rest)).toMatchObject({ reason: 'NOT_LEADER' });
  });

  it('lists roots without the trees that are out of service', async () => {
    servers.reads.paths = ['acme', 'broken'].map(path);
    servers.coordinator.answer = (command) =>
      command.treeId === 'broken'
        ? { kind: 'refusal', reason: 'TREE_QUARANTINED', message: 'out of service' }
        : succeed(command);
    expect(await client.call(listBudgets, {})).toMatchObject({ budgets: [{ budget: 'acme' }], nextPageToken: '' });
    expect(await client.call(listBudgets, { parent: 'broken' })).toMatchObject({ reason: 'TREE_QUARANTINED' });
  });

  it('lists reservations page by page', async () => {
    servers.reads.reservations = ['1', '2', '3'].map((n) => fakeReservation(`06fk2xw8q4000000000${n}`));
    const first = await client.call(listReservations, { budget: 'acme', pageSize: 2 });
    if ('code' in first) throw new Error(first.message);
    expect(first.reservations.map(({ reservationId }) => reservationId)).toEqual([
      'acme:06fk2xw8q40000000001',
      'acme:06fk2xw8q40000000002',
    ]);
    const rest = { budget: 'acme', pageSize: 2, pageToken: first.nextPageToken };
    expect(await client.call(listReservations, rest)).toMatchObject({
      reservations: [{ reservationId: 'acme:06fk2xw8q40000000003' }],
      nextPageToken: '',
    });
    expect(await client.call(listReservations, { ...rest, budget: 'other' })).toMatchObject({
      reason: 'INVALID_FIELD',
    });
  });

  it('cuts a page that clients would not take', async () => {
    const labels = Array.from({ length: 32 }, (_, n) => [`label-${n}`, 'x'.repeat(256)] as const);
    servers.reads.reservations = Array.from({ length: 600 }, (_, n) =>
      fakeReservation(`06fk2xw8q4${String(n).padStart(12, '0')}`, { labels }),
    );
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await client.call(listReservations, { budget: 'acme', pageSize: 1_000, pageToken });
      if ('code' in page) throw new Error(page.message);
      seen.push(...page.reservations.map(({ reservationId }) => reservationId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen).toEqual(servers.reads.reservations.map(({ id }) => `acme:${id}`));
  });

  it('does not list what does not exist, nor what it cannot catch up with or read', async () => {
    const missing: Refusal = { kind: 'refusal', reason: 'BUDGET_NOT_FOUND', message: 'no such budget' };
    servers.coordinator.answer = () => missing;
    expect(await client.call(listReservations, { budget: 'acme' })).toMatchObject({ reason: 'BUDGET_NOT_FOUND' });
    expect(await client.call(listBudgets, { parent: 'acme' })).toMatchObject({ reason: 'BUDGET_NOT_FOUND' });
    servers.reads.failure = Object.assign(new Error('down'), { name: 'StoreUnavailableError' });
    expect(await client.call(listBudgets, {})).toMatchObject({ code: 14, reason: 'STORE_UNAVAILABLE' });
    servers.reads.failure = Object.assign(new Error('too much'), { name: 'StoreTimeoutError' });
    expect(await client.call(listBudgets, {})).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    servers.reads.failure = new Error('a bug');
    expect(await client.call(listBudgets, {})).toMatchObject({ code: 13 });
    servers.coordinator.catchUpRefusal = { kind: 'refusal', reason: 'NOT_LEADER', message: 'standby' };
    expect(await client.call(listReservations, { budget: 'acme' })).toMatchObject({ reason: 'NOT_LEADER' });
  });

  it('tells how it is, with the store or without', async () => {
    const info = {
      version: '1.2.3',
      leader: true,
      leaderAddress: '127.0.0.1:50051',
      leaderEpoch: 3n,
      projectionLag: { seconds: 0n, nanos: 120_000_000 },
      databaseKind: 'embedded',
      queueDepth: 4n,
      waitingCount: 3n,
      quarantinedTrees: ['broken'],
    };
    const up = await client.call(ServerInfoService.method.getServerInfo, {});
    expect(up).toMatchObject({ ...info, databaseVersion: '18.4', schemaVersion: 2, uncappedBudgets: ['lab', 'acme'] });
    servers.reads.failure = Object.assign(new Error('down'), { name: 'StoreUnavailableError' });
    const down = await client.call(ServerInfoService.method.getServerInfo, {});
    expect(down).toMatchObject({ ...info, databaseVersion: '', schemaVersion: 0, uncappedBudgets: [] });
  });
});
