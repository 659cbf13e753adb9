// What a request may have, worked out from docs/semantics.md by adding up holds and spends one by one: floors, shares, kept capacity,
// modes and windows, and nothing of the kernel but the rules of windows. Amounts are small enough for plain numbers.
import type { Enforcement, Priority } from '../../src/kernel/enforcement.ts';
import { oldestStep, stepOf, type WindowRule } from '../../src/kernel/window.ts';
import { UTC_CALENDAR } from './utc-calendar.ts';

const CLASSES: readonly Priority[] = ['background', 'normal', 'interactive', 'critical'];

/** What the oracle knows of a budget. */
export interface OracleTerms {
  readonly limits: readonly { readonly amount: number; readonly rule: WindowRule }[];
  readonly enforcement: Pick<Enforcement, 'mode' | 'toleranceMicros' | 'kept'>;
  readonly floor: number;
  readonly share: number | undefined;
}

interface OracleBudget extends OracleTerms {
  /** Since when it counts by each rule. */
  readonly since: ReadonlyMap<string, number>;
}

/** A reservation, with all budgets that it charges. */
interface OracleHold {
  readonly paths: readonly string[];
  readonly createMs: number;
  readonly priority: Priority;
  held: number;
  spend: { readonly atMs: number; readonly micros: number } | undefined;
}

/** What one limit has for a request: now, once holds came back, and of a whole amount. Infinite where its budget only watches. */
export interface Claim {
  readonly path: string;
  readonly now: number;
  readonly unspent: number;
  readonly whole: number;
  /** What it covers of a cost beyond the hold; of one that only watches, what is not spent. */
  readonly covers: number;
}

/** A child's floor under one limit: what is kept for it. */
export interface FloorLeft {
  readonly key: string;
  readonly child: string;
  readonly micros: number;
}

type Counting = (hold: OracleHold) => number;

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const keyOf = (rule: WindowRule): string => JSON.stringify(rule);

/** See the head of this file. */
export class ShareOracle {
  readonly #budgets = new Map<string, OracleBudget>();
  readonly #holds = new Map<string, OracleHold>();
  /** Children with a floor or a share, in the order in which they were given one, and since when. */
  readonly #listed = new Map<string, number>();
  nowMs = 0;

  has(path: string): boolean {
    return this.#budgets.has(path);
  }

  hold(id: string): OracleHold | undefined {
    return this.#holds.get(id);
  }

  /** Makes or edits a budget. */
  put(path: string, terms: OracleTerms): void {
    const before = this.#budgets.get(path);
    const since = new Map(terms.limits.map(({ rule }) => [keyOf(rule), before?.since.get(keyOf(rule)) ?? this.nowMs]));
    this.#budgets.set(path, { ...terms, since });
    if (terms.floor === 0 && terms.share === undefined) this.#listed.delete(path);
    else if (!this.#listed.has(path)) this.#listed.set(path, this.nowMs);
  }

  terms(path: string): OracleTerms | undefined {
    return this.#budgets.get(path);
  }

  close(path: string): void {
    this.#listed.delete(path);
  }

  /** Forgets a budget that was not made after all. */
  remove(path: string): void {
    this.#budgets.delete(path);
    this.#listed.delete(path);
  }

  grant(id: string, paths: readonly string[], priority: Priority, held: number): void {
    this.#holds.set(id, { paths, createMs: this.nowMs, priority, held, spend: undefined });
  }

  end(id: string, micros: number): void {
    const hold = this.#holds.get(id) as OracleHold;
    hold.held = 0;
    hold.spend = { atMs: this.nowMs, micros };
  }

  /** What every limit on these budgets has for a request that was admitted at `createMs`. */
  claims(paths: readonly string[], priority: Priority, createMs: number): Claim[] {
    return paths.flatMap((path) => {
      const budget = this.#budgets.get(path) as OracleBudget;
      return budget.limits.flatMap(({ amount, rule }) =>
        this.#counts(budget, rule, createMs) ? [this.#claim(path, amount, rule, paths, priority, createMs)] : [],
      );
    });
  }

  #claim(
    path: string,
    amount: number,
    rule: WindowRule,
    paths: readonly string[],
    priority: Priority,
    createMs: number,
  ): Claim {
    const { mode, toleranceMicros, kept } = (this.#budgets.get(path) as OracleBudget).enforcement;
    const spent = amount - this.#used(path, undefined, rule, createMs, this.#spentIn(rule));
    if (mode === 'observe' || mode === 'warn') {
      const all = Number.POSITIVE_INFINITY;
      return { path, now: all, unspent: all, whole: all, covers: spent };
    }
    const tolerance = mode === 'soft' ? Number(toleranceMicros) : 0;
    const above = kept.filter((each) => CLASSES.indexOf(each.priority) > CLASSES.indexOf(priority));
    const urgent = sum(above.map(({ micros }) => Number(micros)));
    const of = (counting: Counting, keptMicros: number): number => {
      const left = amount - this.#used(path, undefined, rule, createMs, counting);
      const floors = this.#floors(path, rule, createMs, left + tolerance, counting);
      const others = sum(floors.filter(({ child }) => !paths.includes(child)).map(({ micros }) => micros));
      const shares = this.#children(path, rule, createMs).flatMap((child) => {
        const share = this.#budgets.get(child)?.share;
        if (share === undefined || !paths.includes(child)) return [];
        // The largest use with use x 100 <= amount x percent.
        let most = amount;
        while (most * 100 > amount * share) most -= 1;
        return [most - this.#used(path, child, rule, createMs, counting)];
      });
      return Math.min(left + tolerance - keptMicros - others, ...shares);
    };
    const all: Counting = (hold) => hold.held + this.#spentIn(rule)(hold);
    return {
      path,
      now: of(all, urgent),
      unspent: of(this.#spentIn(rule), urgent),
      whole: of(() => 0, urgent),
      covers: of(all, 0),
    };
  }

  /** What is kept for each floor under each limit of the budgets that bind, as it is now. */
  floorsLeft(): FloorLeft[] {
    return [...this.#budgets].flatMap(
      ([
        path,
        {
          limits,
          enforcement: { mode, toleranceMicros },
        },
      ]) => {
        if (mode === 'observe' || mode === 'warn') return [];
        const tolerance = mode === 'soft' ? Number(toleranceMicros) : 0;
        return limits.flatMap(({ amount, rule }) => {
          const all: Counting = (hold) => hold.held + this.#spentIn(rule)(hold);
          const left = amount - this.#used(path, undefined, rule, this.nowMs, all) + tolerance;
          return this.#floors(path, rule, this.nowMs, left, all);
        });
      },
    );
  }

  /** What is used through a child of each limit above it, and the amount: for those that bind and have a share. */
  sharesUsed(child: string): { readonly used: number; readonly amount: number; readonly share: number }[] {
    const share = this.#budgets.get(child)?.share;
    const path = parentOf(child);
    const above = this.#budgets.get(path);
    if (share === undefined || above === undefined || !this.#listed.has(child)) return [];
    if (above.enforcement.mode === 'observe' || above.enforcement.mode === 'warn') return [];
    return above.limits.map(({ amount, rule }) => {
      const all: Counting = (hold) => hold.held + this.#spentIn(rule)(hold);
      return { used: this.#used(path, child, rule, this.nowMs, all), amount, share };
    });
  }

  #floors(path: string, rule: WindowRule, createMs: number, left: number, counting: Counting): FloorLeft[] {
    let free = Math.max(0, left);
    return this.#children(path, rule, createMs).map((child) => {
      const floor = this.#budgets.get(child)?.floor ?? 0;
      const unused = Math.max(0, floor - this.#used(path, child, rule, createMs, counting));
      const micros = Math.min(unused, free);
      free -= micros;
      return { key: `${path} ${keyOf(rule)} ${child}`, child, micros };
    });
  }

  // A calendar counts a child apart from the period on in which it was given its floor or share.
  #children(path: string, rule: WindowRule, createMs: number): string[] {
    return [...this.#listed].flatMap(([child, sinceMs]) => {
      if (parentOf(child) !== path) return [];
      return rule.kind === 'calendar' && startOf(rule, createMs) < startOf(rule, sinceMs) ? [] : [child];
    });
  }

  #counts({ since }: OracleBudget, rule: WindowRule, createMs: number): boolean {
    if (rule.kind !== 'calendar') return true;
    return startOf(rule, createMs) >= startOf(rule, since.get(keyOf(rule)) as number);
  }

  #used(path: string, child: string | undefined, rule: WindowRule, createMs: number, counting: Counting): number {
    const counted = [...this.#holds.values()].filter(
      (hold) => hold.paths.includes(path) && (child === undefined || hold.paths.includes(child)),
    );
    const inPeriod = (hold: OracleHold): boolean =>
      rule.kind !== 'calendar' || startOf(rule, hold.createMs) === startOf(rule, createMs);
    return sum(counted.filter(inPeriod).map(counting));
  }

  #spentIn(rule: WindowRule): Counting {
    return ({ spend }) => {
      if (spend === undefined) return 0;
      const isGone = rule.kind === 'rolling' && stepOf(rule, spend.atMs) < oldestStep(rule, this.nowMs);
      return isGone ? 0 : spend.micros;
    };
  }
}

function startOf(rule: WindowRule, atMs: number): number {
  return rule.kind === 'calendar' ? UTC_CALENDAR.period(rule, atMs).startMs : 0;
}
