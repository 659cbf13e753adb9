// Alerts: a limit's spend has reached a share of its amount. Raised once per limit, share and period, in the decision that brings
// it about, and written down, so that a restart raises none again. In a rolling window, which has no periods, a share can be
// raised again once the spend was below it.
import type { Account, BudgetDef, BudgetState, LimitDef } from './budget.ts';
import { accountsAt } from './charge.ts';
import { CHILD_SHARES_REASON } from './decide-shares.ts';
import { type DecideContext, entryBase } from './decision.ts';
import type { Alert, Alerted, Effect, Entry } from './entry.ts';
import { amountIn, counterAt } from './headroom.ts';
import type { TreeState } from './tree-state.ts';
import { rollingRuleOf } from './window.ts';

/**
 * What entries that were just applied to `state` have to be followed by: one entry with the alerts that they bring about, or none.
 * Looked for after every decision, whatever it was, so that no way of spending can forget it.
 */
export function decideAlerts(state: TreeState, decided: readonly Entry[], context: DecideContext): Alerted[] {
  const alerts: Alert[] = [];
  for (const entry of decided) addAlertsOf(alerts, state, entry, context);
  if (alerts.length === 0) return [];
  const base = entryBase(state, { actor: 'budgetd', key: undefined, personal: undefined }, context);
  return [{ ...base, type: 'Alerted', alerts }];
}

function addAlertsOf(alerts: Alert[], state: TreeState, entry: Entry, context: DecideContext): void {
  switch (entry.type) {
    case 'Settled':
      addAlertsOfEffects(alerts, state, entry.effects, context.nowMs);
      return;
    case 'Expired':
      for (const lapse of entry.lapses) {
        if (lapse.charged) addAlertsOfEffects(alerts, state, lapse.effects, context.nowMs);
      }
      return;
    case 'BudgetUpdated':
      // An edit that a child brings about leaves amounts and spend as they are.
      if (entry.reason === CHILD_SHARES_REASON) return;
      addAlertsOfEdit(alerts, state, entry.def.no, context);
      return;
    default:
  }
}

function addAlertsOfEffects(alerts: Alert[], state: TreeState, effects: readonly Effect[], atMs: number): void {
  for (const { settledMicros, overrunMicros, accounts } of effects) {
    const spentMicros = settledMicros + overrunMicros;
    if (spentMicros <= 0n) continue;
    for (const account of accounts) {
      const budget = state.mustBudget(account.budgetNo);
      if (budget.def.alertAt.length === 0) continue;
      // A step is part of what counts in its window.
      const isStep = rollingRuleOf(budget.def.windows, account.windowNo) !== undefined;
      addAlertsIn(alerts, budget, isStep ? { ...account, periodMs: 0 } : account, spentMicros, atMs);
    }
  }
}

function addAlertsOfEdit(
  alerts: Alert[],
  state: TreeState,
  budgetNo: number,
  { nowMs, calendar }: DecideContext,
): void {
  const budget = state.mustBudget(budgetNo);
  for (const account of accountsAt([budget], nowMs, calendar).accounts) {
    const { settledMicros, overrunMicros } = counterAt(budget, account, nowMs);
    addAlertsIn(alerts, budget, account, settledMicros + overrunMicros, nowMs);
  }
}

function addAlertsIn(alerts: Alert[], budget: BudgetState, account: Account, spentMicros: bigint, atMs: number): void {
  for (const limit of budget.def.limits) {
    if (limit.windowNo !== account.windowNo) continue;
    const { settledMicros, overrunMicros } = counterAt(budget, account, atMs);
    const usedMicros = settledMicros + overrunMicros;
    if (usedMicros === 0n) continue;
    addAlertsOn(alerts, budget, limit, account.periodMs, { usedMicros, beforeMicros: usedMicros - spentMicros, atMs });
  }
}

interface Spend {
  readonly usedMicros: bigint;
  readonly beforeMicros: bigint;
  readonly atMs: number;
}

function addAlertsOn(
  alerts: Alert[],
  budget: BudgetState,
  limit: LimitDef,
  periodMs: number,
  { usedMicros, beforeMicros, atMs }: Spend,
): void {
  const amountMicros = amountIn(limit, periodMs);
  const rolling = isRolling(budget.def, limit);
  for (const percent of budget.def.alertAt) {
    // In hundredths of micro-units, so that nothing is rounded.
    if (usedMicros * 100n < amountMicros * BigInt(percent)) return;
    const wasReached = beforeMicros * 100n >= amountMicros * BigInt(percent);
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
    if (isRaised || wasReached || (isMarked && !rolling)) continue;
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

function isRolling({ windows }: BudgetDef, { windowNo }: LimitDef): boolean {
  return windows.find(({ no }) => no === windowNo)?.rule.kind === 'rolling';
}
