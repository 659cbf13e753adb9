// One call costs the same, or is refused for the same reason, through whatever kind reports it, wherever the kind keeps the provider's
// words for how it was served; and as counts that the caller has taken apart, with the word said beside them.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { larger } from '../../src/pricing/exact.ts';
import { priceUsage } from '../../src/pricing/price-usage.ts';
import { countedReport, rawReport, type UsageReportResult } from '../../src/pricing/usage/usage-report.ts';
import { priceBook, priceRow, START_MS } from '../support/price-rows.ts';
import { reportsBeside, reportsElsewhere, reportsInside } from '../support/reports-of-kinds.ts';

const ROWS = ['openai', 'anthropic', 'google', 'x-ai', 'aws', 'openrouter', 'groq', 'deepseek', 'our-own'].flatMap(
  (provider) =>
    ['claude-opus-4-6', 'claude-opus-5', 'claude-opus-5-5'].flatMap((model) => [
      priceRow({ provider, model, rates: { input: 5_000_000n, output: 25_000_000n } }),
      priceRow({ provider, model: `free-${model}`, mark: 'free', rates: { input: 0n } }),
    ]),
);
const book = priceBook({ rows: ROWS });

const row = fc.constantFrom(...ROWS);
const tier = fc.constantFrom<unknown>(
  ...['default', 'standard', 'auto', 'flex', 'batch', 'priority', 'Priority', 'fast', 'on_demand', 'on_demand_flex'],
  ...['ON_DEMAND_PRIORITY', 'ultrafast', 'platinum', 'unspecified', '', 7, { type: 'priority' }, null],
);
const speed = fc.constantFrom<unknown>('standard', 'fast', 'Fast', 'ultrafast', 3, null);
const geo = fc.constantFrom<unknown>('us', 'US', 'global', 'not_available', 'moon', {}, null);
const said = fc.constantFrom(undefined, 'default', 'flex', 'priority', 'fast', 'platinum');
const tokens = fc.integer({ min: 1, max: 300_000 });

type Row = (typeof ROWS)[number];
type Words = { readonly said: string | undefined; readonly asked: string | undefined };

/** Micro-dollars, or the whole refusal. */
function outcomeOf(of: Row, asked: string | undefined, { report, problem }: UsageReportResult): bigint | string {
  if (report === undefined) return `${problem.code} ${problem.field} ${problem.text}`;
  const pins = { rowHashes: [of.hash], ...(asked !== undefined && { serviceTier: asked }) };
  const result = priceUsage(book, pins, undefined, report.usage, START_MS);
  return result.cost?.micros ?? `${result.problem?.code} ${result.problem?.field} ${result.problem?.text}`;
}

const outcomeOfRaw = (of: Row, words: Words, kind: Parameters<typeof rawReport>[0], raw: unknown) =>
  outcomeOf(
    of,
    words.asked,
    rawReport(kind, raw, undefined, words.said === undefined ? {} : { serviceTier: words.said }),
  );

it('of words inside the usage', () => {
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(row, tokens, tokens, tier, speed, geo, said, said, (of, input, output, ...rest) => {
      const [service_tier, served, inference_geo, caller, asked] = rest;
      const call = { input, output, words: { service_tier, speed: served, inference_geo } };
      const [, whole] = reportsInside(call).filter(({ kind }) => kind === 'anthropic_messages');
      const expected = outcomeOfRaw(of, { said: caller, asked }, 'anthropic_messages', whole?.raw);
      outcomes.add(typeof expected === 'bigint' ? 'cost' : expected);
      for (const { kind, place, raw } of reportsInside(call)) {
        expect([kind, place, outcomeOfRaw(of, { said: caller, asked }, kind, raw)]).toEqual([kind, place, expected]);
      }
    }),
    { numRuns: 1_000 },
  );
  expect(outcomes.size).toBeGreaterThan(10);
});

it('of a tier beside the usage, by any of its names', () => {
  const name = fc.constantFrom('service_tier', 'serviceTier');
  fc.assert(
    fc.property(row, tokens, tokens, tier, name, said, said, (of, input, output, word, field, caller, asked) => {
      const words = { said: caller, asked };
      const inside = { input, output, words: { service_tier: word } };
      const expected = outcomeOfRaw(
        of,
        words,
        'anthropic_messages',
        reportsInside(inside)[0] && { ...usageOf(inside) },
      );
      for (const { kind, place, raw } of reportsBeside({ input, output, words: { [field]: word } })) {
        expect([kind, place, outcomeOfRaw(of, words, kind, raw)]).toEqual([kind, place, expected]);
      }
    }),
    { numRuns: 1_000 },
  );
});

it('of words in another event of a stream, which make it dearer or refuse it, and never make it cheaper', () => {
  let dearer = 0;
  let refused = 0;
  fc.assert(
    fc.property(row, tokens, tokens, tier, speed, said, said, (of, input, output, service_tier, served, ...rest) => {
      const [caller, asked] = rest;
      const words = { said: caller, asked };
      const outcome = (more: object) =>
        outcomeOfRaw(of, words, 'anthropic_messages', usageOf({ input, output, words: more }));
      const unsaid = outcome({});
      for (const name of ['service_tier', 'speed'] as const) {
        const told = { [name]: name === 'speed' ? served : service_tier };
        const inside = outcome(told);
        for (const { kind, place, raw } of reportsElsewhere({ input, output, words: told })) {
          if (name === 'speed' && place.startsWith('beside')) continue;
          const elsewhere = outcomeOfRaw(of, words, kind, raw);
          const at = [kind, place];
          if (typeof unsaid === 'string' || typeof inside === 'string') {
            expect([...at, typeof elsewhere]).toEqual([...at, 'string']);
            refused += 1;
          } else {
            expect([...at, elsewhere]).toEqual([...at, larger(unsaid, inside)]);
            if (inside > unsaid) dearer += 1;
          }
        }
      }
    }),
    { numRuns: 500 },
  );
  expect(dearer).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(100);
});

const usageOf = ({ input, output, words }: { input: number; output: number; words: object }) => ({
  input_tokens: input,
  output_tokens: output,
  ...words,
});

it('of counts with the word beside them', () => {
  const word = fc.constantFrom('default', 'auto', 'flex', 'batch', 'priority', 'Fast', 'on_demand', 'ultrafast', 'new');
  const place = fc.constantFrom('us', 'global', 'moon');
  let refused = 0;
  fc.assert(
    fc.property(row, tokens, tokens, word, place, said, (of, input, output, serviceTier, inferenceGeo, asked) => {
      const words = { service_tier: serviceTier, inference_geo: inferenceGeo };
      const reported = outcomeOfRaw(
        of,
        { said: undefined, asked },
        'anthropic_messages',
        usageOf({ input, output, words }),
      );
      const counts = { uncachedInput: input, output, serviceTier, inferenceGeo };
      const counted = outcomeOf(of, asked, countedReport(counts, undefined));
      if (typeof reported === 'bigint') expect(counted).toBe(reported);
      else {
        refused += 1;
        expect(counted).toMatch(/^unknown_price /);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(refused).toBeGreaterThan(100);
});
