// What a Reserve would charge: the budgets on the paths that it names, those among them that its grant will make from the
// template of the budget above, and their accounts now. Changes nothing.
import type { BudgetDef, BudgetState } from './budget.ts';
import { newBudgetState, newDef } from './budget-from-terms.ts';
import { accountsAt, type Charge, chainCharge, chainsCharge, union } from './charge.ts';
import type { Reserve } from './command.ts';
import type { DecideContext } from './decision.ts';
import { type BudgetPath, chainOf } from './names.ts';
import type { Refusal } from './refusal.ts';
import { budgetNotFound } from './refuse-state.ts';
import type { TreeState } from './tree-state.ts';

/** See the head of this file. */
export interface RequestedCharge extends Charge {
  /** The budget that the Reserve names. */
  readonly named: BudgetState;
  /** Budgets that a grant makes, parents first. */
  readonly made: readonly BudgetDef[];
}

/** Finds it. BUDGET_NOT_FOUND where a path does not exist and nothing above it says how to make it. */
export function requestedCharge(state: TreeState, command: Reserve, context: DecideContext): RequestedCharge | Refusal {
  const { nowMs, calendar } = context;
  const named = state.budgetAt(command.budget);
  if (named !== undefined && command.also.length === 0) {
    return { named, made: [], ...chainCharge(state, state.chain(named), nowMs, calendar) };
  }
  const made: BudgetState[] = [];
  const chains: BudgetState[][] = [];
  for (const path of [command.budget, ...command.also]) {
    const chain = chainTo(state, path, made, context);
    if (chain === undefined) return budgetNotFound(path);
    chains.push(chain);
  }
  const leaf = chains[0]?.at(-1) as BudgetState;
  if (made.length === 0) return { named: leaf, made: [], ...chainsCharge(state, chains, nowMs, calendar) };
  const budgets = union(chains);
  const { accounts } = accountsAt(budgets, nowMs, calendar);
  return { named: leaf, made: made.map(({ def }) => def), budgets, accounts };
}

function chainTo(
  state: TreeState,
  path: BudgetPath,
  made: BudgetState[],
  { nowMs, calendar }: DecideContext,
): BudgetState[] | undefined {
  const chain: BudgetState[] = [];
  for (const each of chainOf(path)) {
    const known = state.budgetAt(each) ?? made.find(({ def }) => def.path === each);
    if (known !== undefined) {
      chain.push(known);
      continue;
    }
    const parent = chain.at(-1)?.def;
    if (parent?.childTemplate === undefined) return undefined;
    const no = state.position.budgetCount + made.length + 1;
    const fresh = { no, path: each, parentNo: parent.no, owner: parent.owner, unit: parent.unit };
    const budget = newBudgetState(newDef(fresh, parent.childTemplate, nowMs, calendar));
    made.push(budget);
    chain.push(budget);
  }
  return chain;
}
