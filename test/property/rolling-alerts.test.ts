// Alerts of rolling windows against a naive reckoning: a share is told of when spend reaches it for the first time, and again once it was
// below it, however much is edited, comes late, lapses at once with others or goes out of the window.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { oldestStep, rollingRule, stepOf } from '../../src/kernel/window.ts';
import { KernelDriver } from '../support/kernel-driver.ts';

const RULE = rollingRule(3_600_000);
/** Shares are only ever added: what spend does while a share is not asked for is not told of. */
const SHARES = [[80], [50, 80], [50, 80, 100]] as const;

const micros = fc.integer({ min: 0, max: 60 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('spend' as const), micros }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('hold' as const),
      micros,
      ttlMs: fc.constantFrom(1_000, 1_000, 60_000, 1_800_000),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('settle' as const), ref: fc.nat(5), micros, keepOpen: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(1_000, 29_000, 60_000, 900_000, 3_500_000, 7_200_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('name' as const), owner: fc.string() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('amounts' as const),
      amounts: fc.tuple(fc.integer({ min: 20, max: 150 }), fc.integer({ min: 20, max: 150 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('share' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Hold {
  readonly id: string;
  readonly lapseMs: number;
  held: number;
  estimate: Spend | undefined;
}

interface Spend {
  readonly atMs: number;
  micros: number;
}

/** What was spent when, and which shares were told of since spend was below them. */
class Naive {
  readonly spends: Spend[] = [];
  readonly #armed = new Map<string, boolean>();
  amounts: readonly number[] = [100, 60];
  shareCount = 0;

  used(nowMs: number): number {
    const counting = this.spends.filter(({ atMs }) => stepOf(RULE, atMs) >= oldestStep(RULE, nowMs));
    return counting.reduce((sum, each) => sum + each.micros, 0);
  }

  /** Takes note of shares that spend is below. */
  look(nowMs: number): void {
    for (const [name, isReached] of this.#all(nowMs)) if (!isReached) this.#armed.set(name, true);
  }

  /** What is told then. */
  tell(nowMs: number): string[] {
    const told = this.#all(nowMs).flatMap(([name, isReached]) =>
      isReached && this.#armed.get(name) !== false && this.#isAsked(name) ? [name] : [],
    );
    for (const name of told) this.#armed.set(name, false);
    return told.sort();
  }

  #isAsked(name: string): boolean {
    return SHARES[this.shareCount]?.some((percent) => name.endsWith(` ${percent}`)) === true;
  }

  #all(nowMs: number): [string, boolean][] {
    const used = this.used(nowMs);
    return this.amounts.flatMap((amount, at) =>
      [50, 80, 100].map((percent): [string, boolean] => [
        `${['one', 'two'][at]} ${percent}`,
        used > 0 && used * 100 >= amount * percent,
      ]),
    );
  }
}

class Story {
  readonly driver = new KernelDriver();
  readonly naive = new Naive();
  readonly #holds: Hold[] = [];
  #seen = 0;
  toldCount = 0;

  constructor() {
    const { make } = this.driver;
    const limits = this.#limits();
    this.driver.run(make.create('t', { limits, alertAt: SHARES[0], onExpiry: 'charge' }));
  }

  #limits() {
    const [one = 0, two = 0] = this.naive.amounts;
    return { one: { amount: one, rule: RULE }, two: { amount: two, rule: RULE } };
  }

  play(each: Step): void {
    const { driver } = this;
    if (each.do === 'advance') {
      driver.advance(each.ms);
      this.#happens(
        () => this.#lapse(),
        () => driver.recordLapses(),
      );
      return;
    }
    this.#happens(
      () => this.#reckon(each),
      () => this.#run(each),
    );
  }

  #happens(reckon: () => void, run: () => void): void {
    const { driver, naive } = this;
    naive.look(driver.nowMs);
    // What is held is asked for before it is settled.
    run();
    reckon();
    const told = driver.journal.slice(this.#seen).flatMap((entry) => (entry.type === 'Alerted' ? entry.alerts : []));
    this.#seen = driver.journal.length;
    const names = told.map(({ limit, percent }) => `${limit} ${percent}`).sort();
    this.toldCount += names.length;
    expect(names).toEqual(naive.tell(driver.nowMs));
    naive.look(driver.nowMs);
  }

  #lapse(): void {
    for (const hold of this.#holds) {
      if (hold.lapseMs > this.driver.nowMs || hold.estimate !== undefined) continue;
      hold.estimate = { atMs: hold.lapseMs, micros: hold.held };
      hold.held = 0;
      this.naive.spends.push(hold.estimate);
    }
  }

  #reckon(each: Exclude<Step, { do: 'advance' }>): void {
    const { driver, naive } = this;
    if (each.do === 'spend') naive.spends.push({ atMs: driver.nowMs, micros: each.micros });
    if (each.do !== 'settle') return;
    const hold = this.#holdOf(each.ref);
    if (hold === undefined) return;
    naive.spends.push({ atMs: driver.nowMs, micros: each.micros });
    if (hold.estimate === undefined) hold.held -= Math.min(hold.held, each.micros);
    else hold.estimate.micros -= each.keepOpen ? Math.min(hold.estimate.micros, each.micros) : hold.estimate.micros;
    if (!each.keepOpen) this.#holds.splice(this.#holds.indexOf(hold), 1);
  }

  #holdOf(ref: number): Hold | undefined {
    return this.#holds.at(ref % Math.max(1, this.#holds.length));
  }

  #run(each: Exclude<Step, { do: 'advance' }>): void {
    const { driver, naive } = this;
    const { make } = driver;
    switch (each.do) {
      case 'spend':
        driver.run(make.settle(driver.hold('t', 0), each.micros));
        return;
      case 'hold': {
        const answer = driver.run(make.reserve('t', each.micros, { ttlMs: each.ttlMs }));
        if (answer.kind !== 'reservation') return;
        const { id } = answer.reservation;
        const lapseMs = driver.nowMs + each.ttlMs;
        this.#holds.push({ id, lapseMs, held: each.micros, estimate: undefined });
        return;
      }
      case 'settle': {
        const hold = this.#holdOf(each.ref);
        if (hold !== undefined) driver.run(make.settle(hold.id, each.micros, { keepOpen: each.keepOpen }));
        return;
      }
      case 'name':
        driver.run(make.update('t', { owner: each.owner }));
        return;
      case 'amounts':
        naive.amounts = each.amounts;
        driver.run(make.update('t', { limits: this.#limits() }));
        return;
      case 'share':
        naive.shareCount = Math.min(naive.shareCount + 1, SHARES.length - 1);
        driver.run(make.update('t', { alertAt: SHARES[naive.shareCount] ?? [] }));
    }
  }
}

it('a share is told of when spend reaches it, and again only once it was below it', () => {
  let toldCount = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), (steps) => {
      const story = new Story();
      for (const each of steps) story.play(each);
      toldCount += story.toldCount;
    }),
    { numRuns: 600 },
  );
  expect(toldCount).toBeGreaterThan(1_000);
});
