// What a reservation pins when it is extended by calls: each row once, the very same pins where nothing is new, and never without end.
import { beforeEach, expect, test } from 'vitest';
import { buildPriceBook, type PriceAlias } from '../../../src/pricing/price-book.ts';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { callOf, testPricing, testRow } from '../../support/test-prices.ts';

let driver: KernelDriver;

beforeEach(() => {
  driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100_000 }));
});

const reserve = (call = callOf('openai/gpt-4o')) => driver.run(driver.make.reserve('t', 0, { call }));

test('an Extend by a call of the same models keeps the pins as they are', () => {
  const { id, price } = granted(reserve()).reservation;
  for (let i = 0; i < 3; i += 1) {
    granted(driver.run(driver.make.extend(id, 0, { call: callOf('openai/gpt-4o') })));
    expect(driver.reservation(id).price?.pins).toBe(price?.pins);
  }
});

test('a reservation pins 256 rows at the most, and 64 aliases', () => {
  const tiers = Array.from({ length: 32 }, (_, tier) => tier * 1_000);
  const rows = Array.from({ length: 9 }, (_, model) =>
    tiers.map((aboveInputTokens) =>
      testRow(`x/m${model}`, { input: 100n, output: 100n }, { aboveInputTokens, source: `${model}` }),
    ),
  ).flat();
  const aliases = Array.from(
    { length: 65 },
    (_, at): PriceAlias => ({
      provider: 'x',
      alias: `a${at}`,
      form: 'exact',
      model: 'm0',
      origin: 'operator',
      addedBy: 'a test',
      addedMs: 0,
    }),
  );
  const book = buildPriceBook({ rows, aliases, unitRows: [], retirements: [] });
  driver.pricing = testPricing(() => book);
  const extend = (id: string, name: string) => driver.run(driver.make.extend(id, 0, { call: callOf(name) }));
  const { id } = granted(reserve(callOf('x/m0'))).reservation;
  for (let model = 1; model < 8; model += 1) granted(extend(id, `x/m${model}`));
  expect(driver.reservation(id).price?.pins.rowHashes).toHaveLength(256);
  expect(refused(extend(id, 'x/m8'))).toMatchObject({ reason: 'INVALID_FIELD', fields: [{ field: 'model_call' }] });
  granted(extend(id, 'x/m7'));
  for (let at = 0; at < 64; at += 1) granted(extend(id, `x/a${at}`));
  expect(driver.reservation(id).price?.pins.aliases).toHaveLength(64);
  expect(refused(extend(id, 'x/a64')).reason).toBe('INVALID_FIELD');
  granted(extend(id, 'x/a63'));
  const candidates = Array.from({ length: 9 }, (_, model) => ({ provider: 'x', model: `m${model}` }));
  expect(refused(reserve(callOf('x/m0', { candidates }))).reason).toBe('INVALID_FIELD');
});
