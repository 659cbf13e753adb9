// Edits of many budgets of one tree, all or none. Each change is decided by the function that decides it alone, on the records as
// those decided before it leave them; all of it is taken back before the decision is returned, which changes nothing itself.
import type { BudgetAnswer } from './answer.ts';
import { apply } from './apply.ts';
import type { BudgetState } from './budget.ts';
import { inDecidingOrder } from './change-order.ts';
import type { ApplyBudgets, BudgetEdit } from './command.ts';
import { decideCreate, decideSwitch, decideUpdate } from './decide-budget.ts';
import { answerOnly, type DecideContext, type Decision, refuse } from './decision.ts';
import { editNeeds } from './edit-history.ts';
import type { Entry } from './entry.ts';
import { invariant } from './invariant.ts';
import { type BudgetPath, parentOf } from './names.ts';
import type { Refusal } from './refusal.ts';
import type { TreeState } from './tree-state.ts';
import { sameRule } from './window.ts';
import type { BudgetNeeds, HistoryNeed, WindowSum } from './window-history.ts';

interface Applied {
  readonly results: readonly BudgetAnswer[];
  readonly entries: readonly Entry[];
}

interface Failed {
  readonly refusal: Refusal;
  /** Path of the budget whose change is refused. */
  readonly path: BudgetPath;
}

/**
 * Decides an ApplyBudgets. The order that the changes were given in says nothing; answers stand in it. The first refusal, in the
 * order that they are decided in, refuses the whole: its fields are named from the request on, and it says which change it is about.
 */
export function decideApplyBudgets(state: TreeState, command: ApplyBudgets, context: DecideContext): Decision {
  const outcome = state.tentatively(() => applyAll(state, command.changes, context));
  if ('refusal' in outcome) {
    const { refusal, path } = outcome;
    return refuse(state, command, context, refusal, { budget: path, budgets: knownChain(state, path) });
  }
  const answer = { kind: 'budgets', results: outcome.results, replayed: false } as const;
  return command.dryRun ? answerOnly(answer) : { answer, entries: outcome.entries };
}

function applyAll(state: TreeState, changes: readonly BudgetEdit[], context: DecideContext): Applied | Failed {
  const beforeSeq = state.position.seq;
  const results: BudgetAnswer[] = [];
  const entries: Entry[] = [];
  for (const { index, change } of inDecidingOrder(state, changes)) {
    const decision = decideEdit(state, change, context, beforeSeq);
    if (decision.answer.kind === 'refusal') {
      return { refusal: ofChange(decision.answer, index, change), path: change.budget };
    }
    invariant(decision.answer.kind === 'budget', 'an edit is answered with its budget');
    results[index] = decision.answer;
    for (const entry of decision.entries) {
      apply(state, entry);
      entries.push(entry);
    }
  }
  return { results, entries };
}

function decideEdit(state: TreeState, change: BudgetEdit, context: DecideContext, beforeSeq: number): Decision {
  switch (change.kind) {
    case 'CreateBudget':
      return decideCreate(state, change, context);
    case 'UpdateBudget': {
      const { history } = change;
      // Summed up to the entry before the first change. Edits move no money and each budget has one: the sums still hold.
      const still = history?.seq === beforeSeq ? { ...history, seq: state.position.seq } : history;
      return decideUpdate(state, { ...change, history: still }, context);
    }
    default:
      return decideSwitch(state, change, context);
  }
}

/**
 * The pasts that its changes have to be decided with, each as those decided before it leave the records; those of changes up to
 * the first that would be refused.
 */
export function applyNeeds(state: TreeState, { changes }: ApplyBudgets, context: DecideContext): BudgetNeeds[] {
  const needs: BudgetNeeds[] = [];
  state.tentatively(() => {
    for (const { change } of inDecidingOrder(state, changes)) {
      const { answer, entries } = decideBare(state, change, context, needs);
      if (answer.kind === 'refusal') return;
      for (const entry of entries) apply(state, entry);
    }
  });
  const budgetNos = [...new Set(needs.map(({ budgetNo }) => budgetNo))];
  return budgetNos.map((budgetNo) => ({ budgetNo, needs: ofBudget(needs, budgetNo) }));
}

// As if nothing had ever happened in the windows that it brings: which ones they are does not depend on it.
function decideBare(state: TreeState, change: BudgetEdit, context: DecideContext, needs: BudgetNeeds[]): Decision {
  const { seq } = state.position;
  const budget = change.kind === 'UpdateBudget' ? state.budgetAt(change.budget) : undefined;
  if (change.kind !== 'UpdateBudget' || budget === undefined) return decideEdit(state, change, context, seq);
  const own = editNeeds(state, budget, change, context.nowMs, context.calendar);
  needs.push(...own);
  const budgets = own.map(({ budgetNo, needs: asked }) => ({ budgetNo, sums: asked.map(nothingSince) }));
  return decideUpdate(state, { ...change, history: { seq, budgets } }, context);
}

function nothingSince({ rule, fromMs }: HistoryNeed): WindowSum {
  return { rule, fromMs, heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n, steps: [] };
}

function ofBudget(all: readonly BudgetNeeds[], budgetNo: number): HistoryNeed[] {
  const asked = all.flatMap((each) => (each.budgetNo === budgetNo ? each.needs : []));
  return asked.filter(({ rule }, at) => asked.findIndex((each) => sameRule(each.rule, rule)) === at);
}

// Fields of the request message that a change stands in.
const FIELD_NAMES = {
  CreateBudget: 'create',
  UpdateBudget: 'update',
  SuspendBudget: 'suspend',
  ResumeBudget: 'resume',
  CloseBudget: 'close',
} as const;

function ofChange(refusal: Refusal, index: number, { kind, budget }: BudgetEdit): Refusal {
  const at = `changes[${index}]`;
  return {
    ...refusal,
    message: `${at}, ${budget}: ${refusal.message}`,
    change: { index, budget },
    ...(refusal.fields && {
      fields: refusal.fields.map(({ field, description }) => ({
        field: `${at}.${FIELD_NAMES[kind]}.${field}`,
        description,
      })),
    }),
  };
}

// Of a budget that only this command would make, those above it that are there.
function knownChain(state: TreeState, path: BudgetPath): readonly BudgetState[] {
  for (let at: BudgetPath | undefined = path; at !== undefined; at = parentOf(at)) {
    const budget = state.budgetAt(at);
    if (budget !== undefined) return state.chain(budget);
  }
  return [];
}
