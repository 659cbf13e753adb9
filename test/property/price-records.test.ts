// What is written of prices is read back as it was, whole, under the hash of its text.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodePrices,
  encodePrices,
  hashedRow,
  hashedUnitRow,
  type PriceRecords,
  priceHash,
} from '../../src/lane/price-records.ts';
import { RATE_MAX, RATE_MIN } from '../../src/pricing/price-row.ts';
import { UNIT_PART_MAX } from '../../src/pricing/unit-row.ts';

const timeMs = fc.nat({ max: Number.MAX_SAFE_INTEGER - 1 });
const provider = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,10}$/);
const model = fc.stringMatching(/^[!-~]{1,20}$/);
const actor = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' });
const origin = fc.constantFrom('operator' as const, 'catalogue' as const);
const rate = fc.option(fc.bigInt(RATE_MIN, RATE_MAX), { nil: undefined });
const given = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

const row = fc
  .record({
    provider,
    model,
    effectiveFromMs: timeMs,
    until: fc.option(fc.nat({ max: 1_000 }), { nil: undefined }),
    aboveInputTokens: fc.nat(),
    band: fc.option(fc.constantFrom({ startMs: 5, endMs: 7 }, { startMs: 86_399_999, endMs: 0 }), { nil: undefined }),
    rates: fc.record({ input: fc.bigInt(RATE_MIN, RATE_MAX), output: rate, cacheWrite1h: rate, audioOutput: rate }),
    fees: fc.record({ request: rate, fileSearch: fc.constantFrom(undefined, 0n, 1n, 100_000_000n) }),
    source: actor,
    addedBy: actor,
    addedMs: timeMs,
    origin,
    flags: fc.constantFrom([], ['rounded' as const], ['inherited' as const, 'rounded' as const]),
  })
  .map(({ until, band, rates, fees, effectiveFromMs, ...rest }) => {
    const untilMs = until === undefined ? undefined : effectiveFromMs + until + 1;
    const isTime = untilMs !== undefined && Number.isSafeInteger(untilMs);
    const fee = fees.request === undefined || fees.request <= 100_000_000n ? fees.request : 1n;
    return hashedRow({
      ...rest,
      effectiveFromMs,
      ...(isTime ? { effectiveUntilMs: untilMs } : {}),
      ...(band === undefined ? {} : { band }),
      rates: given(rates) as never,
      fees: given({ ...fees, request: fee }) as never,
      mark: 'priced',
      unit: 'USD',
    });
  });

const unitRow = fc
  .record({
    unit: fc.stringMatching(/^[A-Z]{4,10}$/),
    effectiveFromMs: timeMs,
    unitMicros: fc.bigInt(1n, UNIT_PART_MAX),
    usdMicros: fc.bigInt(1n, UNIT_PART_MAX),
    source: actor,
    addedBy: actor,
    addedMs: timeMs,
  })
  .map(hashedUnitRow);

const alias = fc
  .record({
    provider,
    alias: model,
    form: fc.constantFrom('exact' as const, 'dated' as const, 'dated_compact' as const),
    model: fc.option(model, { nil: undefined }),
    targetProvider: fc.option(provider, { nil: undefined }),
    origin,
    addedBy: actor,
    addedMs: timeMs,
  })
  // Only an operator withdraws a name.
  .map((each) => (each.model === undefined ? { ...each, origin: 'operator', targetProvider: undefined } : each))
  .map(given) as fc.Arbitrary<PriceRecords['aliases'][number]>;

const records: fc.Arbitrary<PriceRecords> = fc.record({
  rows: fc.array(row, { maxLength: 3 }),
  aliases: fc.array(alias, { maxLength: 3 }),
  unitRows: fc.array(unitRow, { maxLength: 2 }),
  retirements: fc.array(fc.record({ rowHash: model, fromMs: timeMs, origin, retiredBy: actor, retiredMs: timeMs }), {
    maxLength: 2,
  }),
  versions: fc.array(fc.record({ name: model, version: model, importedMs: timeMs }), { maxLength: 2 }),
});

it('everything comes back as it was, under the hash of its text', () => {
  fc.assert(
    fc.property(records, (written) => {
      const stored = encodePrices(written);
      for (const { hash, body } of stored) expect(hash).toBe(priceHash(body));
      const read = decodePrices(stored);
      expect({ ...read, rows: read.rows.map(sorted) }).toEqual({ ...written, rows: written.rows.map(sorted) });
    }),
  );
});

const sorted = (each: PriceRecords['rows'][number]) => ({ ...each, flags: each.flags.toSorted() });
