// An estimate is an upper bound: for every row of the bundled catalogue, whatever usage within what the call declared comes back,
// at whatever time of day, served by whichever candidate. And it never falls when the call grows.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type EstimateOptions, priceCall } from '../../src/pricing/estimate.ts';
import type { ModelCall, ModelName } from '../../src/pricing/model-call.ts';
import { buildPriceBook } from '../../src/pricing/price-book.ts';
import { type HashedPriceRow, hashPriceRow } from '../../src/pricing/price-row.ts';
import { priceUsage } from '../../src/pricing/price-usage.ts';
import type { Usage } from '../../src/pricing/usage/usage.ts';
import { bundledCatalogue } from '../support/price-catalogue.ts';
import { hashOf, START_MS, unitRow, usageOf } from '../support/price-rows.ts';

const { book: catalogue } = await bundledCatalogue();
const book = buildPriceBook({
  rows: catalogue.rows,
  aliases: catalogue.aliases,
  unitRows: [unitRow()],
  retirements: [],
});
const ROWS = catalogue.rows;
const DAY_MS = 86_400_000;

/** What may be asked for besides; each is known at every provider, or at none. */
const asked = fc.record(
  {
    cacheTtl: fc.constantFrom('5m', '1h', '24h', 'unknown'),
    serviceTier: fc.constantFrom('standard', 'flex', 'priority', 'auto', 'batch'),
    choices: fc.integer({ min: 1, max: 128 }),
  },
  { requiredKeys: [] },
);
const options = fc.constantFrom<EstimateOptions>(
  { unit: 'USD', outputTokensDefault: 4_096 },
  { unit: 'INR', outputTokensDefault: 4_096 },
);
/** Sizes around the tiers of the catalogue, and any other. */
const size = fc.oneof(
  fc.integer({ min: 0, max: 2_000_000 }),
  fc.constantFrom(0, 1, 128_000, 128_001, 199_999, 200_000, 200_001, 271_999, 272_000, 272_001),
);
/** How much of what was declared is used, and how it is cut into buckets. */
const cuts = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 12, maxLength: 12 });

interface Play {
  readonly call: ModelCall;
  readonly served: ModelName;
  readonly usage: Usage;
}

/** Cuts so much of `whole` into as many parts as there are weights; together they are at most the whole. */
function cut(whole: bigint, usedPermille: number, weights: readonly number[]): readonly bigint[] {
  const used = (whole * BigInt(usedPermille)) / 1_000n;
  const sum = BigInt(weights.reduce((a, b) => a + b, 0)) || 1n;
  const parts = weights.map((weight) => (used * BigInt(weight)) / sum);
  // What the cuts leave over goes to the first part, so that the whole can be reached.
  return parts.map((part, index) => (index === 0 ? part + used - parts.reduce((a, b) => a + b, 0n) : part));
}

const isPriced = (row: HashedPriceRow, name: keyof HashedPriceRow['rates']) => row.rates[name] !== undefined;

/** A call to the model of a row and usage within it, of the buckets that the row prices. */
function playOf(
  row: HashedPriceRow,
  inputTokens: number,
  outputTokensMax: number,
  ask: object,
  weights: readonly number[],
): Play {
  const { provider, model } = row;
  const hasOutput = isPriced(row, 'output');
  const call: ModelCall = {
    candidates: [{ provider, model }],
    inputTokens,
    outputTokensMax: hasOutput ? outputTokensMax : 0,
    ...(isPriced(row, 'audioInput') ? { media: [{ kind: 'audio' as const, inputTokensMax: 5_000 }] } : {}),
    ...(isPriced(row, 'audioOutput') ? { audioOutput: true } : {}),
    ...(row.fees.webSearch === undefined
      ? {}
      : { serverTools: [{ kind: 'web_search' as const, usesMax: 3, inputTokensMax: 100 }] }),
    ...ask,
  };
  const isHour = call.cacheTtl !== undefined && call.cacheTtl !== '5m';
  const hasWrites = isPriced(row, 'cacheWrite5m');
  const extra = call.serverTools === undefined ? 0n : 100n;
  const w = (index: number) => weights[index] ?? 0;
  const [uncachedInput = 0n, cacheRead = 0n, cacheWrite5m = 0n, cacheWrite1h = 0n] = cut(
    BigInt(inputTokens) + extra,
    w(0),
    [w(1), w(2), hasWrites && !isHour ? w(3) : 0, hasWrites && isHour ? w(4) : 0],
  );
  const audio = isPriced(row, 'audioInput') ? 5_000n : 0n;
  const [audioInput = 0n, audioCacheRead = 0n] = cut(audio, w(5), [w(6), w(7)]);
  const outputs = BigInt(call.outputTokensMax ?? 0) * BigInt(call.choices ?? 1);
  const [output = 0n, audioOutput = 0n] = cut(outputs, w(8), [w(9), call.audioOutput === true ? w(10) : 0]);
  const webSearches = call.serverTools === undefined ? 0n : BigInt(w(11) % 4);
  // Served as was asked, at the listed price, or nobody says how.
  const servedTiers = [
    {},
    { serviceTiers: ['standard'] },
    call.serviceTier === undefined ? {} : { serviceTiers: [call.serviceTier] },
  ];
  const usage = usageOf({
    ...servedTiers[w(11) % 3],
    uncachedInput,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    audioInput,
    audioCacheRead,
    output,
    audioOutput,
    webSearches,
  });
  return { call, served: { provider, model }, usage };
}

/** Plays one call; whether it had a price. */
function holds({ call, served, usage }: Play, option: EstimateOptions, atMs: number): boolean {
  const { price, unknown } = priceCall(book, call, START_MS, option);
  if (price === undefined) {
    // What is asked for is not sold there; nothing else may be missing.
    expect(unknown).toMatchObject({ why: 'service_tier' });
    return false;
  }
  const { cost, problem } = priceUsage(book, price.pins, served, usage, atMs);
  expect(problem).toBeUndefined();
  if (cost !== undefined && cost.micros > price.maxMicros) {
    expect({ cost: cost.micros, call, usage }).toEqual({ max: price.maxMicros });
  }
  return true;
}

it('bounds the cost of any usage within it, for every row of the catalogue', () => {
  expect(ROWS.length).toBeGreaterThan(1_700);
  const { seed = 0 } = fc.readConfigureGlobal();
  let priced = 0;
  for (const [index, row] of ROWS.entries()) {
    fc.assert(
      fc.property(
        size,
        size,
        asked,
        cuts,
        options,
        fc.integer({ min: 0, max: DAY_MS }),
        (input, output, ask, weights, option, offset) => {
          if (holds(playOf(row, input, output, ask, weights), option, START_MS + offset)) priced += 1;
        },
      ),
      // Another seed for each row: with one, all rows would see the same few cases.
      { numRuns: 8, seed: seed + index },
    );
  }
  expect(priced).toBeGreaterThan(ROWS.length * 2);
});

it('bounds it for every row when all of it is used, in each bucket alone', () => {
  for (const row of ROWS) {
    for (const cacheTtl of [undefined, '1h']) {
      for (let bucket = 1; bucket <= 4; bucket += 1) {
        for (const audioBucket of [6, 7]) {
          const weights = Array.from({ length: 12 }, (_, index) =>
            [0, 5, 8].includes(index)
              ? 1_000
              : index === bucket || index === audioBucket || index === 9 || index === 11
                ? 3
                : 0,
          );
          const play = playOf(row, 300_000, 10_000, cacheTtl === undefined ? {} : { cacheTtl }, weights);
          expect(holds(play, { unit: 'USD', outputTokensDefault: 1 }, START_MS + 2 * 3_600_000)).toBe(true);
        }
      }
    }
  }
});

it('bounds it whichever of the candidates serves', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...ROWS), { minLength: 1, maxLength: 6 }),
      size,
      fc.nat(),
      cuts,
      options,
      (rows, input, pick, weights, option) => {
        const priced = rows.filter((row) => isPriced(row, 'output'));
        const row = priced[pick % Math.max(1, priced.length)];
        if (row === undefined) return;
        const play = playOf({ ...row, fees: {}, rates: { input: 0n, output: 0n } }, input, 1_000, {}, weights);
        holds({ ...play, call: { ...play.call, candidates: priced } }, option, START_MS);
      },
    ),
    { numRuns: 2_000 },
  );
});

const maxMicros = (call: ModelCall) =>
  priceCall(book, call, START_MS, { unit: 'USD', outputTokensDefault: 4_096 }).price?.maxMicros;

it('never falls when the call grows', () => {
  const grown = fc.constantFrom<(call: ModelCall, more: number) => ModelCall>(
    (call, more) => ({ ...call, requestBytes: (call.requestBytes ?? 0) + more }),
    (call, more) => ({ ...call, outputTokensMax: (call.outputTokensMax ?? 0) + more }),
    (call) => ({ ...call, choices: (call.choices ?? 1) + 1 }),
    (call) => ({ ...call, hasTools: true }),
    (call) => ({ ...call, cacheTtl: '1h' }),
    (call) => ({ ...call, candidates: [...call.candidates, { provider: 'openai', model: 'gpt-4o' }] }),
    (call, more) => ({ ...call, media: [{ kind: 'image', inputTokensMax: more }] }),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...ROWS),
      size,
      size,
      fc.nat({ max: 300_000 }),
      grown,
      (row, requestBytes, output, more, grow) => {
        const outputTokensMax = isPriced(row, 'output') ? output : 0;
        const call: ModelCall = { candidates: [row], requestBytes, outputTokensMax };
        const before = maxMicros(call);
        const after = maxMicros(grow(call, more));
        expect(before).toBeDefined();
        if (after !== undefined && before !== undefined) expect(after >= before).toBe(true);
      },
    ),
    { numRuns: 3_000 },
  );
});

it('keeps its price whatever is added to the book later', () => {
  const rate = fc.bigInt({ min: 100n, max: 10_000_000n });
  fc.assert(
    fc.property(
      fc.constantFrom(...ROWS),
      size,
      rate,
      rate,
      fc.boolean(),
      cuts,
      (row, input, inputRate, outputRate, isOperators, weights) => {
        const { call, served, usage } = playOf(row, input, 1_000, {}, weights);
        const { price } = priceCall(book, call, START_MS, { unit: 'USD', outputTokensDefault: 1 });
        const added = hashPriceRow(
          {
            ...row,
            origin: isOperators ? 'operator' : 'catalogue',
            rates: { input: inputRate, output: outputRate },
            effectiveFromMs: START_MS,
            addedMs: START_MS + 1,
            source: 'later',
          },
          hashOf,
        );
        const later = buildPriceBook({
          rows: [...ROWS.filter(({ model }) => model === row.model), added],
          aliases: [],
          unitRows: [],
          retirements: [],
        });
        if (price === undefined) throw new Error('no price');
        const before = priceUsage(book, price.pins, served, usage, START_MS);
        expect(priceUsage(later, price.pins, served, usage, START_MS)).toEqual(before);
      },
    ),
    { numRuns: 500 },
  );
});
