// The pasts that one edit of a budget asks for: its own, where it gets a window, and those of children that are counted apart in
// that window or in those of the budget above. All must be read at the same end of the journal.
import type { BudgetDef, BudgetState, LimitInput } from './budget.ts';
import { ownWindowOf } from './child-share.ts';
import type { UpdateBudget } from './command.ts';
import type { TreeState } from './tree-state.ts';
import { type Calendar, sameRule, type WindowRule } from './window.ts';
import { type BudgetNeeds, type EditHistory, fitsNeeds, historyNeed, type WindowSum } from './window-history.ts';

/**
 * What an edit has to be decided with; nothing where it brings no window with a past. A budget that never held or settled anything
 * has none.
 */
export function editNeeds(
  state: TreeState,
  budget: BudgetState,
  command: UpdateBudget,
  nowMs: number,
  calendar: Calendar,
): BudgetNeeds[] {
  const { def } = budget;
  const fresh = command.limits === undefined ? [] : freshRules(def, command.limits);
  const joined = fresh.concat(rulesAbove(state, budget, command).filter((rule) => !includes(fresh, rule)));
  const asked: (readonly [no: number, rules: readonly WindowRule[]])[] = [];
  if (joined.length > 0 && isUsed(budget, 0)) asked.push([def.no, joined]);
  if (fresh.length > 0) {
    for (const { no, rule, childNo } of def.windows) {
      if (childNo !== undefined && rule.kind === 'lifetime' && isUsed(budget, no)) asked.push([childNo, fresh]);
    }
  }
  return asked.map(([budgetNo, rules]) => ({
    budgetNo,
    needs: rules.map((rule) => historyNeed(rule, nowMs, calendar)),
  }));
}

function freshRules({ windows }: BudgetDef, limits: readonly LimitInput[]): WindowRule[] {
  const fresh: WindowRule[] = [];
  for (const { rule } of limits) {
    if (ownWindowOf(windows, rule) === undefined && !includes(fresh, rule)) fresh.push(rule);
  }
  return fresh;
}

// A child that is listed for the first time is counted apart in every window of the budget above. What it used in the lifetime
// one its own counter says.
function rulesAbove(state: TreeState, { def }: BudgetState, command: UpdateBudget): WindowRule[] {
  if (command.floorMicros === undefined && command.sharePercent === undefined) return [];
  const above = def.parentNo === undefined ? undefined : state.mustBudget(def.parentNo).def;
  if (above === undefined || above.childShares.some(({ childNo }) => childNo === def.no)) return [];
  return above.windows.flatMap(({ rule, childNo }) =>
    childNo !== undefined || rule.kind === 'lifetime' ? [] : [rule],
  );
}

function includes(rules: readonly WindowRule[], rule: WindowRule): boolean {
  return rules.some((each) => sameRule(each, rule));
}

function isUsed({ counters }: BudgetState, windowNo: number): boolean {
  const counter = counters.find((each) => each.windowNo === windowNo);
  return counter !== undefined && counter.heldMicros + counter.settledMicros + counter.overrunMicros > 0n;
}

/**
 * Whether pasts answer all that is needed at the decision that follows entry `seq`. They do not once another entry came between,
 * or a calendar window turned: then they have to be read again.
 */
export function fitsEdit(history: EditHistory | undefined, needs: readonly BudgetNeeds[], seq: number): boolean {
  if (history?.seq !== seq) return needs.length === 0;
  return needs.every((need) => fitsNeeds(sumsOf(history, need.budgetNo), need.needs));
}

/** What a window of a budget has to start from; undefined where nothing was asked for. */
export function pastIn(history: EditHistory | undefined, budgetNo: number, rule: WindowRule): WindowSum | undefined {
  return history && sumsOf(history, budgetNo).find((sum) => sameRule(sum.rule, rule));
}

function sumsOf({ budgets }: EditHistory, budgetNo: number): readonly WindowSum[] {
  return budgets.find((each) => each.budgetNo === budgetNo)?.sums ?? [];
}
