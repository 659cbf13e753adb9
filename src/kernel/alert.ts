// Alerts: a limit's spend has reached a share of its amount. Raised once per limit, share and period, in the decision that brings
// it about, and written down, so that a restart raises none again. In a rolling window, which has no periods, a share can be
// raised again once the spend was below it.
import type { BudgetDef, BudgetState, LimitDef } from './budget.ts';
import type { Charge } from './charge.ts';
import type { Alert, Effect } from './entry.ts';
import { amountIn, counterAt } from './headroom.ts';

/** Shares of an amount at which a budget that says nothing is told of, in percent. */
export const ALERT_AT_DEFAULT: readonly number[] = [80, 100];

/** A share that was reached: whoever reaches it again in the same period is not told. */
export interface AlertMark {
  readonly limitNo: number;
  /** 0 for lifetime and rolling windows. */
  readonly periodMs: number;
  readonly percent: number;
}

/** Alerts that `effects` on a charge bring about at `atMs`, nearest the root first. Spend is settled + overrun. */
export function alertsOf(charge: Charge, effects: readonly Effect[], atMs: number): Alert[] {
  let spentMicros = 0n;
  for (const { settledMicros, overrunMicros, accounts } of effects) {
    // The effect on the lifetime windows has it all; those on steps say it again.
    if (accounts.some(({ windowNo }) => windowNo === 0)) spentMicros += settledMicros + overrunMicros;
  }
  if (spentMicros <= 0n) return [];
  const alerts: Alert[] = [];
  let at = 0;
  for (const account of charge.accounts) {
    while (charge.budgets[at]?.def.no !== account.budgetNo) at += 1;
    const budget = charge.budgets[at] as BudgetState;
    const { def } = budget;
    if (def.alertAt.length === 0) continue;
    for (const limit of def.limits) {
      if (limit.windowNo !== account.windowNo) continue;
      const { settledMicros, overrunMicros } = counterAt(budget, account, atMs);
      const usedMicros = settledMicros + overrunMicros + spentMicros;
      addAlerts(alerts, budget, limit, account.periodMs, { usedMicros, beforeMicros: usedMicros - spentMicros, atMs });
    }
  }
  return alerts;
}

/** Alerts that an edit brings about: an amount that was lowered, a share that was added. */
export function alertsOfEdit(budget: BudgetState, charge: Charge, atMs: number): Alert[] {
  const alerts: Alert[] = [];
  for (const account of charge.accounts) {
    if (account.budgetNo !== budget.def.no) continue;
    for (const limit of budget.def.limits) {
      if (limit.windowNo !== account.windowNo) continue;
      const { settledMicros, overrunMicros } = counterAt(budget, account, atMs);
      const usedMicros = settledMicros + overrunMicros;
      if (usedMicros > 0n) addAlerts(alerts, budget, limit, account.periodMs, { usedMicros, beforeMicros: 0n, atMs });
    }
  }
  return alerts;
}

interface Spend {
  readonly usedMicros: bigint;
  readonly beforeMicros: bigint;
  readonly atMs: number;
}

function addAlerts(
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
    if (isMarked && (!rolling || wasReached)) continue;
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

/** Marks of a budget after alerts were raised: of each limit those of its latest period. */
export function marksAfter(marks: readonly AlertMark[], alerts: readonly Alert[]): AlertMark[] {
  const raised = alerts.map(({ limitNo, periodMs, percent }) => ({ limitNo, periodMs, percent }));
  const kept = marks.filter(
    (mark) =>
      !raised.some(
        ({ limitNo, periodMs, percent }) =>
          limitNo === mark.limitNo && (periodMs > mark.periodMs || (periodMs === mark.periodMs && percent === mark.percent)),
      ),
  );
  return [...kept, ...raised];
}
