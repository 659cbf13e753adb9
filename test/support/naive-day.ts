// A day of runs, and a model of who is granted what in it that is as simple as can be: one budget with tenants right below it, one list
// of those who wait, sorted anew for every look. It has its own sums and shares nothing with the kernel but the way in which what a
// tenant spent counts less with time.
import type { Priority } from '../../src/kernel/enforcement.ts';
import { NO_USE, type RecentUse, recentMicros, useAfter } from '../../src/kernel/recent-use.ts';

/** A run of the day: it asks once, holds what it is granted for a while, and spends a part of it. */
export interface Run {
  readonly no: number;
  readonly atMs: number;
  /** How long it holds what it was granted. */
  readonly lastsMs: number;
  readonly tenant: string;
  readonly priority: Priority;
  readonly max: number;
  readonly min: number;
  readonly actual: number;
  readonly waitMs: number;
}

interface Tenant {
  readonly name: string;
  readonly weight: number;
}

const CLASSES: readonly Priority[] = ['background', 'normal', 'interactive', 'critical'];
const HOUR_MS = 3_600_000;

/** Draws the runs of a day: tenants by Zipf, more of them by day than by night. */
export function runsOfDay(of: {
  readonly seed: number;
  readonly count: number;
  readonly tenants: readonly Tenant[];
  readonly startMs: number;
}): Run[] {
  let state = of.seed;
  // A small generator with a seed of its own: the day is the same whatever else is drawn.
  const draw = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(draw() * (to - from + 1));
  const harmonic = of.tenants.reduce((sum, _, at) => sum + 1 / (at + 1), 0);
  const tenant = (): string => {
    let left = draw() * harmonic;
    for (const [at, { name }] of of.tenants.entries()) {
      left -= 1 / (at + 1);
      if (left <= 0) return name;
    }
    return of.tenants[0]?.name ?? '';
  };
  return Array.from({ length: of.count }, (_, no): Run => {
    const hour = draw() < 0.7 ? between(8, 17) : between(0, 23);
    const atMs = of.startMs + hour * HOUR_MS + between(0, HOUR_MS - 1);
    const max = between(1, 40);
    return {
      no,
      atMs,
      lastsMs: between(5_000, 300_000),
      tenant: tenant(),
      priority: CLASSES[Math.min(between(0, 5), 3)] as Priority,
      max,
      min: draw() < 0.3 ? Math.max(1, Math.floor(max / 2)) : max,
      actual: between(0, max),
      waitMs: [0, 30_000, 240_000, 1_200_000][between(0, 3)] as number,
    };
  }).sort((a, b) => a.atMs - b.atMs || a.no - b.no);
}

interface Waiter extends Run {
  readonly seq: number;
  readonly untilMs: number;
}

/** See the head of this file. */
export class NaiveDay {
  readonly #terms: {
    readonly hourly: bigint;
    readonly slots: number;
    readonly tenants: readonly Tenant[];
    readonly ageMs: number;
  };
  readonly told = new Map<number, string>();
  waitedCount = 0;
  #seq = 0;
  #waiting: Waiter[] = [];
  readonly #active = new Map<number, { readonly tenant: string; readonly hour: number; readonly held: bigint }>();
  readonly #settled = new Map<number, bigint>();
  readonly #recent = new Map<string, RecentUse>();

  constructor(terms: {
    readonly hourly: bigint;
    readonly slots: number;
    readonly tenants: readonly Tenant[];
    readonly ageMs: number;
  }) {
    this.#terms = terms;
  }

  begin(run: Run, nowMs: number): void {
    this.look(nowMs);
    this.#seq += 1;
    this.#waiting.push({ ...run, seq: this.#seq, untilMs: nowMs + run.waitMs });
    this.#offer(nowMs);
    if (this.told.has(run.no)) return;
    if (run.waitMs === 0) this.#leave((each) => each.no === run.no);
    else this.waitedCount += 1;
  }

  /** `actual`: no more than it was granted. */
  end(no: number, actual: number, nowMs: number): void {
    this.look(nowMs);
    const run = this.#active.get(no);
    if (run === undefined) throw new Error(`run ${no} is not active`);
    this.#active.delete(no);
    this.#settled.set(run.hour, (this.#settled.get(run.hour) ?? 0n) + BigInt(actual));
    if (actual > 0)
      this.#recent.set(run.tenant, useAfter(this.#recent.get(run.tenant) ?? NO_USE, BigInt(actual), nowMs));
    this.#offer(nowMs);
  }

  look(nowMs: number): void {
    this.#leave(({ untilMs }) => untilMs <= nowMs);
    this.#offer(nowMs);
  }

  #leave(goes: (waiter: Waiter) => boolean): void {
    for (const { no } of this.#waiting.filter(goes)) this.told.set(no, 'refused');
    this.#waiting = this.#waiting.filter((each) => !goes(each));
  }

  // Whoever is first takes what there is, or keeps everybody waiting: all of them need the same.
  #offer(nowMs: number): void {
    for (;;) {
      const first = this.#waiting.toSorted((a, b) => this.#compare(a, b, nowMs))[0];
      if (first === undefined || this.#active.size >= this.#terms.slots) return;
      const hour = Math.floor(nowMs / HOUR_MS);
      const left = this.#left(hour);
      if (left < BigInt(first.min)) return;
      const held = min(BigInt(first.max), left);
      this.#waiting = this.#waiting.filter((each) => each !== first);
      this.#active.set(first.no, { tenant: first.tenant, hour, held });
      this.told.set(first.no, String(held));
    }
  }

  #left(hour: number): bigint {
    let used = this.#settled.get(hour) ?? 0n;
    for (const each of this.#active.values()) if (each.hour === hour) used += each.held;
    return this.#terms.hourly - used;
  }

  #compare(a: Waiter, b: Waiter, nowMs: number): number {
    const ranks = this.#rank(b, nowMs) - this.#rank(a, nowMs);
    if (ranks !== 0) return ranks;
    if (a.tenant !== b.tenant) {
      const difference =
        this.#use(a.tenant, nowMs) * this.#weight(b.tenant) - this.#use(b.tenant, nowMs) * this.#weight(a.tenant);
      if (difference !== 0n) return difference < 0n ? -1 : 1;
    }
    return a.seq - b.seq;
  }

  #rank({ priority, untilMs, waitMs }: Waiter, nowMs: number): number {
    return Math.min(3, CLASSES.indexOf(priority) + Math.floor((nowMs - untilMs + waitMs) / this.#terms.ageMs));
  }

  #use(tenant: string, nowMs: number): bigint {
    let held = 0n;
    for (const each of this.#active.values()) if (each.tenant === tenant) held += each.held;
    // Reckoned anew every ten seconds.
    return held + recentMicros(this.#recent.get(tenant) ?? NO_USE, Math.floor(nowMs / 10_000) * 10_000);
  }

  #weight(tenant: string): bigint {
    return BigInt(this.#terms.tenants.find(({ name }) => name === tenant)?.weight ?? 1);
  }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
