// The first promise, checked on the journal alone: no entry that raises settled + held leaves it above the amount of a limit,
// and what its budget tolerates in soft mode. Entries that do not raise it (a lapse, a settlement out of the hold) pass where an
// edit has lowered the amount below it. Budgets that only watch are exempt; what a budget keeps for urgent work is within its
// amounts, and no bound of its own.
import type { Account, BudgetState } from '../kernel/budget.ts';
import { binds } from '../kernel/enforcement.ts';
import type { Entry } from '../kernel/entry.ts';
import { amountIn, counterAt } from '../kernel/headroom.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import { oldestStep, rollingRuleOf } from '../kernel/window.ts';
import { effectsOf, type Sums } from './verify-sums.ts';

/** Sums of a period as they are before an entry. */
export type SumsOf = (budget: BudgetState, account: Account, atMs: number) => Sums;

interface Raised {
  readonly account: Account;
  micros: bigint;
}

/** Checks entries against the state before them. */
export class CeilingCheck {
  readonly #state: TreeState;
  readonly #sumsOf: SumsOf;

  /** `sumsOf`: of lifetime, calendar and range windows. Default: as the state has them, which lets go what is over. */
  constructor(state: TreeState, sumsOf: SumsOf = counterAt) {
    this.#state = state;
    this.#sumsOf = sumsOf;
  }

  /** What is wrong with an entry that is about to be applied. */
  problems(entry: Entry): string[] {
    const problems: string[] = [];
    const raised = new Map<string, Raised>();
    for (const effect of effectsOf(entry)) {
      const micros = effect.heldMicros + effect.settledMicros;
      for (const account of effect.accounts) {
        const budget = this.#state.budget(account.budgetNo);
        if (budget === undefined) {
          problems.push(`entry ${entry.seq} moves budget ${account.budgetNo}, which does not exist`);
          continue;
        }
        const counted = countedIn(budget, account, entry.atMs);
        if (counted === undefined) continue;
        const key = `${counted.budgetNo}:${counted.windowNo}:${counted.periodMs}`;
        const known = raised.get(key);
        if (known === undefined) raised.set(key, { account: counted, micros });
        else known.micros += micros;
      }
    }
    for (const each of raised.values()) problems.push(...this.#problemsOf(entry, each));
    return problems;
  }

  #problemsOf({ seq, atMs }: Entry, { account, micros }: Raised): string[] {
    const budget = this.#state.mustBudget(account.budgetNo);
    const limits = budget.def.limits.filter(({ windowNo }) => windowNo === account.windowNo);
    if (micros <= 0n || limits.length === 0 || !binds(budget)) return [];
    const isRolling = rollingRuleOf(budget.def.windows, account.windowNo) !== undefined;
    const counter = isRolling ? counterAt(budget, account, atMs) : this.#sumsOf(budget, account, atMs);
    const after = counter.heldMicros + counter.settledMicros + micros;
    const { mode, toleranceMicros } = budget.def.enforcement;
    return limits.flatMap((limit) => {
      const ceilingMicros = amountIn(limit, account.periodMs) + (mode === 'soft' ? toleranceMicros : 0n);
      if (after <= ceilingMicros) return [];
      return [`entry ${seq} takes ${budget.def.path} to ${after}, past ${ceilingMicros} of ${limit.name}`];
    });
  }
}

// What is held and what counts of the steps is one sum in a rolling window; a step that counts no more is in none.
function countedIn({ def }: BudgetState, account: Account, atMs: number): Account | undefined {
  const rule = account.periodMs === 0 ? undefined : rollingRuleOf(def.windows, account.windowNo);
  if (rule === undefined) return account;
  return account.periodMs < oldestStep(rule, atMs) ? undefined : { ...account, periodMs: 0 };
}
