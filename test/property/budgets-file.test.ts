// What is written to a file of budgets is read back as the same budgets, whatever their terms, names and units.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalBudget } from '../../src/app/cli/budgets-file/budget-fields.ts';
import { FileProblems } from '../../src/app/cli/budgets-file/file-problems.ts';
import { planTree } from '../../src/app/cli/budgets-file/plan.ts';
import { readBudgetsFile, unitsOfTrees } from '../../src/app/cli/budgets-file/read-budgets-file.ts';
import { writeBudgetsFile } from '../../src/app/cli/budgets-file/write-budgets-file.ts';
import type { Budget } from '../../src/gen/budgetd/v1/budget_pb.ts';
import type { BudgetTerms } from '../../src/kernel/budget.ts';
import { type Kept, PRIORITIES } from '../../src/kernel/enforcement.ts';
import { budgetsOf, drawn, unit } from '../support/arbitrary-budgets.ts';

/** Terms with what is kept in the order of urgency, which is that of the file. */
function inOrder(terms: BudgetTerms): BudgetTerms {
  const byUrgency = (a: Kept, b: Kept) => PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority);
  const kept = terms.enforcement.kept.toSorted(byUrgency);
  const childTemplate = terms.childTemplate && inOrder(terms.childTemplate);
  return { ...terms, enforcement: { ...terms.enforcement, kept }, childTemplate };
}

it('reads what it writes, and plans nothing for it', () => {
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 5 }), unit, (all, treeUnit) => {
      const budgets = budgetsOf(all, treeUnit);
      const content = writeBudgetsFile(budgets);
      const problems = new FileProblems();
      const read = readBudgetsFile(content, problems);
      const units = unitsOfTrees(read, () => treeUnit, problems);
      // Without a service no less: it may be that of a tree that is there.
      unitsOfTrees(read, undefined, problems);
      const part = readBudgetsFile(writeBudgetsFile(budgets.slice(1)), problems);
      unitsOfTrees(part, () => treeUnit, problems);
      unitsOfTrees(part, undefined, problems);
      expect(problems.sorted()).toEqual([]);
      for (const { path, message, terms } of read) {
        const shown = budgets.find(({ budget }) => budget === path) as Budget;
        expect(terms).toEqual(inOrder(normalBudget([], shown).terms));
        expect([message.owner, message.labels]).toEqual([shown.owner, shown.labels]);
      }
      const live = new Map(budgets.map((budget) => [budget.budget, budget]));
      for (const tree of units.keys()) {
        const plan = planTree(tree, read, live, { unit: treeUnit, prune: false, problems });
        expect([plan.creates, plan.edits, problems.count]).toEqual([[], [], 0]);
      }
    }),
  );
});
