// What a budget spent of late: spend counts half as much with every half-life that it lies back, so that who was served long ago is
// not held back for it. In whole numbers: a level that says the same at any two instants orders two budgets the same at both.
//
// Spend at t counts (1 + r) x 2^n, where t is n whole half-lives and r of the next one: a power of two at every half-life and a
// straight line between. What counts at an instant is the sum over what it would count itself.
// Kept in memory alone: it decides who comes first and never how much there is. After a restart it begins anew.

/** Ten minutes: longer than a burst of calls, shorter than a morning. */
const HALF_LIFE_MS = 600_000;

/** Spend that lies back. */
export interface RecentUse {
  /** In micro-units x HALF_LIFE_MS, as of the beginning of `halfLives`. */
  readonly level: bigint;
  /** Whole half-lives from the beginning of time to the last spend. */
  readonly halfLives: number;
}

/** None. */
export const NO_USE: RecentUse = { level: 0n, halfLives: 0 };

/** With `micros` more, spent at `atMs`; below 0: what was assumed is taken back. What remains is never below 0. */
export function useAfter({ level, halfLives }: RecentUse, micros: bigint, atMs: number): RecentUse {
  const at = Math.max(halfLives, Math.floor(atMs / HALF_LIFE_MS));
  const sum = (level >> BigInt(at - halfLives)) + micros * partsAt(at, atMs);
  return { level: sum > 0n ? sum : 0n, halfLives: at };
}

/** What counts of it at `nowMs`, rounded down. */
export function recentMicros({ level, halfLives }: RecentUse, nowMs: number): bigint {
  const now = Math.max(halfLives, Math.floor(nowMs / HALF_LIFE_MS));
  return (level >> BigInt(now - halfLives)) / partsAt(now, nowMs);
}

// One that comes behind its half-life counts as at the beginning of it.
function partsAt(halfLives: number, atMs: number): bigint {
  return BigInt(HALF_LIFE_MS + Math.max(0, atMs - halfLives * HALF_LIFE_MS));
}
