// Reports and what they come to, in short texts: the buckets above 0, or the problem.
import { expect, it } from 'vitest';
import { normaliseUsage, type UsageKind } from '../../src/pricing/usage/normalise-usage.ts';
import type { Usage, UsageContext } from '../../src/pricing/usage/usage.ts';

const BUCKETS = [
  'uncachedInput',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'audioCacheRead',
  'output',
  'audioOutput',
  'webSearches',
  'fileSearches',
] as const;
const SHORT = {
  uncachedInput: 'in',
  cacheRead: 'read',
  cacheWrite5m: 'w5',
  cacheWrite1h: 'w1h',
  audioInput: 'audio',
  audioCacheRead: 'audioRead',
  output: 'out',
  audioOutput: 'audioOut',
  webSearches: 'web',
  fileSearches: 'file',
} as const;

/** "in 3 out 5", or "code field". */
function told(kind: UsageKind, raw: unknown, context: UsageContext = {}): string {
  const { usage, problem } = normaliseUsage(kind, raw, context);
  return usage === undefined ? `${problem.code} ${problem.field}` : textOf(usage);
}

/** The buckets of usage that are above 0, and its words. */
export function textOf(usage: Usage): string {
  const counts = BUCKETS.filter((bucket) => usage[bucket] > 0n).map((bucket) => `${SHORT[bucket]} ${usage[bucket]}`);
  const { serviceTiers = [], callerTier, inferenceGeos = [] } = usage;
  const told = serviceTiers.map((tier) => (tier === '' ? '""' : tier));
  const words = [...told, ...(callerTier === undefined ? [] : [`said ${callerTier}`]), ...inferenceGeos];
  const { reportedCost: cost } = usage;
  return [...counts, ...words, ...(cost === undefined ? [] : [`cost ${cost.scaled}e-${cost.places}`])].join(' ');
}

/** A report by its name, and what it must come to. */
type Case = readonly [name: string, raw: unknown, expected: string, context?: UsageContext];

/** Plays reports of one kind. */
export function play(kind: UsageKind, cases: readonly Case[]): void {
  for (const [name, raw, expected, context] of cases) {
    it(`${kind}: ${name}`, () => {
      expect(told(kind, raw, context)).toBe(expected);
    });
  }
}
