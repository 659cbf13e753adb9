// What a limit would have refused, had it been there: the holds that there were, replayed in order against it. Pure. A hold that
// would have been refused leaves no spend; what its caller would have done then nobody knows.
import type { Calendar, WindowRule } from '../../kernel/window.ts';

/** A hold as it was. */
export interface PastHold {
  readonly createMs: number;
  /** Undefined: it is live. */
  readonly endMs: number | undefined;
  readonly grantedMicros: bigint;
  /** Settled and overrun. */
  readonly costMicros: bigint;
}

/** What came of it. */
export interface ReplayedLimit {
  readonly count: number;
  readonly refusedCount: number;
  /** Cost of the refused ones. */
  readonly refusedMicros: bigint;
  /** Of the first refused one; undefined where none was. */
  readonly firstRefusedMs: number | undefined;
  /** The most that was held and spent at once in one period. */
  readonly peakMicros: bigint;
}

type Moment = { readonly atMs: number; readonly isEnd: boolean; readonly hold: PastHold };

/**
 * Replays holds against a limit. Each needs room for all that it was granted, in the period in which it was made; when it ended
 * its cost took its place. Outside a fixed range there is no room.
 */
export function replayLimit(
  holds: readonly PastHold[],
  amountMicros: bigint,
  rule: WindowRule,
  calendar: Calendar,
): ReplayedLimit {
  const used = rule.kind === 'rolling' ? new RollingUse(rule.durationMs) : new PeriodUse(rule, calendar);
  const admitted = new Set<PastHold>();
  let refusedMicros = 0n;
  let refusedCount = 0;
  let firstRefusedMs: number | undefined;
  let peakMicros = 0n;
  for (const { atMs, isEnd, hold } of momentsOf(holds)) {
    if (isEnd) {
      if (admitted.has(hold)) used.end(hold, atMs);
      continue;
    }
    const before = used.at(atMs);
    if (before === undefined || before + hold.grantedMicros > amountMicros) {
      refusedCount += 1;
      refusedMicros += hold.costMicros;
      firstRefusedMs ??= atMs;
      continue;
    }
    admitted.add(hold);
    used.begin(hold);
    if (before + hold.grantedMicros > peakMicros) peakMicros = before + hold.grantedMicros;
    if (isMomentary(hold)) used.end(hold, atMs);
  }
  return { count: holds.length, refusedCount, refusedMicros, firstRefusedMs, peakMicros };
}

// At one instant what ends makes room first. One that ended as soon as it was made has no moment of its own to end.
function momentsOf(holds: readonly PastHold[]): Moment[] {
  const moments = holds.flatMap((hold): Moment[] => [
    { atMs: hold.createMs, isEnd: false, hold },
    ...(hold.endMs === undefined || isMomentary(hold) ? [] : [{ atMs: hold.endMs, isEnd: true, hold }]),
  ]);
  return moments.sort((a, b) => a.atMs - b.atMs || Number(b.isEnd) - Number(a.isEnd));
}

function isMomentary({ createMs, endMs }: PastHold): boolean {
  return endMs !== undefined && endMs <= createMs;
}

/** Use of one period after the other; a hold stays in the one in which it was made. */
class PeriodUse {
  readonly #rule: WindowRule;
  readonly #calendar: Calendar;
  readonly #micros = new Map<number, bigint>();

  constructor(rule: WindowRule, calendar: Calendar) {
    this.#rule = rule;
    this.#calendar = calendar;
  }

  at(atMs: number): bigint | undefined {
    const periodMs = this.#periodMs(atMs);
    return periodMs === undefined ? undefined : (this.#micros.get(periodMs) ?? 0n);
  }

  begin({ createMs, grantedMicros }: PastHold): void {
    this.#add(createMs, grantedMicros);
  }

  end({ createMs, grantedMicros, costMicros }: PastHold): void {
    this.#add(createMs, costMicros - grantedMicros);
  }

  #add(atMs: number, micros: bigint): void {
    const periodMs = this.#periodMs(atMs) ?? 0;
    this.#micros.set(periodMs, (this.#micros.get(periodMs) ?? 0n) + micros);
  }

  #periodMs(atMs: number): number | undefined {
    const rule = this.#rule;
    if (rule.kind === 'calendar') return this.#calendar.period(rule, atMs).startMs;
    if (rule.kind !== 'range') return 0;
    return atMs >= rule.startMs && atMs < rule.endMs ? rule.startMs : undefined;
  }
}

/** Use of the time up to now: live holds, and spend since it ended. */
class RollingUse {
  readonly #durationMs: number;
  readonly #spent: { readonly atMs: number; readonly micros: bigint }[] = [];
  #first = 0;
  #micros = 0n;

  constructor(durationMs: number) {
    this.#durationMs = durationMs;
  }

  at(atMs: number): bigint {
    for (let gone = this.#spent[this.#first]; gone !== undefined; gone = this.#spent[this.#first]) {
      if (gone.atMs > atMs - this.#durationMs) break;
      this.#micros -= gone.micros;
      this.#first += 1;
    }
    return this.#micros;
  }

  begin({ grantedMicros }: PastHold): void {
    this.#micros += grantedMicros;
  }

  end({ grantedMicros, costMicros }: PastHold, atMs: number): void {
    this.#micros += costMicros - grantedMicros;
    this.#spent.push({ atMs, micros: costMicros });
  }
}
