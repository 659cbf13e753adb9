// Whatever kind a report is given as: where it is of another, it is refused, or costs no less than as its own. No count is lost.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { priceUsage } from '../../src/pricing/price-usage.ts';
import { normaliseUsage, USAGE_KINDS, type UsageKind } from '../../src/pricing/usage/normalise-usage.ts';
import type { UsageContext } from '../../src/pricing/usage/usage.ts';
import { FULL_REPORTS, type FullCall } from '../support/full-reports.ts';
import { priceBook, priceRow, START_MS } from '../support/price-rows.ts';

const row = priceRow({
  rates: {
    input: 3_000_000n,
    output: 15_000_000n,
    cacheRead: 300_000n,
    cacheWrite5m: 3_750_000n,
    cacheWrite1h: 6_000_000n,
    audioInput: 40_000_000n,
    audioCacheRead: 2_500_000n,
    audioOutput: 80_000_000n,
  },
  fees: { webSearch: 10_000n, fileSearch: 2_500n },
});
const book = priceBook({ rows: [row] });
const FORMS = ['alone', 'body', 'stream'] as const;

/** Micro-dollars, or the code and the field of the refusal. */
function costOf(kind: UsageKind, raw: unknown, context: UsageContext): bigint | string {
  const { usage, problem } = normaliseUsage(kind, raw, context);
  if (usage === undefined) return `${problem.code} ${problem.field}`;
  const { cost, problem: unpriced } = priceUsage(book, { rowHashes: [row.hash] }, undefined, usage, START_MS);
  return cost?.micros ?? `${unpriced?.code} ${unpriced?.field}`;
}

const few = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5 }));
const tokens = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 200_000 }) },
);
const call: fc.Arbitrary<FullCall> = fc.record({
  input: fc.integer({ min: 1, max: 200_000 }),
  read: tokens,
  written5m: tokens,
  written1h: tokens,
  audio: tokens,
  audioRead: tokens,
  output: fc.integer({ min: 1, max: 50_000 }),
  reasoning: tokens,
  audioOutput: tokens,
  webSearches: few,
  fileSearches: few,
});
const cacheTtl = fc.constantFrom('5m', '1h');

describe.each(USAGE_KINDS)('a report of %s', (own) => {
  it('is refused as another kind, or costs no less', () => {
    let refusedCount = 0;
    fc.assert(
      fc.property(call, cacheTtl, fc.constantFrom(...FORMS), (made, ttl, form) => {
        const { provider, [form]: raw } = FULL_REPORTS[own](made);
        const context = { cacheTtl: ttl, ...(provider !== undefined && { provider }) };
        const cost = costOf(own, raw, context);
        if (typeof cost !== 'bigint') throw new Error(`${own} refuses its own: ${cost}`);
        for (const other of USAGE_KINDS) {
          const otherCost = costOf(other, raw, context);
          if (typeof otherCost === 'string') refusedCount += 1;
          else expect(otherCost, `${other} ${form}`).toBeGreaterThanOrEqual(cost);
        }
      }),
      { numRuns: 150 },
    );
    expect(refusedCount).toBeGreaterThan(0);
  });
});

/** A copy of a report in which each field that is read is noted by its path, lists left out of it. */
function noting(value: object, at: string, read: Set<string>): object {
  return new Proxy(value, {
    get(target, name) {
      const inner: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol') return inner;
      const path = Array.isArray(target) ? at : [at, name].filter(Boolean).join('.');
      if (typeof inner === 'object' && inner !== null) return noting(inner, path, read);
      if (typeof inner === 'number' && inner > 0 && !Array.isArray(target)) read.add(path);
      return inner;
    },
  });
}

const EVERY: FullCall = {
  input: 11,
  read: 7,
  written5m: 3,
  written1h: 2,
  audio: 5,
  audioRead: 4,
  output: 13,
  reasoning: 6,
  audioOutput: 9,
  webSearches: 1,
  fileSearches: 1,
};

it.each(
  USAGE_KINDS.flatMap((kind) => [EVERY, { ...EVERY, written5m: 0, written1h: 0 }].map((each) => [kind, each] as const)),
)('each count that %s reads is refused where another kind does not have it', (kind, each) => {
  const { usage, provider } = FULL_REPORTS[kind](each);
  const read = new Set<string>();
  normaliseUsage(kind, noting(usage, '', read), provider === undefined ? {} : { provider });
  expect(read.size).toBeGreaterThan(1);
  // Cohere and Gemini share no name with any other, so that one of them knows none of these.
  const stranger = kind === 'cohere_v2_chat' ? 'gemini' : 'cohere_v2_chat';
  for (const path of read) {
    const one = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), 1);
    const { problem } = normaliseUsage(stranger, { ...(one as object) });
    expect(`${problem?.code} ${problem?.field}`).toMatch(/^inconsistent_usage /);
    expect(path.startsWith(problem?.field ?? '?')).toBe(true);
  }
});
