// What the price book has, through a real client: it is given again whatever is refused where it is new, and quotes take any unit that
// a tree may count in.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { unitRowAddition } from '../../src/lane/price-additions.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { gptCall as call, done, fieldsOf, gpt } from '../support/price-calls.ts';

const { addPrice, addPriceAlias, addUnitPrice, listUnitPrices, quote } = PriceService.method;

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: ApiClient;

beforeEach(async () => {
  servers = await startApiServers({
    tokens: [{ name: 'root', role: 'admin', secret: { plaintext: 'admin-secret' } }],
  });
  client = new ApiClient(servers.grpc.port, 'admin-secret');
});
afterEach(async () => {
  client.close();
  await servers.stop();
});

const add = async (more: object = {}) => done(await client.call(addPrice, { row: { ...gpt, ...more } })).row;

const worth = { unitMicros: 1n, usdMicros: 1n, source: 'bank' };

/** Adds what a unit is worth as the book has it that was written when its case was not looked at. */
function addUnitRow(unit: string): Promise<unknown> {
  return servers.coordinator.prices.change((now, addedMs) =>
    unitRowAddition(now, { ...worth, unit, effectiveFromMs: addedMs, addedBy: 'root', addedMs }, true),
  );
}

it('a unit that is another by case alone and has a row is given again, and may get its next row', async () => {
  await addUnitRow('usd');
  const unitPrice = { ...worth, unit: 'usd' };
  expect(done(await client.call(addUnitPrice, { unitPrice })).unitPrice).toMatchObject(unitPrice);
  expect(done(await client.call(listUnitPrices, {})).unitPrices).toHaveLength(1);
  const next = { ...unitPrice, usdMicros: 2n };
  expect(done(await client.call(addUnitPrice, { unitPrice: next })).unitPrice).toMatchObject(next);
  const refused = await client.call(addUnitPrice, { unitPrice: { ...unitPrice, unit: 'Usd' } });
  expect(fieldsOf(refused)).toEqual(['unit_price.unit']);
});

it('a name that could not be added any more is given again', async () => {
  await add();
  const alias = { provider: 'openai', alias: 'chat', model: 'gpt-4o' };
  const first = done(await client.call(addPriceAlias, { alias })).alias;
  await add({ model: 'chat' });
  expect(done(await client.call(addPriceAlias, { alias })).alias).toEqual(first);
  await add({ model: 'gpt-5' });
  const other = await client.call(addPriceAlias, { alias: { ...alias, model: 'gpt-5' } });
  expect(fieldsOf(other)).toEqual(['alias.alias']);
});

it('a quote takes any unit that a tree may count in, whatever its case', async () => {
  await add();
  const inUsd = () => client.call(quote, { modelCall: call, unit: 'usd' });
  expect(await inUsd()).toMatchObject({ reason: 'PRICE_UNKNOWN', metadata: { unit: 'usd' } });
  await addUnitRow('usd');
  expect(done(await inUsd())).toMatchObject({ maxMicros: 3_500n, unit: 'usd' });
});
