// Rates: token buckets in whole numbers. A bucket holds `burst` units and fills by `count` units every `perMs`. Levels are kept
// in units x perMs, so that every millisecond fills by exactly `count` and nothing is ever rounded.

/** What a rate counts: calls, or what a call says it will use, so that heavy calls brake sooner. */
export type RateKind = 'requests' | 'tokens' | 'tool_calls';

/** A rate as a request states it. */
export interface RateInput {
  readonly kind: RateKind;
  /** Units that come back in `perMs`; at least 1. */
  readonly count: number;
  readonly perMs: number;
  /** Units that may be used at once; at least 1. */
  readonly burst: number;
}

/** A rate of a budget. `no` is unique in it and never used again. */
export interface RateDef extends RateInput {
  readonly no: number;
}

/** How full a rate was at an instant. */
export interface RateLevel {
  readonly no: number;
  /** In units x perMs. */
  readonly level: bigint;
  readonly atMs: number;
}

/** What a request uses of each kind. */
export interface RateUse {
  readonly requests: number;
  readonly tokens: number;
  readonly toolCalls: number;
}

/** Units that a request uses of a rate. */
export function rateCost(rate: RateInput, use: RateUse): number {
  switch (rate.kind) {
    case 'requests':
      return use.requests;
    case 'tokens':
      return use.tokens;
    case 'tool_calls':
      return use.toolCalls;
  }
}

/** How full a rate is at `nowMs`, in units x perMs. A clock that goes back fills nothing; an edit that lowers the burst binds. */
export function levelAt(rate: RateDef, levels: readonly RateLevel[], nowMs: number): bigint {
  const full = BigInt(rate.burst) * BigInt(rate.perMs);
  const last = levels.find(({ no }) => no === rate.no);
  if (last === undefined) return full;
  const level = last.level + BigInt(Math.max(0, nowMs - last.atMs)) * BigInt(rate.count);
  return level < full ? level : full;
}

/** Whole units that may be used at once at a level. */
export function unitsAt(rate: RateDef, level: bigint): number {
  return Number(level / BigInt(rate.perMs));
}

/** As long as a number tells exactly: a slow rate that is asked for very much takes longer, and nobody waits for that. */
const FILL_MS_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** Milliseconds until a rate at `level` holds `cost` units, at most 2^53-1; 0 where it does. */
export function fillMs(rate: RateDef, level: bigint, cost: number): number {
  const missing = BigInt(cost) * BigInt(rate.perMs) - level;
  if (missing <= 0n) return 0;
  const count = BigInt(rate.count);
  const waitMs = (missing + count - 1n) / count;
  return Number(waitMs < FILL_MS_MAX ? waitMs : FILL_MS_MAX);
}
