// Floors and shares against an oracle that adds up holds and spends one by one: what is granted, refused and covered is that to the
// unit. No grant and no covered cost takes from a floor of somebody else, and none passes a share.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer, ReservationAnswer } from '../../src/kernel/answer.ts';
import type { Mode, Priority } from '../../src/kernel/enforcement.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { rollingRule, type WindowRule } from '../../src/kernel/window.ts';
import type { LimitsOption } from '../support/commands.ts';
import { budgetOf, KernelDriver } from '../support/kernel-driver.ts';
import { type Claim, type OracleTerms, ShareOracle } from '../support/share-oracle.ts';
import { DAY_MS, HOUR_MS } from '../support/windows.ts';

const PATHS = ['t', 't/a', 't/b', 't/a/x', 't/a/y'] as const;
// Made from the template of t by a Reserve.
const RUNS = ['t/r1', 't/r2'] as const;
const RULES: readonly WindowRule[] = [
  { kind: 'lifetime' },
  { kind: 'calendar', unit: 'hour', timeZone: 'UTC' },
  { kind: 'calendar', unit: 'day', timeZone: 'UTC' },
  rollingRule(HOUR_MS),
];

const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 2) => fc.option(arbitrary, { nil: undefined, freq });
const micros = fc.integer({ min: 0, max: 60 });
const limits = (min: number) =>
  fc.uniqueArray(fc.record({ amount: fc.integer({ min, max: 150 }), rule: fc.constantFrom(...RULES) }), {
    selector: ({ rule }) => JSON.stringify(rule),
    minLength: min === 0 ? 0 : 1,
    maxLength: 2,
  });
const floor = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 45 }));
const share = maybe(fc.integer({ min: 1, max: 100 }), 3);
const enforcement = fc.record({
  mode: fc.oneof({ weight: 5, arbitrary: fc.constant<Mode>('enforce') }, fc.constantFrom<Mode[]>('soft', 'observe')),
  toleranceMicros: fc.bigInt(0n, 20n),
  kept: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    fc
      .record({ priority: fc.constantFrom<Priority[]>('interactive', 'critical'), micros: fc.bigInt(1n, 25n) })
      .map((kept) => [kept]),
  ),
});
const terms = fc.record({ limits: limits(0), enforcement, floor, share });
const ref = fc.nat(9);
const least = fc.oneof(fc.constant(0), micros);

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      paths: fc.uniqueArray(fc.constantFrom(...PATHS, ...RUNS), { minLength: 1, maxLength: 2 }),
      max: micros,
      min: least,
      priority: fc.constantFrom<Priority[]>('background', 'normal', 'critical'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('extend' as const), ref, add: micros, min: least }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), ref, actual: micros }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), ref }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 2 * HOUR_MS }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('share' as const), path: fc.constantFrom(...PATHS, ...RUNS), floor, share }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('limits' as const),
      path: fc.constantFrom('t' as const, 't/a' as const),
      limits: limits(20),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('enforce' as const),
      path: fc.constantFrom('t' as const, 't/a' as const),
      enforcement,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('close' as const), path: fc.constantFrom('t/a/y' as const, ...RUNS) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const limitsOption = (given: OracleTerms['limits']): LimitsOption =>
  Object.fromEntries(given.map(({ amount, rule }, i) => [`l${i}${JSON.stringify(rule).length}`, { amount, rule }]));

const chain = (path: string): string[] => path.split('/').map((_, i, segments) => segments.slice(0, i + 1).join('/'));

const seen = { floors: 0, shares: 0, covered: 0, never: 0, exhausted: 0, held: 0, made: 0 };

/** The kernel and the oracle, side by side. */
class Pair {
  readonly driver = new KernelDriver();
  readonly oracle = new ShareOracle();
  readonly #ids: string[] = [];
  readonly #template: OracleTerms;

  constructor(all: readonly OracleTerms[], template: OracleTerms) {
    this.#template = template;
    this.oracle.nowMs = this.driver.nowMs;
    for (const [i, path] of PATHS.entries()) {
      const own = all[i] as OracleTerms;
      const stated = path === 't' ? { ...own, floor: 0, share: undefined } : own;
      const of = path === 't' ? { template: this.driver.make.terms(this.#optionsOf(template)) } : {};
      const answer = this.driver.run(this.driver.make.create(path, { ...this.#optionsOf(stated), ...of }));
      // Floors that are plainly too much are refused: then it has none.
      const given = answer.kind === 'budget' ? stated : { ...stated, floor: 0, share: undefined };
      if (answer.kind !== 'budget')
        budgetOf(this.driver.run(this.driver.make.create(path, { ...this.#optionsOf(given), ...of })));
      this.oracle.put(path, given);
    }
  }

  #optionsOf({ limits: given, enforcement: how, floor: floorMicros, share: percent }: OracleTerms) {
    const common = { limits: limitsOption(given), enforcement: how, floor: floorMicros };
    return percent === undefined ? common : { ...common, share: percent };
  }

  play(each: Step): void {
    const { driver, oracle } = this;
    const { make } = driver;
    switch (each.do) {
      case 'advance':
        driver.advance(each.ms);
        oracle.nowMs = driver.nowMs;
        return;
      case 'reserve':
        this.#reserve(each);
        return;
      case 'extend': {
        const id = this.#id(each.ref);
        if (id !== undefined) this.#extend(id, each.add, Math.min(each.min, each.add));
        return;
      }
      case 'settle':
      case 'release': {
        const id = this.#id(each.ref);
        if (id !== undefined) this.#end(id, each.do === 'settle' ? each.actual : undefined);
        return;
      }
      case 'share': {
        const before = oracle.terms(each.path);
        if (before === undefined) return;
        const answer = driver.run(make.update(each.path, { floor: each.floor, share: { to: each.share } }));
        if (answer.kind === 'budget') oracle.put(each.path, { ...before, floor: each.floor, share: each.share });
        return;
      }
      case 'limits':
      case 'enforce': {
        const before = oracle.terms(each.path) as OracleTerms;
        const after =
          each.do === 'limits' ? { ...before, limits: each.limits } : { ...before, enforcement: each.enforcement };
        const edit = each.do === 'limits' ? { limits: limitsOption(each.limits) } : { enforcement: each.enforcement };
        budgetOf(driver.run(make.update(each.path, edit)));
        oracle.put(each.path, after);
        return;
      }
      case 'close':
        if (!oracle.has(each.path)) return;
        driver.run(make.close(each.path));
        oracle.close(each.path);
    }
  }

  #id(back: number): string | undefined {
    return this.#ids.length === 0 ? undefined : this.#ids.at(-1 - (back % this.#ids.length));
  }

  #reserve({ paths, max, min: wanted, priority }: Extract<Step, { do: 'reserve' }>): void {
    const { driver, oracle } = this;
    const min = Math.min(wanted, max);
    const [path = 't', ...also] = paths;
    const charged = [...new Set([path, ...also].flatMap(chain))].sort(
      (a, b) => a.split('/').length - b.split('/').length,
    );
    const made = [path, ...also].flatMap(chain).filter((each, i, all) => !oracle.has(each) && all.indexOf(each) === i);
    for (const each of made) oracle.put(each, this.#template);
    const before = oracle.floorsLeft();
    const claims = oracle.claims(charged, priority, driver.nowMs);
    const answer = driver.run(driver.make.reserve(path, max, { also, min, priority, ttlMs: 99 * DAY_MS }));
    const grantedMicros = this.#judge(answer, claims, max, min);
    if (grantedMicros === undefined) {
      for (const each of made) oracle.remove(each);
      return;
    }
    seen.made += made.length;
    const { id } = (answer as ReservationAnswer).reservation;
    this.#ids.push(id);
    oracle.grant(id, charged, priority, grantedMicros);
    this.#expectKept(before, charged, grantedMicros > 0);
  }

  #extend(id: string, add: number, min: number): void {
    const hold = this.oracle.hold(id);
    if (hold === undefined || hold.spend !== undefined) return;
    const before = this.oracle.floorsLeft();
    const claims = this.oracle.claims(hold.paths, hold.priority, hold.createMs);
    const answer = this.driver.run(this.driver.make.extend(id, add, { min }));
    const addedMicros = this.#judge(answer, claims, add, min, hold.held);
    if (addedMicros === undefined) return;
    hold.held += addedMicros;
    this.#expectKept(before, hold.paths, false);
  }

  /** Expects the answer that the claims give; what was granted of it, undefined where it was refused. */
  #judge(answer: Answer, claims: readonly Claim[], max: number, min: number, before = 0): number | undefined {
    if (answer.kind === 'refusal' && answer.reason === 'BUDGET_CLOSED') return undefined;
    const least = Math.max(0, Math.min(...claims.map(({ now }) => now)));
    if (least >= min) {
      expect(answer.kind, JSON.stringify(claims)).toBe('reservation');
      const { grantedMicros } = (answer as ReservationAnswer).reservation.figures;
      const granted = Math.min(max, least);
      // What was held before, and came on top of it.
      expect(Number(grantedMicros) - before, JSON.stringify(claims)).toBe(granted);
      return granted;
    }
    const failing = claims.filter(({ now }) => Math.max(0, now) < min);
    const never = failing.some(({ whole, unspent }) => whole < min && unspent < min);
    const exhausted = failing.some(({ unspent }) => Math.max(0, unspent) < min);
    const reason = never ? 'EXCEEDS_LIMIT' : exhausted ? 'BUDGET_EXHAUSTED' : 'CAPACITY_HELD';
    seen[never ? 'never' : exhausted ? 'exhausted' : 'held'] += 1;
    expect(answer).toMatchObject({ kind: 'refusal', reason });
    const largest = Math.max(0, Math.min(...claims.map(({ whole, unspent }) => Math.max(whole, unspent))));
    expect((answer as Refusal).largestMicros).toBe(never ? BigInt(largest) : undefined);
    return undefined;
  }

  #end(id: string, actual: number | undefined): void {
    const { driver, oracle } = this;
    const hold = oracle.hold(id);
    if (hold === undefined || hold.spend !== undefined) return;
    if (actual === undefined) {
      driver.run(driver.make.release(id));
      oracle.end(id, 0);
      return;
    }
    const before = oracle.floorsLeft();
    const claims = oracle.claims(hold.paths, hold.priority, hold.createMs);
    const answer = driver.run(driver.make.settle(id, actual));
    const covered = Math.min(
      actual,
      ...claims.map(({ covers, now }) =>
        now === Number.POSITIVE_INFINITY ? Math.max(0, covers) : hold.held + Math.max(0, covers),
      ),
    );
    expect(answer, JSON.stringify(claims)).toMatchObject({
      reservation: { figures: { settledMicros: BigInt(covered), overrunMicros: BigInt(actual - covered) } },
    });
    if (actual > hold.held) seen.covered += 1;
    oracle.end(id, actual);
    if (covered === actual) this.#expectKept(before, hold.paths, false);
  }

  // Overrun is spent, whatever was kept; all else leaves floors of others as they are.
  #expectKept(before: ReturnType<ShareOracle['floorsLeft']>, through: readonly string[], grew: boolean): void {
    const after = new Map(this.oracle.floorsLeft().map(({ key, micros: left }) => [key, left]));
    for (const { key, child, micros: left } of before) {
      if (through.includes(child)) continue;
      if (left > 0) seen.floors += 1;
      expect(after.get(key), key).toBeGreaterThanOrEqual(left);
    }
    if (!grew) return;
    for (const { used, amount, share: percent } of through.flatMap((path) => this.oracle.sharesUsed(path))) {
      seen.shares += 1;
      expect(used * 100).toBeLessThanOrEqual(amount * percent);
    }
  }
}

it('grants, refuses and covers what an oracle says that adds up every hold', () => {
  const story = fc.record({
    root: fc.record({ limits: limits(40), enforcement, floor: fc.constant(0), share: fc.constant(undefined) }),
    rest: fc.array(terms, { minLength: PATHS.length - 1, maxLength: PATHS.length - 1 }),
    template: terms,
    steps: fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }),
  });
  fc.assert(
    fc.property(fc.noBias(story), ({ root, rest, template, steps }) => {
      const pair = new Pair([root, ...rest], template);
      for (const each of steps) pair.play(each);
    }),
    { numRuns: 400 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(50);
});
