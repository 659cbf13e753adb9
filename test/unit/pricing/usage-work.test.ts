// What it takes to read a report: each part of it a bounded number of times, whatever its shape. Counted in readings, not in time.
import { describe, expect, it } from 'vitest';
import { USAGE_KINDS, type UsageKind } from '../../../src/pricing/usage/normalise-usage.ts';
import { rawReport } from '../../../src/pricing/usage/usage-report.ts';
import { reportsInside } from '../../support/reports-of-kinds.ts';

/** The same object, of which every reading is counted, within it too. */
function watched<T>(value: T, onRead: () => void): T {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get: (target, name) => {
      onRead();
      return watched(Reflect.get(target, name) as unknown, onRead);
    },
    getOwnPropertyDescriptor: (target, name) => {
      onRead();
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
    has: (target, name) => {
      onRead();
      return Reflect.has(target, name);
    },
    ownKeys: (target) => {
      const names = Reflect.ownKeys(target);
      for (const _ of names) onRead();
      return names;
    },
  });
}

function readings(kind: UsageKind, raw: unknown): number {
  let count = 0;
  rawReport(
    kind,
    watched(raw, () => {
      count += 1;
    }),
    undefined,
    {},
  );
  return count;
}

const call = { input: 10, output: 10, words: {} };
const listOf = <T>(size: number, make: (at: number) => T): T[] => Array.from({ length: size }, (_, at) => make(at));
const fieldsOf = <T>(size: number, make: (at: number) => T) =>
  Object.fromEntries(listOf(size, (at) => [`name${at}`, make(at)]));

/** The usage object of a kind, and a response that holds it. */
function shapesOf(kind: UsageKind): readonly [alone: object, whole: object] {
  const [alone, whole] = reportsInside(call).filter((report) => report.kind === kind);
  return [alone?.raw as object, whole?.raw as object];
}

type Shape = (kind: UsageKind, size: number) => unknown;
const events = (...list: readonly (readonly object[])[]) => ({ events: list.flat() });

/** What is in each place where a report can be long. */
const SHAPES: readonly (readonly [name: string, shape: Shape])[] = [
  [
    'events without usage',
    (kind, size) =>
      events(
        [shapesOf(kind)[1]],
        listOf(size, () => ({})),
      ),
  ],
  ['events with usage', (kind, size) => events(listOf(size, () => shapesOf(kind)[1]))],
  [
    'events with words',
    (kind, size) => events(listOf(size, (at) => ({ ...shapesOf(kind)[1], service_tier: `t${at}` }))),
  ],
  [
    'many events, and much metadata in the report',
    (kind, size) => {
      const [alone] = shapesOf(kind);
      const long = { ...alone, providerMetadata: fieldsOf(size, () => ({})) };
      const held = { usage: long, usageMetadata: long, x_groq: { usage: long }, delta: { usage: long } };
      return events(
        [{ type: 'message_delta', ...held }],
        listOf(size, () => ({})),
      );
    },
  ],
  [
    'many events, and much metadata beside the report',
    (kind, size) => {
      const long = { type: 'message_delta', ...shapesOf(kind)[1], providerMetadata: fieldsOf(size, () => ({})) };
      return events(
        listOf(size, () => ({})),
        [long],
        listOf(size, () => ({})),
      );
    },
  ],
  [
    'metadata with words',
    (kind, size) => ({
      ...shapesOf(kind)[0],
      providerMetadata: fieldsOf(size, (at) => ({ serviceTier: `t${at}`, usage: { service_tier: `u${at}` } })),
    }),
  ],
  ['fields that nobody knows', (kind, size) => ({ ...shapesOf(kind)[0], ...fieldsOf(size, () => ({})) })],
  [
    'lists of details',
    (kind, size) => ({
      ...shapesOf(kind)[0],
      promptTokensDetails: listOf(size, () => ({ modality: 'TEXT', tokenCount: 0 })),
      candidatesTokensDetails: listOf(size, () => ({ modality: 'TEXT', tokenCount: 0 })),
      inputTokensDetails: listOf(size, () => ({ cached_tokens: 0 })),
      cacheDetails: listOf(size, () => ({ ttl: '5m', inputTokens: 0 })),
      iterations: listOf(size, () => ({ type: 'compaction', input_tokens: 1, output_tokens: 1 })),
      server_tool_use: fieldsOf(size, () => 0),
    }),
  ],
  [
    'items of output',
    (kind, size) => {
      const whole = shapesOf(kind)[1] as { response?: object };
      const output = listOf(size, () => ({ type: 'web_search_call', action: { type: 'search' } }));
      return { ...whole, output, ...(whole.response && { response: { ...whole.response, output } }) };
    },
  ],
];

describe.each(SHAPES)('%s', (_, shape) => {
  it.each(USAGE_KINDS)('of %s', (kind) => {
    const [some, twice, more] = [200, 400, 800].map((size) => readings(kind, shape(kind, size)));
    if (some === undefined || twice === undefined || more === undefined) throw new Error('no readings');
    // Twice as much more of it takes at most twice as much more, but for what the bounds on words take at first.
    expect(more - twice).toBeLessThanOrEqual(2 * (twice - some) + 200);
    expect(more).toBeLessThanOrEqual(800 * 400);
  });
});

it('a report that leaves the life of its cache to the call is looked through once', () => {
  const raw = (written: number) => ({
    events: [
      ...listOf(300, () => ({ choices: [] })),
      { usage: { prompt_tokens: 10, completion_tokens: 1, cache_creation_input_tokens: written } },
    ],
  });
  expect(readings('litellm', raw(7)) - readings('litellm', raw(0))).toBeLessThan(100);
});
