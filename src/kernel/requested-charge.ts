// What a Reserve would charge: the budgets on the paths that it names, those among them that its grant will make from the
// template of the budget above, and their accounts now. Changes nothing.
import type { BudgetDef, BudgetState } from './budget.ts';
import { newBudgetState, newDef } from './budget-from-terms.ts';
import { accountsAt, type Charge, chainCharge, chainsCharge, union } from './charge.ts';
import { shareOf, withChild } from './child-share.ts';
import type { Reserve } from './command.ts';
import { tooManyShares } from './decide-shares.ts';
import type { DecideContext } from './decision.ts';
import { type BudgetPath, chainOf } from './names.ts';
import type { Refusal } from './refusal.ts';
import { budgetNotFound, invalidFields } from './refuse-state.ts';
import type { TreeState } from './tree-state.ts';

/** See the head of this file. */
export interface RequestedCharge extends Charge {
  /** The budget that the Reserve names. */
  readonly named: BudgetState;
  /** Budgets that a grant makes, parents first. */
  readonly made: readonly BudgetDef[];
  /** Budgets that are there and that a grant edits: what it makes below them has a floor or a share. */
  readonly edited: readonly BudgetDef[];
}

/**
 * Finds it. BUDGET_NOT_FOUND where a path does not exist and nothing above it says how to make it; INVALID_FIELD where what would
 * be made is one child too many with a floor or a share.
 */
export function requestedCharge(state: TreeState, command: Reserve, context: DecideContext): RequestedCharge | Refusal {
  const { nowMs, calendar } = context;
  const named = state.budgetAt(command.budget);
  if (named !== undefined && command.also.length === 0) {
    return { named, made: [], edited: [], ...chainCharge(state, state.chain(named), nowMs, calendar) };
  }
  const drafts = new Map<BudgetPath, BudgetState>();
  const chains: BudgetState[][] = [];
  for (const path of [command.budget, ...command.also]) {
    const chain = chainTo(state, path, drafts, context);
    if (chain === undefined) return budgetNotFound(path);
    chains.push(chain);
  }
  const leaf = chains[0]?.at(-1) as BudgetState;
  if (drafts.size === 0) return { named: leaf, made: [], edited: [], ...chainsCharge(state, chains, nowMs, calendar) };
  // A chain that was found before another one made a budget below it has some as they were.
  const budgets = union(chains).map((budget) => drafts.get(budget.def.path) ?? budget);
  const { accounts } = accountsAt(budgets, nowMs, calendar);
  const defs = [...drafts.values()].map(({ def }) => def);
  const problem = tooManyShares(defs);
  if (problem !== undefined) return invalidFields([problem]);
  const isMade = ({ no }: BudgetDef): boolean => no > state.position.budgetCount;
  const made = defs.filter(isMade).sort((a, b) => a.no - b.no);
  return { named: leaf, made, edited: defs.filter((def) => !isMade(def)), budgets, accounts };
}

function chainTo(
  state: TreeState,
  path: BudgetPath,
  drafts: Map<BudgetPath, BudgetState>,
  context: DecideContext,
): BudgetState[] | undefined {
  const { nowMs, calendar } = context;
  const chain: BudgetState[] = [];
  for (const each of chainOf(path)) {
    const known = drafts.get(each) ?? state.budgetAt(each);
    if (known !== undefined) {
      chain.push(known);
      continue;
    }
    const above = chain.at(-1);
    if (above?.def.childTemplate === undefined) return undefined;
    const { def: parent } = above;
    const madeCount = [...drafts.values()].filter(({ def }) => def.no > state.position.budgetCount).length;
    const no = state.position.budgetCount + madeCount + 1;
    const fresh = { no, path: each, parentNo: parent.no, owner: parent.owner, unit: parent.unit };
    const budget = newBudgetState(newDef(fresh, above.def.childTemplate, nowMs, calendar));
    if (shareOf(budget.def) !== undefined) {
      chain[chain.length - 1] = withListed(state, above, budget.def, context);
      drafts.set(parent.path, chain[chain.length - 1] as BudgetState);
    }
    drafts.set(each, budget);
    chain.push(budget);
  }
  return chain;
}

// One edit, however many children it lists; one that is made itself is made so.
function withListed(
  state: TreeState,
  parent: BudgetState,
  child: BudgetDef,
  { nowMs, calendar }: DecideContext,
): BudgetState {
  const def = withChild(parent.def, child, nowMs, calendar);
  const before = state.budget(def.no)?.def;
  if (before === undefined) return { ...parent, def };
  return { ...parent, def: { ...def, revision: before.revision + 1, updateMs: nowMs } };
}
