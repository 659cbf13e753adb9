// Definitions of budgets from their terms, and terms that are edited: how limits, windows and rates get their numbers. A call
// and a template make budgets the same way.
import {
  type BudgetDef,
  type BudgetState,
  type BudgetTerms,
  EMPTY_LIFETIME,
  type LimitDef,
  type LimitInput,
  type WindowDef,
} from './budget.ts';
import { ownWindowOf } from './child-share.ts';
import type { BudgetPath } from './names.ts';
import { ANY_MODEL, modelsAfter } from './price.ts';
import type { RateDef, RateInput } from './rate.ts';
import { type Calendar, sameRule } from './window.ts';
import { firstPeriodOf } from './window-history.ts';

/** What a new budget has beside its terms. */
export interface NewBudget {
  readonly no: number;
  readonly path: BudgetPath;
  readonly parentNo: number | undefined;
  readonly owner: string;
  readonly unit: string;
}

const LIFETIME: WindowDef = { no: 0, rule: { kind: 'lifetime' }, firstPeriodMs: 0 };

/** The definition of a budget that is made at `nowMs`. */
export function newDef(fresh: NewBudget, terms: BudgetTerms, nowMs: number, calendar: Calendar): BudgetDef {
  const counted = { windows: [LIFETIME], windowNoMax: 0, limits: [], limitNoMax: 0 };
  return {
    ...fresh,
    kind: terms.budgetKind,
    uncapped: terms.uncapped,
    ...limitsAfter(counted, terms.limits, nowMs, calendar),
    ...ratesAfter({ rates: [], rateNoMax: 0 }, terms.rates),
    shape: terms.shape,
    onExpiry: terms.onExpiry,
    overrun: terms.overrun,
    enforcement: terms.enforcement,
    alertAt: terms.alertAt,
    weight: terms.weight,
    floorMicros: terms.floorMicros,
    sharePercent: terms.sharePercent,
    childShares: [],
    models: modelsAfter(ANY_MODEL, terms.models),
    childTemplate: terms.childTemplate,
    suspended: false,
    closed: false,
    revision: 1,
    createMs: nowMs,
    updateMs: nowMs,
  };
}

/** A budget right after it was made, and nothing was charged to it. */
export function newBudgetState(def: BudgetDef): BudgetState {
  return {
    def,
    counters: [EMPTY_LIFETIME],
    steps: [],
    rateLevels: [],
    alertMarks: [],
    activeCount: 0,
    openChildCount: 0,
    movedMs: def.createMs,
    labels: [],
  };
}

type Limits = Pick<BudgetDef, 'windows' | 'windowNoMax' | 'limits' | 'limitNoMax'>;

/**
 * Limits after an edit that states all of them. A limit that keeps its name keeps its number, and a window that keeps its rule
 * keeps its number too: what is used stays used. A window that no limit names any more goes; those of children are the caller's.
 */
export function limitsAfter(before: Limits, inputs: readonly LimitInput[], nowMs: number, calendar: Calendar): Limits {
  let { limitNoMax, windowNoMax } = before;
  const windows: WindowDef[] = before.windows.filter(
    ({ no, rule, childNo }) => no === 0 || childNo !== undefined || inputs.some((input) => sameRule(input.rule, rule)),
  );
  const limits = inputs.map(({ name, rule, amountMicros }): LimitDef => {
    let window = ownWindowOf(windows, rule);
    if (window === undefined) {
      windowNoMax += 1;
      window = { no: windowNoMax, rule, firstPeriodMs: firstPeriodOf(rule, nowMs, calendar) };
      windows.push(window);
    }
    const known = before.limits.find((limit) => limit.name === name);
    if (known === undefined) limitNoMax += 1;
    const topUp = known?.windowNo === window.no ? known.topUp : undefined;
    return { no: known?.no ?? limitNoMax, name, windowNo: window.no, amountMicros, topUp };
  });
  const same = windows.length === before.windows.length && windowNoMax === before.windowNoMax;
  return { windows: same ? before.windows : windows, windowNoMax, limits, limitNoMax };
}

/** Rates after an edit that states all of them. One of the same kind and time keeps its number, and so what was used of it. */
export function ratesAfter(
  before: Pick<BudgetDef, 'rates' | 'rateNoMax'>,
  inputs: readonly RateInput[],
): Pick<BudgetDef, 'rates' | 'rateNoMax'> {
  let { rateNoMax } = before;
  const rates = inputs.map((input): RateDef => {
    const known = before.rates.find(({ kind, perMs }) => kind === input.kind && perMs === input.perMs);
    if (known === undefined) rateNoMax += 1;
    return { ...input, no: known?.no ?? rateNoMax };
  });
  return { rates, rateNoMax };
}
