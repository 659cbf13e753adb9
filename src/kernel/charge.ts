// What a reservation charges: the budgets on all its paths, each once, and of each the accounts of its windows. Stands alone
// because asking, settling, lapsing and reading must find the same accounts.
import type { Account, BudgetState, PeriodAccounts, WindowDef } from './budget.ts';
import { windowsThrough } from './child-share.ts';
import type { Effect } from './entry.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import { type Calendar, isOpen, oldestStep, type RollingRule, rollingRuleOf, stepOf } from './window.ts';

/** Budgets and accounts in one order: nearest the root first, the accounts of one budget side by side, lifetime first. */
export interface Charge {
  readonly budgets: readonly BudgetState[];
  readonly accounts: readonly Account[];
}

/** Accounts of `budgets` in the periods of `atMs`. */
export function accountsAt(budgets: readonly BudgetState[], atMs: number, calendar: Calendar): PeriodAccounts {
  const accounts: Account[] = [];
  let fromMs = Number.NEGATIVE_INFINITY;
  let untilMs = Number.POSITIVE_INFINITY;
  const isOn = (no: number): boolean => budgets.some(({ def }) => def.no === no);
  for (const { def } of budgets) {
    for (const window of windowsThrough(def, isOn)) {
      const { rule } = window;
      if (rule.kind === 'calendar') {
        const { startMs, endMs } = calendar.period(rule, atMs);
        fromMs = Math.max(fromMs, startMs);
        untilMs = Math.min(untilMs, endMs);
      }
      accounts.push({ budgetNo: def.no, windowNo: window.no, periodMs: periodAt(window, atMs, calendar) });
    }
  }
  return { accounts, fromMs, untilMs };
}

/** What a new reservation on a chain of existing budgets charges; its accounts are shared by all of its period. */
export function chainCharge(state: TreeState, chain: readonly BudgetState[], atMs: number, calendar: Calendar): Charge {
  const leaf = chain.at(-1) as BudgetState;
  let known = state.accountsOf(leaf.def.no, atMs);
  if (known === undefined) {
    known = accountsAt(chain, atMs, calendar);
    state.rememberAccounts(leaf.def.no, known);
  }
  return { budgets: chain, accounts: known.accounts };
}

/**
 * What a new reservation on several chains of existing budgets charges. Its accounts are those of the chains, so that many
 * reservations that are live at once share them.
 */
export function chainsCharge(
  state: TreeState,
  chains: readonly (readonly BudgetState[])[],
  atMs: number,
  calendar: Calendar,
): Charge {
  const budgets = union(chains);
  const byBudget = new Map<number, Account[]>();
  for (const chain of chains) {
    for (const account of chainCharge(state, chain, atMs, calendar).accounts) {
      const own = byBudget.get(account.budgetNo);
      if (own === undefined) byBudget.set(account.budgetNo, [account]);
      // Through another child it is in other windows of the same budget.
      else if (!own.some(({ windowNo }) => windowNo === account.windowNo)) own.push(account);
    }
  }
  return { budgets, accounts: budgets.flatMap(({ def }) => byBudget.get(def.no) ?? []) };
}

/** Budgets on several paths, each once, nearest the root first; of the same depth in the order of the paths. */
export function union(chains: readonly (readonly BudgetState[])[]): BudgetState[] {
  const byPath = new Map(chains.flat().map((budget) => [budget.def.path, budget]));
  return [...byPath.values()].sort((a, b) => depthOf(a) - depthOf(b));
}

/** Segments of a budget's path. */
function depthOf({ def }: BudgetState): number {
  return def.path.split('/').length;
}

/**
 * What a reservation charges: its own accounts, without windows that are gone from their budgets, and with windows that came
 * to be after it, in the period of its admission where they count that.
 */
export function reservationCharge(state: TreeState, reservation: Reservation, calendar: Calendar): Charge {
  const budgets: BudgetState[] = [];
  let asAdmitted = true;
  let hasShares = false;
  let windowCount = 0;
  for (const { budgetNo, windowNo } of reservation.accounts) {
    let budget = budgets.at(-1);
    if (budget?.def.no !== budgetNo) {
      budget = state.mustBudget(budgetNo);
      budgets.push(budget);
      windowCount += budget.def.windows.length;
      if (budget.def.childShares.length > 0) hasShares = true;
    }
    if (windowNo !== 0 && !budget.def.windows.some(({ no }) => no === windowNo)) asAdmitted = false;
  }
  const isOn = (no: number): boolean => budgets.some(({ def }) => def.no === no);
  if (hasShares) windowCount = budgets.reduce((count, { def }) => count + windowsThrough(def, isOn).length, 0);
  if (asAdmitted && windowCount === reservation.accounts.length) return { budgets, accounts: reservation.accounts };
  return { budgets, accounts: budgets.flatMap((budget) => accountsNow(budget, reservation, isOn, calendar)) };
}

function accountsNow(
  { def }: BudgetState,
  reservation: Reservation,
  isOn: (no: number) => boolean,
  calendar: Calendar,
): Account[] {
  return windowsThrough(def, isOn).flatMap((window) => {
    const own = reservation.accounts.find((each) => each.budgetNo === def.no && each.windowNo === window.no);
    if (own !== undefined) return [own];
    const periodMs = periodAt(window, reservation.createMs, calendar);
    const isIn = isOpen(window.rule, reservation.createMs) && periodMs >= window.firstPeriodMs;
    return isIn ? [{ budgetNo: def.no, windowNo: window.no, periodMs }] : [];
  });
}

function periodAt({ rule }: WindowDef, atMs: number, calendar: Calendar): number {
  switch (rule.kind) {
    case 'range':
      return rule.startMs;
    case 'calendar':
      return calendar.period(rule, atMs).startMs;
    default:
      return 0;
  }
}

/** How much a reservation moves at every level. */
export interface Movement {
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
  /** Change of the number of live reservations. */
  readonly active: number;
  /** Part of the settled amount that takes back what was assumed at an earlier instant; undefined: none. */
  readonly replaces?: { readonly micros: bigint; readonly atMs: number } | undefined;
}

/**
 * The effects of a movement that settles at `atMs`. Where no rolling window is concerned it is one, on the very accounts given.
 * In rolling windows what is held is one account and what is spent goes to the step of `atMs`; an estimate is taken out of the
 * step that it was put into, unless that does not count any more.
 */
export function effectsOf({ budgets, accounts }: Charge, movement: Movement, atMs: number): Effect[] {
  const { heldMicros, settledMicros, overrunMicros, active, replaces } = movement;
  const effect: Effect = { heldMicros, settledMicros, overrunMicros, active, accounts };
  const spends = settledMicros !== 0n || overrunMicros !== 0n || replaces !== undefined;
  const parts = spends ? partsOf(budgets, accounts) : undefined;
  if (parts === undefined || parts.rolling.length === 0) return [effect];
  const { plain, holds, rolling } = parts;
  const effects: Effect[] = [{ ...effect, accounts: plain }];
  if (heldMicros !== 0n) effects.push({ ...effect, settledMicros: 0n, overrunMicros: 0n, active: 0, accounts: holds });
  const replacedMicros = replaces?.micros ?? 0n;
  const spent = { heldMicros: 0n, settledMicros: settledMicros + replacedMicros, overrunMicros, active: 0 };
  if (spent.settledMicros !== 0n || overrunMicros !== 0n) effects.push({ ...spent, accounts: stepsAt(parts, atMs) });
  if (replaces !== undefined && replacedMicros !== 0n) {
    const counting = rolling.filter(({ rule }) => stepCounts(rule, replaces.atMs, atMs));
    if (counting.length > 0) {
      effects.push({
        heldMicros: 0n,
        settledMicros: -replacedMicros,
        overrunMicros: 0n,
        active: 0,
        accounts: counting.map((each) => stepAccount(each, replaces.atMs)),
      });
    }
  }
  return effects;
}

/** What is held in a rolling window. */
interface RollingAccount {
  readonly account: Account;
  readonly rule: RollingRule;
}

/** Accounts by the way spend goes to them. */
interface Parts {
  readonly plain: readonly Account[];
  readonly rolling: readonly RollingAccount[];
  readonly holds: readonly Account[];
  /** The steps that were moved last. */
  steps: readonly Account[];
}

// One for all reservations that share their accounts, so that their effects share theirs: what is written of an account once
// need not be written again. A window keeps its number and its rule for ever.
const partsByAccounts = new WeakMap<readonly Account[], Parts>();

function partsOf(budgets: readonly BudgetState[], accounts: readonly Account[]): Parts {
  const known = partsByAccounts.get(accounts);
  if (known !== undefined) return known;
  const rolling: RollingAccount[] = [];
  let at = 0;
  for (const account of accounts) {
    while (budgets[at]?.def.no !== account.budgetNo) at += 1;
    const rule = rollingRuleOf((budgets[at] as BudgetState).def.windows, account.windowNo);
    if (rule !== undefined) rolling.push({ account, rule });
  }
  const holds = rolling.map(({ account }) => account);
  const plain = holds.length === 0 ? accounts : accounts.filter((account) => !holds.includes(account));
  const parts: Parts = { plain, rolling, holds, steps: [] };
  partsByAccounts.set(accounts, parts);
  return parts;
}

function stepsAt(parts: Parts, atMs: number): readonly Account[] {
  const { rolling, steps } = parts;
  if (!rolling.every(({ rule }, index) => steps[index]?.periodMs === stepOf(rule, atMs))) {
    parts.steps = rolling.map((each) => stepAccount(each, atMs));
  }
  return parts.steps;
}

function stepAccount({ account, rule }: RollingAccount, atMs: number): Account {
  return { ...account, periodMs: stepOf(rule, atMs) };
}

/** Whether what went to the step of `spentMs` still counts in a rolling window at `nowMs`. */
export function stepCounts(rule: RollingRule, spentMs: number, nowMs: number): boolean {
  return stepOf(rule, spentMs) >= oldestStep(rule, nowMs);
}
