// When the rows of one model count. Stands alone because a model may have thousands of rows, made and searched where calls are
// priced: one sort arranges them, and the set of an instant is put together when it is first asked for, since most never are.
import type { HashedPriceRow } from './price-row.ts';
import { type PriceSet, priceSetOf } from './price-set.ts';
import { WHOLE_MAX } from './whole.ts';

/**
 * When a row counts: from its beginning until it ends, or a newer one of its key begins. The catalogue's only while none of the
 * operator does.
 */
export interface Span {
  readonly row: HashedPriceRow;
  /** Its first instant, ms since 1970. */
  readonly fromMs: number;
  /** The first instant after it, above fromMs; WHOLE_MAX where nothing ends it. */
  readonly untilMs: number;
}

/** The rows of one model in time. */
export interface Timeline {
  /** Spans of each key, by time; those of one key do not overlap. */
  readonly keys: readonly (readonly Span[])[];
  /**
   * The rows that count at an instant: of each key the newest that has begun, unless it has ended. Where the operator has any such
   * row, the catalogue's don't count at all: half of one price list and half of another would be nobody's. Undefined: none counts.
   * The same object for the same rows, as long as nothing changes between two instants.
   */
  setAt(atMs: number): PriceSet | undefined;
}

/** Arranges the rows of one model, each hash once. `ends`: from when retired rows no longer count, by hash. */
export function buildTimeline(rows: readonly HashedPriceRow[], ends: ReadonlyMap<string, number>): Timeline {
  const sorted = [...rows].sort(newestFirst);
  const ofKeys = Map.groupBy(sorted, (row) => `${row.origin} ${tierAndBand(row)}`);
  const keys = [...ofKeys.values()].map((ofKey) => spansOf(ofKey, ends)).filter(({ length }) => length > 0);
  const instants = instantsOf(keys.flat());
  const sets = new Map<number, PriceSet | undefined>();
  return {
    keys,
    setAt: (atMs) => {
      const fromMs = instants[lastIndex(instants, (instant) => instant <= atMs)];
      if (fromMs === undefined) return undefined;
      const known = sets.get(fromMs);
      if (known !== undefined || sets.has(fromMs)) return known;
      const set = priceSetOf(rowsAt(keys, fromMs));
      sets.set(fromMs, set);
      return set;
    },
  };
}

/** The spans of rows of one key, the newest first; by time. What a newer one replaced stays replaced when that ends. */
function spansOf(ofKey: readonly HashedPriceRow[], ends: ReadonlyMap<string, number>): readonly Span[] {
  const spans: Span[] = [];
  let newerFromMs = WHOLE_MAX;
  for (const row of ofKey) {
    const fromMs = row.effectiveFromMs;
    const untilMs = Math.min(row.effectiveUntilMs ?? WHOLE_MAX, ends.get(row.hash) ?? WHOLE_MAX, newerFromMs);
    if (untilMs > fromMs) spans.push({ row, fromMs, untilMs });
    newerFromMs = fromMs;
  }
  return spans.reverse();
}

/** Every instant at which a span begins or ends, once, by time. One that nothing ends has no end. */
export function instantsOf(spans: readonly Span[]): readonly number[] {
  const instants = new Set<number>();
  for (const { fromMs, untilMs } of spans) {
    instants.add(fromMs);
    if (untilMs < WHOLE_MAX) instants.add(untilMs);
  }
  return [...instants].sort((a, b) => a - b);
}

function rowsAt(keys: Timeline['keys'], atMs: number): readonly HashedPriceRow[] {
  const active: HashedPriceRow[] = [];
  for (const spans of keys) {
    const span = spans[lastIndex(spans, ({ fromMs }) => fromMs <= atMs)];
    if (span !== undefined && span.untilMs > atMs) active.push(span.row);
  }
  const operators = active.filter(({ origin }) => origin === 'operator');
  return operators.length > 0 ? operators : active;
}

/** The index of the last of those that a condition is true of, which come before all others; -1 where it is true of none. */
export function lastIndex<T>(sorted: readonly T[], isBefore: (each: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(sorted[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The part of a row's key that tells the rows of one model and origin apart. */
export function tierAndBand({ aboveInputTokens, band }: Pick<HashedPriceRow, 'aboveInputTokens' | 'band'>): string {
  return band === undefined ? `${aboveInputTokens}` : `${aboveInputTokens} ${band.startMs}-${band.endMs}`;
}

/** Of rows of one key the one that began last counts, then the one added last; the hash only makes the order total. */
export function newestFirst(a: HashedPriceRow, b: HashedPriceRow): number {
  return b.effectiveFromMs - a.effectiveFromMs || b.addedMs - a.addedMs || (a.hash < b.hash ? 1 : -1);
}
