// Alerts: a limit's spend has reached a share of its amount. Raised once per limit, share and period, in the decision that brings
// it about, and written down, so that a restart raises none again. In a rolling window, which has no periods, a share can be
// raised again once the spend was below it.
import type { Account, BudgetDef, BudgetState, LimitDef } from './budget.ts';
import { accountsAt } from './charge.ts';
import { CHILD_SHARES_REASON } from './decide-shares.ts';
import { type DecideContext, entryBase } from './decision.ts';
import type { Alert, Alerted, BudgetChange, Effect, Entry } from './entry.ts';
import { amountIn, counterAt } from './headroom.ts';
import type { TreeState } from './tree-state.ts';
import { oldestStep, rollingRuleOf } from './window.ts';

/** Budgets as they were, by number. */
export type DefsBefore = ReadonlyMap<number, BudgetDef>;

const NO_DEFS: DefsBefore = new Map();

/** The budgets that entries are about to edit, as they are: an edit tells of what was not so before it. */
export function defsBefore(state: TreeState, decided: readonly Entry[]): DefsBefore {
  const edits = decided.filter(isOwnEdit);
  if (edits.length === 0) return NO_DEFS;
  // One that the same decision makes has spent nothing.
  const defs = edits.flatMap(({ def: { no } }) => state.budget(no)?.def ?? []);
  return new Map(defs.map((def) => [def.no, def]));
}

// An edit that a child brings about leaves amounts and spend as they are.
function isOwnEdit(entry: Entry): entry is BudgetChange {
  return entry.type === 'BudgetUpdated' && entry.reason !== CHILD_SHARES_REASON;
}

/**
 * What entries that were just applied to `state` have to be followed by: one entry with the alerts that they bring about, or none.
 * Looked for after every decision, whatever it was, so that no way of spending can forget it. `before`: see defsBefore.
 */
export function decideAlerts(
  state: TreeState,
  decided: readonly Entry[],
  before: DefsBefore,
  context: DecideContext,
): Alerted[] {
  const alerts: Alert[] = [];
  addAlertsOfEffects(alerts, state, decided.flatMap(spendingOf), context.nowMs);
  for (const [no, def] of before) addAlertsOfEdit(alerts, state, no, def, context);
  if (alerts.length === 0) return [];
  const base = entryBase(state, { actor: 'budgetd', key: undefined, personal: undefined }, context);
  return [{ ...base, type: 'Alerted', alerts }];
}

function spendingOf(entry: Entry): readonly Effect[] {
  switch (entry.type) {
    case 'Settled':
      return entry.effects;
    case 'Expired':
      return entry.lapses.flatMap(({ charged, effects }) => (charged ? effects : []));
    default:
      return NO_EFFECTS;
  }
}

const NO_EFFECTS: readonly never[] = [];

/** What decided entries spent in one window and period, less what it replaces. */
interface Movement {
  readonly account: Account;
  spentMicros: bigint;
}

function addAlertsOfEffects(alerts: Alert[], state: TreeState, effects: readonly Effect[], atMs: number): void {
  for (const { account, spentMicros } of movementsOf(state, effects, atMs)) {
    if (spentMicros > 0n) addAlertsOfSpend(alerts, state.mustBudget(account.budgetNo), account, spentMicros, atMs);
  }
}

// All of them together: many holds may lapse in one entry, and a cost that comes late takes out of a rolling window what was assumed.
function movementsOf(state: TreeState, effects: readonly Effect[], atMs: number): Movement[] {
  const spending = effects.filter(({ settledMicros, overrunMicros }) => settledMicros + overrunMicros !== 0n);
  const movements = new Map<string, Movement>();
  const all: Movement[] = [];
  for (const { settledMicros, overrunMicros, accounts } of spending) {
    const spentMicros = settledMicros + overrunMicros;
    for (const each of accounts) {
      const { def } = state.mustBudget(each.budgetNo);
      if (def.alertAt.length === 0) continue;
      const account = countedIn(def, each, atMs);
      if (account === undefined) continue;
      // The usual case: one effect names each account once.
      const name = spending.length === 1 ? '' : `${account.budgetNo} ${account.windowNo} ${account.periodMs}`;
      const known = movements.get(name);
      if (known !== undefined) known.spentMicros += spentMicros;
      else {
        const movement = { account, spentMicros };
        if (name !== '') movements.set(name, movement);
        all.push(movement);
      }
    }
  }
  return all;
}

// A step is part of what counts in its window, for as long as it does.
function countedIn({ windows }: BudgetDef, account: Account, atMs: number): Account | undefined {
  const rule = rollingRuleOf(windows, account.windowNo);
  if (rule === undefined) return account;
  return account.periodMs < oldestStep(rule, atMs) ? undefined : { ...account, periodMs: 0 };
}

function addAlertsOfSpend(
  alerts: Alert[],
  budget: BudgetState,
  account: Account,
  spentMicros: bigint,
  atMs: number,
): void {
  const limits = limitsOf(budget.def, account);
  if (limits.length === 0) return;
  const isRolling = rollingRuleOf(budget.def.windows, account.windowNo) !== undefined;
  const usedMicros = usedIn(budget, account, atMs);
  const beforeMicros = usedMicros - spentMicros;
  for (const limit of limits) {
    addAlertsOn(alerts, budget, limit, account.periodMs, { usedMicros, atMs }, (percent, isMarked) => {
      return isReached(beforeMicros, amountIn(limit, account.periodMs), percent) || (isMarked && !isRolling);
    });
  }
}

function addAlertsOfEdit(
  alerts: Alert[],
  state: TreeState,
  budgetNo: number,
  before: BudgetDef,
  { nowMs, calendar }: DecideContext,
): void {
  const budget = state.mustBudget(budgetNo);
  for (const account of accountsAt([budget], nowMs, calendar).accounts) {
    const isRolling = rollingRuleOf(budget.def.windows, account.windowNo) !== undefined;
    const usedMicros = usedIn(budget, account, nowMs);
    for (const limit of limitsOf(budget.def, account)) {
      const old = limitsOf(before, account).find(({ no }) => no === limit.no);
      addAlertsOn(alerts, budget, limit, account.periodMs, { usedMicros, atMs: nowMs }, (percent, isMarked) => {
        // Time and edits take spend below a share again without a word: what was told holds where it was reached until now.
        const wasReached = old !== undefined && isReached(usedMicros, amountIn(old, account.periodMs), percent);
        return isMarked && (wasReached || !isRolling);
      });
    }
  }
}

function usedIn(budget: BudgetState, account: Account, atMs: number): bigint {
  const { settledMicros, overrunMicros } = counterAt(budget, account, atMs);
  return settledMicros + overrunMicros;
}

function limitsOf({ limits }: BudgetDef, { windowNo }: Account): readonly LimitDef[] {
  return limits.filter((limit) => limit.windowNo === windowNo);
}

// In hundredths of micro-units, so that nothing is rounded.
function isReached(usedMicros: bigint, amountMicros: bigint, percent: number): boolean {
  return usedMicros * 100n >= amountMicros * BigInt(percent);
}

interface Spend {
  readonly usedMicros: bigint;
  readonly atMs: number;
}

// `isTold`: whether a share that is reached needs no word; it is told whether there is a mark of it.
function addAlertsOn(
  alerts: Alert[],
  budget: BudgetState,
  limit: LimitDef,
  periodMs: number,
  { usedMicros, atMs }: Spend,
  isTold: (percent: number, isMarked: boolean) => boolean,
): void {
  if (usedMicros === 0n) return;
  const amountMicros = amountIn(limit, periodMs);
  for (const percent of budget.def.alertAt) {
    if (!isReached(usedMicros, amountMicros, percent)) return;
    const isMarked = budget.alertMarks.some(
      (mark) => mark.limitNo === limit.no && mark.periodMs === periodMs && mark.percent === percent,
    );
    const isRaised = alerts.some(
      (alert) =>
        alert.budgetNo === budget.def.no &&
        alert.limitNo === limit.no &&
        alert.periodMs === periodMs &&
        alert.percent === percent,
    );
    if (isRaised || isTold(percent, isMarked)) continue;
    alerts.push({
      budgetNo: budget.def.no,
      budget: budget.def.path,
      limitNo: limit.no,
      limit: limit.name,
      periodMs,
      percent,
      usedMicros,
      amountMicros,
      exhaustMs: exhaustMs(budget.def, limit, periodMs, { usedMicros, amountMicros, atMs }),
    });
  }
}

/** When the amount will be used up if spending goes on as it did since the period began; undefined once it is. */
function exhaustMs(
  def: BudgetDef,
  limit: LimitDef,
  periodMs: number,
  { usedMicros, amountMicros, atMs }: { usedMicros: bigint; amountMicros: bigint; atMs: number },
): number | undefined {
  if (usedMicros >= amountMicros) return undefined;
  const rule = def.windows.find(({ no }) => no === limit.windowNo)?.rule;
  const elapsedMs = rule?.kind === 'rolling' ? rule.durationMs : atMs - (periodMs === 0 ? def.createMs : periodMs);
  const restMs = ((amountMicros - usedMicros) * BigInt(Math.max(1, elapsedMs))) / usedMicros;
  const latestMs = Number.MAX_SAFE_INTEGER - atMs;
  return atMs + (restMs > BigInt(latestMs) ? latestMs : Number(restMs));
}
