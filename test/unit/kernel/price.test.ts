// Requests by a model call and settlements by reported usage, as the kernel decides them.
import { beforeEach, describe, expect, test } from 'vitest';
import { priceHash } from '../../../src/lane/price-records.ts';
import type { ModelName } from '../../../src/pricing/model-call.ts';
import { buildPriceBook } from '../../../src/pricing/price-book.ts';
import { type HashedUnitRow, hashUnitRow } from '../../../src/pricing/unit-row.ts';
import { countedReport, rawReport, type UsageReportResult } from '../../../src/pricing/usage/usage-report.ts';
import { decodeEntries, encodeEntries } from '../../../src/store/entry-codec.ts';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { callOf, testBook, testPricing, testRow, usageOf } from '../../support/test-prices.ts';

let driver: KernelDriver;

beforeEach(() => {
  driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100_000 }));
});

function reserve(call = callOf('openai/gpt-4o'), options: { readonly key?: string } = {}) {
  return driver.run(driver.make.reserve('t', 0, { call, ...options }));
}

describe('a Reserve by a model call', () => {
  test('holds what the call can cost at the most, and says what it paid for', () => {
    const { reservation } = granted(reserve());
    // 1,000 x 2.5 + 100 x 10 micro-dollars.
    expect(reservation.figures).toMatchObject({ requestedMicros: 3_500n, grantedMicros: 3_500n, heldMicros: 3_500n });
    expect(reservation.price).toMatchObject({ inputTokensMax: 1_000n, outputTokensMax: 100, outputIsDefault: false });
    expect(reservation.price?.pins.rowHashes).toHaveLength(1);
    expect(driver.reservation(reservation.id).price).toEqual(reservation.price);
  });

  test('tells the maximum that the caller has to send where it names none', () => {
    const { candidates } = callOf('openai/gpt-4o').call as { readonly candidates: readonly object[] };
    const { reservation } = granted(reserve({ kind: 'call', call: { candidates, inputTokens: 0 } }));
    expect(reservation.price).toMatchObject({ outputTokensMax: 4_096, outputIsDefault: true });
    expect(reservation.figures.heldMicros).toBe(40_960n);
  });

  test('is granted whole or not at all', () => {
    driver.hold('t', 97_000);
    expect(refused(reserve())).toMatchObject({
      reason: 'CAPACITY_HELD',
      requestedMicros: 3_500n,
      availableMicros: 3_000n,
    });
  });

  test('without a price is refused with the model, and may be tried again once there is one', () => {
    const refusal = refused(reserve(callOf('openai/gpt-99'), { key: 'k' }));
    expect(refusal).toMatchObject({
      reason: 'PRICE_UNKNOWN',
      budget: 't',
      unpriced: { provider: 'openai', model: 'gpt-99', moreCount: 0 },
    });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Refused', key: undefined });
    driver.pricing = testPricing(() => testBook([testRow('openai/gpt-99', { input: 1_000_000n, output: 1_000_000n })]));
    expect(granted(reserve(callOf('openai/gpt-99'), { key: 'k' })).reservation.figures.heldMicros).toBe(1_100n);
  });

  test('is judged for its price after what it looks like, and before money', () => {
    const { make } = driver;
    driver.run(make.create('t/a', { limits: 0, shape: { maxLeaseMs: 1_000 } }));
    const lease = make.reserve('t/a', 0, { call: callOf('openai/gpt-99'), ttlMs: 2_000 });
    expect(refused(driver.run(lease)).reason).toBe('MAX_LEASE_EXCEEDED');
    const price = make.reserve('t/a', 0, { call: callOf('openai/gpt-99'), ttlMs: 1_000 });
    expect(refused(driver.run(price)).reason).toBe('PRICE_UNKNOWN');
    const money = make.reserve('t/a', 0, { call: callOf('openai/gpt-4o'), ttlMs: 1_000 });
    expect(refused(driver.run(money)).reason).toBe('EXCEEDS_LIMIT');
  });

  test('of a free model costs nothing, also where nothing is left', () => {
    driver.run(driver.make.settle(driver.hold('t', 100_000), 100_000));
    expect(granted(reserve(callOf('local/free'))).reservation.figures.heldMicros).toBe(0n);
  });

  test('falls back to a cheaper model where its budget says so', () => {
    const { make } = driver;
    driver.run(make.create('d', { limits: 1_000, enforcement: { onExhaustion: 'degrade' } }));
    driver = new KernelDriver('d');
    driver.run(driver.make.create('d', { limits: 1_000, enforcement: { onExhaustion: 'degrade' } }));
    const alternatives = [
      { label: 'unknown', maxMicros: 0n, call: callOf('openai/gpt-99') },
      { label: 'dearer', maxMicros: 0n, call: callOf('anthropic/claude-sonnet-4') },
      { label: 'mini', maxMicros: 0n, call: callOf('openai/gpt-4o-mini') },
    ];
    const { reservation } = granted(
      driver.run(driver.make.reserve('d', 0, { call: callOf('openai/gpt-4o'), alternatives })),
    );
    expect(reservation).toMatchObject({ alternative: 'mini', figures: { heldMicros: 210n } });
    expect(
      granted(driver.run(driver.make.settle(reservation.id, undefined, { usage: usageOf(1_000, 100) }))).reservation
        .priced,
    ).toMatchObject({
      model: 'gpt-4o-mini',
      micros: 210n,
    });
  });

  test('waits with its price, and is granted at it', () => {
    const own = driver.hold('t', 99_000);
    expect(
      driver.run(driver.make.reserve('t', 0, { call: callOf('openai/gpt-4o'), waitMs: 60_000, key: 'w' })).kind,
    ).toBe('queued');
    driver.pricing = testPricing(() =>
      testBook([testRow('openai/gpt-4o', { input: 9_000_000n, output: 9_000_000n }, { addedMs: 1 })]),
    );
    driver.run(driver.make.release(own));
    const entry = driver.journal.at(-1);
    if (entry?.type !== 'Granted') throw new Error('nothing was granted');
    expect(entry.reservation.figures.heldMicros).toBe(3_500n);
    expect(entry.reservation.price?.outputTokensMax).toBe(100);
  });
});

describe('an Extend by a model call', () => {
  test('adds what the call can cost, and pins its rows beside the others', () => {
    const { id } = granted(reserve()).reservation;
    const { reservation } = granted(driver.run(driver.make.extend(id, 0, { call: callOf('openai/gpt-4o-mini') })));
    expect(reservation.figures.heldMicros).toBe(3_710n);
    expect(reservation.price).toMatchObject({ inputTokensMax: 2_000n });
    expect(reservation.price?.pins.rowHashes).toHaveLength(2);
    expect(driver.reservation(id).price).toEqual(reservation.price);
  });

  test('is refused where both together pass 2^53-1 tokens of input, also where it costs nothing', () => {
    const media = [{ kind: 'image', inputTokensMax: Number.MAX_SAFE_INTEGER - 1_000 }] as const;
    const huge = callOf('local/free', { media });
    const { id, price } = granted(reserve(huge)).reservation;
    expect(price?.inputTokensMax).toBe(2n ** 53n - 1n);
    const refusal = refused(driver.run(driver.make.extend(id, 0, { call: callOf('local/free', { inputTokens: 1 }) })));
    expect(refusal).toMatchObject({ reason: 'INVALID_FIELD', fields: [{ field: 'model_call' }] });
    expect(driver.reservation(id).price).toEqual(price);
    expect(
      granted(driver.run(driver.make.extend(id, 0, { call: callOf('local/free', { inputTokens: 0 }) }))),
    ).toBeDefined();
    expect(decodeEntries(encodeEntries(driver.journal), () => undefined)).toHaveLength(driver.journal.length);
  });

  test('without a price changes nothing', () => {
    const { id } = granted(reserve()).reservation;
    const refusal = refused(driver.run(driver.make.extend(id, 0, { call: callOf('openai/gpt-99') })));
    expect(refusal.reason).toBe('PRICE_UNKNOWN');
    expect(driver.reservation(id).figures.heldMicros).toBe(3_500n);
  });
});

describe('an Extend is priced with what the first call pinned', () => {
  const extend = (id: string, call: ReturnType<typeof callOf>) => driver.run(driver.make.extend(id, 0, { call }));
  const settle = (id: string, prompt: number, completion: number, served?: ModelName, keepOpen = false) =>
    granted(driver.run(driver.make.settle(id, undefined, { usage: usageOf(prompt, completion, served), keepOpen })))
      .reservation.figures;

  test.each([
    ['service_tier', {}, { serviceTier: 'priority' }],
    ['service_tier', { serviceTier: 'priority' }, {}],
    ['service_tier', { serviceTier: 'flex' }, { serviceTier: 'priority' }],
    ['inference_geo', {}, { inferenceGeo: 'global' }],
    ['inference_geo', { inferenceGeo: 'us' }, {}],
    ['cache_ttl', {}, { cacheTtl: '1h' }],
    ['cache_ttl', { cacheTtl: '1h' }, { cacheTtl: '5m' }],
  ])('%s of another call is refused: %j, then %j', (field, first, then) => {
    const name = 'anthropic/claude-sonnet-4';
    const ofTier = field === 'service_tier' ? 'openai/gpt-4o' : name;
    const { id, price, figures } = granted(reserve(callOf(ofTier, first))).reservation;
    expect(refused(extend(id, callOf(ofTier, then)))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: `model_call.${field}` }],
    });
    expect(driver.reservation(id)).toMatchObject({ figures, price });
    expect(granted(extend(id, callOf(ofTier, first))).reservation.figures.heldMicros).toBe(2n * figures.heldMicros);
  });

  test.each(['priority', 'flex', undefined])('both of tier %s are settled for no more than is held', (serviceTier) => {
    const call = callOf('openai/gpt-4o', { ...(serviceTier !== undefined && { serviceTier }) });
    const { id } = granted(reserve(call)).reservation;
    const { heldMicros } = granted(extend(id, call)).reservation.figures;
    expect(settle(id, 2_000, 200).settledMicros).toBe(heldMicros);
  });

  test.each([
    ['dearer', 9_000_000n],
    ['cheaper', 1_000_000n],
  ])('a model that is %s by then costs what it cost, in the hold as in the usage', (_, rate) => {
    const { id } = granted(reserve()).reservation;
    const changed = testBook([
      testRow('openai/gpt-4o', { input: rate, output: rate }, { addedMs: 1, effectiveFromMs: 1 }),
      testRow('openai/gpt-4o-mini', { input: rate, output: rate }, { addedMs: 1, effectiveFromMs: 1 }),
    ]);
    driver.pricing = testPricing(() => changed);
    const { figures, price } = granted(extend(id, callOf('openai/gpt-4o'))).reservation;
    expect(figures.heldMicros).toBe(7_000n);
    expect(price?.pins.rowHashes).toHaveLength(1);
    // What had no pins is priced by what counts.
    const mini = granted(extend(id, callOf('openai/gpt-4o-mini'))).reservation.figures;
    expect(mini.heldMicros).toBe(7_000n + (1_100n * rate) / 1_000_000n);
    settle(id, 2_000, 200, { provider: 'openai', model: 'gpt-4o' }, true);
    const end = settle(id, 1_000, 100, { provider: 'openai', model: 'gpt-4o-mini' });
    expect(end).toMatchObject({ settledMicros: mini.heldMicros, overrunMicros: 0n });
  });

  test('also the unit is worth what it was worth', () => {
    driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100_000, unit: 'credits' }));
    const unitRow = (usdMicros: bigint, effectiveFromMs: number): HashedUnitRow => {
      const row = { unit: 'credits', effectiveFromMs, unitMicros: 1n, usdMicros, source: 'a test', addedBy: 'a test' };
      return hashUnitRow({ ...row, addedMs: effectiveFromMs }, priceHash);
    };
    const { rows } = testBook();
    const bookOf = (...unitRows: HashedUnitRow[]) => buildPriceBook({ rows, aliases: [], unitRows, retirements: [] });
    driver.pricing = testPricing(() => bookOf(unitRow(1n, 0)));
    const { id } = granted(reserve()).reservation;
    driver.pricing = testPricing(() => bookOf(unitRow(1n, 0), unitRow(2n, 1)));
    expect(granted(extend(id, callOf('openai/gpt-4o'))).reservation.figures.heldMicros).toBe(7_000n);
    expect(settle(id, 2_000, 200).settledMicros).toBe(7_000n);
  });

  test('a name that stands for another model by then is refused, and the model itself is not', () => {
    const { rows } = testBook();
    const bookOf = (...models: string[]) => {
      const aliases = models.map((model, addedMs) => ({
        provider: 'openai',
        alias: 'latest',
        form: 'exact' as const,
        model,
        origin: 'operator' as const,
        addedBy: 'a test',
        addedMs,
      }));
      return buildPriceBook({ rows, aliases, unitRows: [], retirements: [] });
    };
    driver.pricing = testPricing(() => bookOf('gpt-4o-mini'));
    const { id } = granted(reserve(callOf('openai/latest'))).reservation;
    expect(granted(extend(id, callOf('openai/latest'))).reservation.figures.heldMicros).toBe(420n);
    driver.pricing = testPricing(() => bookOf('gpt-4o-mini', 'gpt-4o'));
    expect(refused(extend(id, callOf('openai/latest')))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'model_call.candidates' }],
    });
    expect(granted(extend(id, callOf('openai/gpt-4o'))).reservation.figures.heldMicros).toBe(3_920n);
    settle(id, 1_000, 100, { provider: 'openai', model: 'gpt-4o' }, true);
    expect(settle(id, 2_000, 200, { provider: 'openai', model: 'latest' })).toMatchObject({ settledMicros: 3_920n });
  });
});

describe('a settlement by usage', () => {
  test('charges exactly what the pinned row says, whatever has been added since', () => {
    const { id } = granted(reserve()).reservation;
    driver.pricing = testPricing(() =>
      testBook([testRow('openai/gpt-4o', { input: 9_000_000n, output: 9_000_000n }, { addedMs: 1 })]),
    );
    const { reservation } = granted(driver.run(driver.make.settle(id, undefined, { usage: usageOf(900, 50) })));
    // 900 x 2.5 + 50 x 10.
    expect(reservation.figures).toMatchObject({
      state: 'SETTLED',
      settledMicros: 2_750n,
      releasedMicros: 750n,
      estimated: false,
    });
    expect(reservation.priced).toMatchObject({ provider: 'openai', model: 'gpt-4o', source: 'row', micros: 2_750n });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Settled', actualMicros: 2_750n, priced: { micros: 2_750n } });
    expect(driver.reservation(id).priced).toEqual(reservation.priced);
  });

  test('in parts adds up', () => {
    const { id } = granted(reserve()).reservation;
    driver.run(driver.make.settle(id, undefined, { usage: usageOf(100, 10), keepOpen: true }));
    const { reservation } = granted(driver.run(driver.make.settle(id, undefined, { usage: usageOf(100, 10) })));
    expect(reservation.figures.settledMicros).toBe(700n);
  });

  test('that does not say which candidate answered is refused, the hold stays, and it may be settled as unknown', () => {
    const candidates = ['gpt-4o', 'gpt-4o-mini'].map((model) => ({ provider: 'openai', model }));
    const { id } = granted(reserve(callOf('openai/gpt-4o', { candidates }))).reservation;
    const refusal = refused(driver.run(driver.make.settle(id, undefined, { usage: usageOf(10, 10), key: 'k' })));
    expect(refusal).toMatchObject({
      reason: 'USAGE_INVALID',
      reservationId: `t:${id}`,
      fields: [{ field: 'usage.served' }],
      unpriced: { why: 'usage_incomplete', field: 'usage.served' },
    });
    expect(driver.reservation(id).figures).toMatchObject({ state: 'ACTIVE', heldMicros: 3_500n });
    const { reservation } = granted(driver.run(driver.make.settle(id, undefined)));
    expect(reservation.figures).toMatchObject({ settledMicros: 3_500n, estimated: true });
  });

  describe('with searches that are billed one by one', () => {
    const searching = testRow(
      'openai/gpt-4o-search',
      { input: 2_500_000n, output: 10_000_000n },
      { fees: { webSearch: 10_000n } },
    );
    const web = [{ kind: 'web_search', usesMax: 5, inputTokensMax: 0 }] as const;
    const call = callOf('openai/gpt-4o-search', { inputTokens: 500, outputTokensMax: 100, serverTools: web });
    const settle = (id: string, result: UsageReportResult) => {
      if (result.report === undefined) throw new Error(result.problem.text);
      return driver.run(driver.make.settle(id, undefined, { usage: { kind: 'usage', report: result.report } }));
    };
    const counts = { input_tokens: 500, output_tokens: 100 };
    const searches = (count: number) => Array.from({ length: count }, () => ({ type: 'web_search_call' }));
    const reserved = () => granted(reserve(call)).reservation;

    beforeEach(() => {
      driver.pricing = testPricing(() => testBook([searching]));
    });

    test('charges those that a whole response lists', () => {
      const { id, figures, price } = reserved();
      expect(figures.heldMicros).toBe(52_250n);
      expect(price?.pins.searches).toEqual(['web_search']);
      const whole = rawReport('openai_responses', { output: searches(5), usage: counts }, undefined, {});
      const { reservation } = granted(settle(id, whole));
      expect(reservation.figures).toMatchObject({ settledMicros: 52_250n, overrunMicros: 0n });
      expect(reservation.priced?.buckets.webSearches).toBe(5n);
    });

    test('refuses a report that does not tell, keeps the hold, and takes counts', () => {
      const { id } = reserved();
      expect(refused(settle(id, rawReport('openai_responses', counts, undefined, {})))).toMatchObject({
        reason: 'USAGE_INVALID',
        fields: [{ field: 'usage.counts.web_searches' }],
        unpriced: { why: 'usage_incomplete' },
      });
      expect(driver.reservation(id).figures).toMatchObject({ state: 'ACTIVE', heldMicros: 52_250n });
      const counted = countedReport({ uncachedInput: 500, output: 100, webSearches: 3 }, undefined);
      expect(granted(settle(id, counted)).reservation.figures.settledMicros).toBe(32_250n);
    });

    test('refuses it also where only a call that the reservation was extended by may search', () => {
      const { id } = granted(reserve(callOf('openai/gpt-4o-search'))).reservation;
      expect(driver.reservation(id).price?.pins.searches).toBeUndefined();
      granted(driver.run(driver.make.extend(id, 0, { call })));
      expect(refused(settle(id, rawReport('openai_responses', counts, undefined, {}))).reason).toBe('USAGE_INVALID');
    });

    test.each([
      ['it may run none', { serverTools: [{ ...web[0], usesMax: 0 }] }, searching],
      [
        'they cost nothing',
        { serverTools: web },
        testRow('openai/gpt-4o-search', searching.rates, { fees: { webSearch: 0n } }),
      ],
    ] as const)('takes it where %s', (_, more, row) => {
      driver.pricing = testPricing(() => testBook([row]));
      const { id } = granted(reserve(callOf('openai/gpt-4o-search', { inputTokens: 500, ...more }))).reservation;
      const { reservation } = granted(settle(id, rawReport('openai_responses', counts, undefined, {})));
      expect(reservation.figures.settledMicros).toBe(2_250n);
    });
  });

  test.each([
    ['priority', 7_000n],
    ['flex', 1_750n],
    ['default', 3_500n],
    ['scale', 3_500n],
    ['auto', 7_000n],
  ])('that a whole response says was served as %s is charged so, whatever was asked for', (serviceTier, micros) => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    const { report } = rawReport('openai_chat', { usage, service_tier: serviceTier }, undefined, {});
    if (report === undefined) throw new Error('no report');
    for (const call of [callOf('openai/gpt-4o'), callOf('openai/gpt-4o', { serviceTier: 'flex' })]) {
      const { id } = granted(reserve(call)).reservation;
      const { figures } = granted(
        driver.run(driver.make.settle(id, undefined, { usage: { kind: 'usage', report } })),
      ).reservation;
      expect(figures.settledMicros + figures.overrunMicros).toBe(micros);
    }
  });

  test('in a tier of unknown price is refused with what helps, and that helps', () => {
    const { id } = granted(reserve()).reservation;
    const raw = { usage: { prompt_tokens: 1_000, completion_tokens: 100 }, service_tier: 'ultrafast' };
    const settled = (serviceTier?: string) => {
      const { report } = rawReport('openai_chat', raw, undefined, serviceTier === undefined ? {} : { serviceTier });
      if (report === undefined) throw new Error('no report');
      return driver.run(driver.make.settle(id, undefined, { key: 'k', usage: { kind: 'usage', report } }));
    };
    expect(refused(settled('default'))).toMatchObject({
      message:
        "usage.service_tier must be auto or priority or fast: the report names another tier that may cost more than the list at openai/gpt-4o, and what it costs is not known. Else settle with the cost as an amount; if it can't be reported otherwise, settle with usage_unknown",
      unpriced: { why: 'unknown_price', field: 'usage.service_tier' },
    });
    expect(granted(settled('priority')).reservation.figures).toMatchObject({ settledMicros: 7_000n });
  });

  test('by a model that was not reserved for is refused', () => {
    const { id } = granted(reserve()).reservation;
    const usage = usageOf(10, 10, { provider: 'anthropic', model: 'claude-sonnet-4' });
    expect(refused(driver.run(driver.make.settle(id, undefined, { usage }))).reason).toBe('PRICE_UNKNOWN');
  });

  test('of what was reserved by amount is refused', () => {
    const id = driver.hold('t', 100);
    expect(refused(driver.run(driver.make.settle(id, undefined, { usage: usageOf(1, 1) }))).reason).toBe(
      'PRICE_UNKNOWN',
    );
  });
});
