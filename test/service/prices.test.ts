// The price book on real services over one PostgreSQL: the catalogue comes with the first start, an operator's correction wins and
// stays through restarts and takeovers, what is in force decides on reservations, and a standby says who leads.
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceError } from '@grpc/grpc-js';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import {
  type AddPriceRequestSchema,
  PriceOrigin,
  type PriceRow,
  PriceService,
} from '../../src/gen/budgetd/v1/price_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { createRpcClient, type RpcClient } from '../scenarios/runner/rpc-client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';

const { addPrice, getCatalogue, listPrices, quote, retirePrice } = PriceService.method;
const WITH_CATALOGUE = { BUDGETD_PRICE_CATALOGUE: 'on' };
// A busy machine may take its time; a takeover after a kill waits for the lease to run out.
const TAKEOVER_MS = 30_000;

let database: TestDatabase;
let first: ServiceUnderTest;
let second: ServiceUnderTest;
const clients: RpcClient[] = [];

function connect(service: ServiceUnderTest): RpcClient {
  const rpc = createRpcClient(service.grpcPort);
  clients.push(rpc);
  return rpc;
}

async function serving(service: ServiceUnderTest): Promise<RpcClient> {
  const rpc = connect(service);
  const untilMs = performance.now() + TAKEOVER_MS;
  // It serves before it has its prices.
  const hasBook = async () =>
    ((await rpc.call(ServerInfoService.method.getServerInfo, {})).prices?.rowCount ?? 0n) > 0n;
  while ((await rpc.health()) !== 'SERVING' || !(await hasBook())) {
    if (performance.now() > untilMs) throw new Error(`it does not serve\n${service.logTail()}`);
    await delay(20);
  }
  return rpc;
}

beforeAll(async () => {
  database = await createDatabase();
  first = await ServiceUnderTest.start({ databaseUrl: database.url, environment: WITH_CATALOGUE });
});

afterAll(async () => {
  for (const rpc of clients) rpc.close();
  await Promise.all([first?.kill(), second?.kill()]);
  await database?.drop();
});

const call = {
  candidates: [{ provider: 'openai', model: 'gpt-4o' }],
  size: { case: 'inputTokens' as const, value: 1_000_000n },
  maxOutputTokens: 0n,
};
const correction: MessageInitShape<typeof AddPriceRequestSchema> = {
  row: {
    provider: 'openai',
    model: 'gpt-4o',
    rates: { input: 1_750_000n, output: 7_000_000n },
    source: 'our contract',
  },
};

const quoted = async (rpc: RpcClient) => (await rpc.call(quote, { modelCall: call })).maxMicros;

async function rowsOf(rpc: RpcClient, provider = 'openai', model = 'gpt-4o'): Promise<readonly PriceRow[]> {
  return (await rpc.call(listPrices, { provider, model })).rows;
}

it('the first start imports the catalogue, and says of what', async () => {
  const rpc = await serving(first);
  expect(await quoted(rpc)).toBe(2_500_000n);
  const [row] = await rowsOf(rpc);
  expect(row).toMatchObject({ origin: PriceOrigin.CATALOGUE, addedBy: 'catalogue' });
  expect(row?.source).toMatch(/^@pydantic\/genai-prices \d/);
  const { status, leftOutCounts, leftOut, nextPageToken } = await rpc.call(getCatalogue, { pageSize: 5 });
  expect(status).toMatchObject({ catalogue: '@pydantic/genai-prices', stale: false });
  expect(status?.catalogueVersion).toMatch(/^\d+\.\d+\.\d+/);
  expect(status?.rowCount).toBeGreaterThan(1_000n);
  expect(leftOut).toHaveLength(5);
  expect(nextPageToken).not.toBe('');
  expect(leftOutCounts.map(({ reason }) => reason)).toContain('empty_record');
  const { prices } = await rpc.call(ServerInfoService.method.getServerInfo, {});
  expect(prices).toMatchObject({ catalogueVersion: status?.catalogueVersion, rowCount: status?.rowCount });
});

it("an operator's correction wins over the catalogue, and is what reservations are priced by", async () => {
  const rpc = await serving(first);
  const { row } = await rpc.call(addPrice, correction);
  expect(row).toMatchObject({ origin: PriceOrigin.OPERATOR, addedBy: 'anonymous' });
  expect(await quoted(rpc)).toBe(1_750_000n);
  const budget = { budget: 'acme', limits: [{ amountMicros: 10_000_000n }] };
  await rpc.call(BudgetService.method.createBudget, { budget, idempotencyKey: 'make' });
  const { reservation } = await rpc.call(ReservationService.method.reserve, {
    budget: 'acme',
    idempotencyKey: 'r1',
    modelCall: call,
  });
  expect(reservation).toMatchObject({ grantedMicros: 1_750_000n, price: { pins: { rowHashes: [row?.rowHash] } } });
  const unknown = { ...call, candidates: [{ provider: 'openai', model: 'gpt-999' }] };
  const refused = rpc.call(ReservationService.method.reserve, {
    budget: 'acme',
    idempotencyKey: 'r2',
    modelCall: unknown,
  });
  await expect(refused).rejects.toMatchObject({ code: 9 });
  const { prices } = await rpc.call(ServerInfoService.method.getServerInfo, {});
  expect(prices).toMatchObject({
    unknownPriceCount: 1n,
    unknownPrices: [{ budget: 'acme', model: { provider: 'openai', model: 'gpt-999' }, count: 1n }],
  });
});

it('a restart keeps the correction, and adds nothing', async () => {
  const before = await rowsOf(await serving(first));
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  const count = async () => Number((await sql`SELECT count(*) FROM budgetd.price_records`)[0]?.['count']);
  const countBefore = await count();
  await first.restart();
  const rpc = await serving(first);
  expect(await quoted(rpc)).toBe(1_750_000n);
  expect(await rowsOf(rpc)).toEqual(before);
  expect((await rpc.call(addPrice, correction)).row?.rowHash).toBe(
    before.find(({ origin }) => origin === PriceOrigin.OPERATOR)?.rowHash,
  );
  expect(await count()).toBe(countBefore);
  // For people who look with SQL.
  const listed =
    await sql`SELECT input_rate, origin FROM budgetd.price_list WHERE provider = 'openai' AND model = 'gpt-4o' ORDER BY origin`;
  expect(listed.map((row) => [row['origin'], row['input_rate']])).toEqual([
    ['catalogue', '2500000'],
    ['operator', '1750000'],
  ]);
  await sql.end();
});

it('a standby refuses, takes over with the book as it is, and what it adds the other one finds', async () => {
  second = await ServiceUnderTest.start({ databaseUrl: database.url, environment: WITH_CATALOGUE });
  const standby = connect(second);
  for (const asking of [
    standby.call(addPrice, correction),
    standby.call(listPrices, {}),
    standby.call(quote, { modelCall: call }),
  ]) {
    await expect(asking).rejects.toSatisfy(
      (error: ServiceError) => error.code === 14 && error.details.includes('not the leader'),
    );
  }
  await first.stop();
  const leader = await serving(second);
  expect(await quoted(leader)).toBe(1_750_000n);
  const row = (await rowsOf(leader)).find(({ origin }) => origin === PriceOrigin.OPERATOR);
  await leader.call(retirePrice, { rowHash: row?.rowHash ?? '' });
  // The catalogue counts again.
  expect(await quoted(leader)).toBe(2_500_000n);
  await first.restart();
  await second.stop();
  const back = await serving(first);
  expect(await quoted(back)).toBe(2_500_000n);
  expect((await rowsOf(back)).find(({ origin }) => origin === PriceOrigin.OPERATOR)?.retiredBy).toBe('anonymous');
});
