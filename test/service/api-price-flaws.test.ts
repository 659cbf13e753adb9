// What may be added to the price book and ended in it without taking the price of a model away, through a real client.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type PriceRow, PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { FAKE_NOW_MS } from '../support/fake-coordinator.ts';
import { at, gptCall as call, done, fieldsOf, gpt } from '../support/price-calls.ts';

const { addPrice, quote, retirePrice } = PriceService.method;

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

async function add(more: object = {}): Promise<PriceRow> {
  const { row } = done(await client.call(addPrice, { row: { ...gpt, ...more } }));
  if (row === undefined) throw new Error('no row');
  return row;
}

const night = { band: { start: { seconds: 59_400n }, end: { seconds: 1_800n } } };
const refused = (field: string) => ({ code: 3, reason: 'INVALID_FIELD', fields: [field] });
const tryAdd = async (more: object) => {
  const reply = await client.call(addPrice, { row: { ...gpt, ...more } });
  return { ...reply, fields: fieldsOf(reply) };
};

it('refuses a row that would leave the model without a price, and takes it beside the others', async () => {
  expect(await tryAdd({ aboveInputTokens: 200_000n })).toMatchObject(refused('row.above_input_tokens'));
  expect(await tryAdd(night)).toMatchObject(refused('row.band'));
  const base = await add({ effectiveFromTime: at(FAKE_NOW_MS - 1_000) });
  // Before the base there is nothing.
  const early = { effectiveFromTime: at(FAKE_NOW_MS - 2_000), aboveInputTokens: 200_000n };
  expect(await tryAdd(early)).toMatchObject(refused('row.above_input_tokens'));
  const large = await add({ aboveInputTokens: 200_000n });
  expect(await tryAdd({ ...night, aboveInputTokens: 300_000n })).toMatchObject(refused('row.band'));
  await add(night);
  const overlapping = { band: { start: { seconds: 0n }, end: { seconds: 3_600n } } };
  expect(await tryAdd(overlapping)).toMatchObject(refused('row.band'));
  expect(done(await client.call(quote, { modelCall: call })).maxMicros).toBe(3_500n);
  expect(await add({ aboveInputTokens: 200_000n })).toEqual(large);
  expect(base.rowHash).not.toBe(large.rowHash);
});

it('ends no row that the others need', async () => {
  const base = await add();
  const large = await add({ aboveInputTokens: 200_000n });
  const retire = async ({ rowHash }: PriceRow) => {
    const reply = await client.call(retirePrice, { rowHash });
    return { ...reply, fields: fieldsOf(reply) };
  };
  expect(await retire(base)).toMatchObject(refused('row_hash'));
  expect(done(await client.call(quote, { modelCall: call })).maxMicros).toBe(3_500n);
  done(await client.call(retirePrice, { rowHash: large.rowHash }));
  done(await client.call(retirePrice, { rowHash: base.rowHash }));
});
