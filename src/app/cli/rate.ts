// Rates as people write and read them.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Rate, RateKind, type RateSchema, type RateStanding } from '../../gen/budgetd/v1/terms_pb.ts';
import { durationFromMs, durationToMs, parseDurationMs, writeDurationMs } from './duration.ts';
import { didYouMean } from './nearest-word.ts';
import { UsageError } from './usage-error.ts';

const KINDS = {
  requests: RateKind.REQUESTS,
  tokens: RateKind.TOKENS,
  tool_calls: RateKind.TOOL_CALLS,
} as const;

const KIND_WORDS: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(KINDS).map(([word, kind]) => [kind, word]),
);

// A burst of 0 would mean that of the count.
const PATTERN = /^([0-9]{1,13}) +(requests|tokens|tool_calls) *\/ *([0-9a-z]+)(?: +burst +([1-9][0-9]{0,12}))?$/;

const KIND_WORD = /^\s*[0-9]+ *([A-Za-z_]+)/;

/** Reads `60 requests/1m` or `100000 tokens/1m burst 200000`. Throws UsageError. */
export function parseRate(text: string): MessageInitShape<typeof RateSchema> {
  const [, count, kind, per, burst = '0'] = PATTERN.exec(text.trim()) ?? [];
  if (count === undefined || kind === undefined || per === undefined) {
    throw new UsageError(
      `"${text}" is not a rate: write "60 requests/1m" or "100000 tokens/1m burst 200000"; ` +
        `it counts ${Object.keys(KINDS).join(', ')}, per a time such as 1s, 1m, 1h, 1d${didYouMean(KIND_WORD.exec(text)?.[1] ?? '', Object.keys(KINDS))}`,
    );
  }
  return {
    kind: KINDS[kind as keyof typeof KINDS],
    count: BigInt(count),
    per: durationFromMs(parseDurationMs(per)),
    burst: BigInt(burst),
  };
}

/** A rate as it is typed; the burst only where it is another than the count. */
export function formatRate({ kind, count, per, burst }: Rate): string {
  const extra = burst === count || burst === 0n ? '' : ` burst ${burst}`;
  return `${count} ${KIND_WORDS[kind] ?? `kind ${kind}`}/${writeDurationMs(durationToMs(per))}${extra}`;
}

/** Rates with what is left of each: `60 requests/1m (57 left)`. */
export function formatRates(rates: readonly Rate[], standings: readonly RateStanding[]): string[] {
  return rates.map((rate, index) => {
    const left = standings[index]?.availableCount;
    return left === undefined ? formatRate(rate) : `${formatRate(rate)} (${left} left)`;
  });
}
