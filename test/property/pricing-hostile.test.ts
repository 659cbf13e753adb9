// Reports as an enemy writes them: nothing throws, and a count that is none is never priced. Each number of each vector is replaced by
// each value that is no count; besides, any JSON goes in as any kind.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normaliseUsage, USAGE_KINDS, type UsageKind } from '../../src/pricing/usage/normalise-usage.ts';
import type { UsageContext } from '../../src/pricing/usage/usage.ts';

interface Vector {
  readonly name: string;
  readonly provider: UsageKind;
  readonly model: string;
  readonly usage: unknown;
  readonly expected: { readonly error?: string };
}

const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../unit/pricing/cases/pricing.json', import.meta.url), 'utf8'),
);

/** JSON of values that are no count. */
const NO_COUNTS = [
  '-1',
  '-0',
  '0.5',
  '1e400',
  '-1e400',
  '9007199254740992',
  '1e21',
  '"1"',
  '"NaN"',
  '""',
  'true',
  '[]',
  '[1]',
  '{}',
  '{"__proto__": 1}',
];

/** Numbers that no price depends on. */
const UNREAD = new Set([
  'queue_time',
  'cost_in_usd_ticks',
  'upstream_inference_prompt_cost',
  'upstream_inference_completions_cost',
  'upstream_inference_cost',
]);

type Path = readonly (string | number)[];

function leaves(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value === 'number') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}

/** A copy of a value with something else at a path. */
function withAt(value: unknown, path: Path, other: unknown): unknown {
  const [name, ...further] = path;
  if (name === undefined) return other;
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === String(name) ? withAt(item, further, other) : item));
  }
  return { ...(value as object), [name]: withAt((value as Record<string, unknown> | null)?.[name], further, other) };
}

/** The JSON of a value with the text put in place of the number at a path. */
function replaced(value: unknown, path: Path, text: string): string {
  return JSON.stringify(withAt(value, path, '@@here@@')).replace('"@@here@@"', text);
}

const contextOf = ({ provider, model }: Vector): UsageContext =>
  provider.startsWith('ai_sdk') ? { provider: model.split(':')[0] ?? '' } : {};

/** Whether a number of a vector is one that its adapter reads. */
function isRead({ provider, usage }: Vector, path: Path): boolean {
  const name = String(path.at(-1));
  if (UNREAD.has(name)) return false;
  if (provider === 'bedrock_converse') return name !== 'totalTokens';
  if (provider === 'cohere_v2_chat') return path[0] === 'billed_units';
  // Google's raw report is read in the place of the totals, and version 5 takes no total for Anthropic.
  if (provider === 'ai_sdk_v7') return path[0] === 'raw';
  if (provider === 'ai_sdk_v5') return name !== 'totalTokens' || !JSON.stringify(usage).includes('anthropic');
  return !isOverwritten(usage, path);
}

/** Whether a later event says the same anew. */
function isOverwritten(usage: unknown, path: Path): boolean {
  const events = (usage as { readonly events?: readonly unknown[] }).events;
  if (events === undefined) return false;
  const later = JSON.stringify(events.slice(Number(path[1]) + 1));
  return later.includes('usageMetadata') || later.includes(`"${path.at(-1)}"`);
}

/** The vectors whose report is a good one. */
const GOOD = VECTORS.filter(
  ({ usage, expected }) => usage !== null && (expected.error ?? 'unknown_price') === 'unknown_price',
);

describe('a number that is no count', () => {
  it.each(GOOD.map((vector) => [vector.name, vector] as const))('in %s is refused', (_, vector) => {
    const paths = leaves(vector.usage).filter((path) => isRead(vector, path));
    expect(paths.length).toBeGreaterThan(1);
    expect(normaliseUsage(vector.provider, vector.usage, contextOf(vector)).problem).toBeUndefined();
    for (const path of paths) {
      for (const text of NO_COUNTS) {
        // A cost is a decimal, and half a dollar is a cost.
        if (path.at(-1) === 'cost' && ['0.5'].includes(text)) continue;
        const raw: unknown = JSON.parse(replaced(vector.usage, path, text));
        const { problem } = normaliseUsage(vector.provider, raw, contextOf(vector));
        expect([path.join('.'), text, problem === undefined]).toEqual([path.join('.'), text, false]);
      }
    }
  });
});

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'length',
  'then',
  'events',
  'usage',
  'usageMetadata',
  'type',
  'iterations',
  'prompt_tokens',
  'completion_tokens',
  'input_tokens',
  'output_tokens',
  'inputTokens',
  'outputTokens',
  'promptTokenCount',
  'candidatesTokenCount',
  'billed_units',
  'raw',
  'cost',
  'is_byok',
  'x_groq',
  'delta',
  'message',
  'metadata',
  'response',
  'prompt_tokens_details',
  'cached_tokens',
  'cache_creation',
  'cacheDetails',
];
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    'NaN',
    -1,
    -0,
    0,
    1,
    5,
    0.1,
    1e21,
    2 ** 53,
    Number.POSITIVE_INFINITY,
    '9'.repeat(400),
  ),
  fc.nat({ max: 1_000 }),
);
const { hostile } = fc.letrec((tie) => ({
  hostile: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: leaf },
    { weight: 2, arbitrary: fc.array(tie('hostile'), { maxLength: 3 }) },
    {
      weight: 6,
      arbitrary: fc.array(fc.tuple(fc.constantFrom(...NAMES), tie('hostile')), { maxLength: 6 }).map(ownFields),
    },
  ),
}));

/** An object whose fields are its own, `__proto__` too, as JSON.parse makes it. */
function ownFields(fields: readonly (readonly [string, unknown])[]): object {
  const made = {};
  for (const [name, value] of fields) {
    Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return made;
}

/** A good report with anything in the place of up to three of its numbers. */
const spoilt = fc
  .tuple(fc.constantFrom(...GOOD), fc.array(fc.tuple(fc.nat(), hostile), { minLength: 1, maxLength: 3 }))
  .map(([{ provider, usage }, changes]) => {
    const paths = leaves(usage);
    const raw: unknown = changes.reduce((report, [pick, value]) => {
      const path = paths[pick % paths.length] ?? [];
      return withAt(report, path, value);
    }, usage);
    return { kind: provider, raw };
  });
/** Either that, as of its kind, or anything at all as of any. */
const asSomeKind = fc.oneof(
  spoilt,
  fc.record({
    kind: fc.constantFrom(...USAGE_KINDS),
    raw: fc.oneof(
      hostile,
      spoilt.map(({ raw }) => raw),
    ),
  }),
);

it('any JSON, as any kind, is refused or comes to whole buckets, and is left as it was', () => {
  const context = fc.record(
    {
      provider: fc.constantFrom('anthropic', 'google', 'openai', '__proto__'),
      cacheTtl: fc.constantFrom('5m', '1h', ''),
    },
    { requiredKeys: [] },
  );
  let taken = 0;
  fc.assert(
    fc.property(asSomeKind, context, ({ kind, raw }, told) => {
      const before = JSON.stringify(raw);
      const { usage, problem } = normaliseUsage(kind, raw, told);
      expect(JSON.stringify(raw)).toBe(before);
      if (usage === undefined) {
        expect(problem.field.length).toBeGreaterThan(0);
        return;
      }
      taken += 1;
      for (const [name, value] of Object.entries(usage)) {
        if (['serviceTiers', 'callerTier', 'inferenceGeos', 'reportedCost', 'untoldSearches'].includes(name)) continue;
        expect([name, typeof value === 'bigint' && value >= 0n]).toEqual([name, true]);
      }
    }),
    { numRuns: 20_000 },
  );
  expect(taken).toBeGreaterThan(100);
});

it('a report as deep as JSON goes is refused', () => {
  const depth = 5_000;
  const deep: unknown = JSON.parse(`${'{"usage":'.repeat(depth)}1${'}'.repeat(depth)}`);
  for (const kind of USAGE_KINDS) expect(normaliseUsage(kind, deep).problem).toBeDefined();
});
