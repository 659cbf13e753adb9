// Budgets as a file: what `export` prints, and `plan` finds no difference in. Defaults are left out, and so are runs as their
// template makes them: it makes them again.
import { stringify } from 'yaml';
import type { Budget } from '../../../gen/budgetd/v1/budget_pb.ts';
import { type BudgetPath, parentOf } from '../../../kernel/names.ts';
import { unitOf } from '../draw-tree.ts';
import { EDITABLE_FIELDS, normalBudget } from './budget-fields.ts';
import type { FileValue } from './file-value.ts';
import { inline } from './plan.ts';
import { TERMS_FIELDS, writeFields } from './terms-fields.ts';

/** Long values are not folded: a limit on two lines is hard to read. */
const YAML_OPTIONS = { lineWidth: 0 } as const;

interface Written {
  [key: string]: FileValue | Written;
}

/** The file of these open budgets, given with all that stands above them and is to be in it. */
export function writeBudgetsFile(budgets: readonly Budget[]): string {
  const byPath = new Map(budgets.map((budget) => [budget.budget, budget]));
  const kept = new Set<string>();
  for (const budget of budgets) {
    if (isAsMade(budget, byPath)) continue;
    // With those above it, so that it stands below them.
    for (
      let path: string | undefined = budget.budget;
      path !== undefined && byPath.has(path);
      path = parentOf(path as BudgetPath)
    ) {
      kept.add(path);
    }
  }
  // A map: a budget may have any name, `__proto__` too.
  const root = new Map<string, Written>();
  const places = new Map<string, Written>();
  for (const path of [...kept].sort((a, b) => (a < b ? -1 : 1))) {
    const place = writtenOf(byPath.get(path) as Budget);
    const parent = parentOf(path as BudgetPath);
    const above = places.get(parent ?? '');
    if (above === undefined) root.set(path, place);
    else {
      const name = path.slice((parent ?? '').length + 1);
      above['budgets'] = { ...(above['budgets'] as Written | undefined), [name]: place };
    }
    places.set(path, place);
  }
  return stringify({ budgets: root }, YAML_OPTIONS);
}

function writtenOf(budget: Budget): Written {
  const unit = unitOf(budget);
  const isRoot = !budget.budget.includes('/');
  return { ...(isRoot ? { unit } : {}), ...writeFields(EDITABLE_FIELDS, normalBudget([], budget).message, unit) };
}

function isAsMade(budget: Budget, byPath: ReadonlyMap<string, Budget>): boolean {
  const template = byPath.get(parentOf(budget.budget as BudgetPath) ?? '')?.childTemplate;
  if (template === undefined || budget.owner !== '' || Object.keys(budget.labels).length > 0) return false;
  const unit = unitOf(budget);
  const [own, made] = [budget, template].map((each) => inline(writeFields(TERMS_FIELDS, each, unit), true));
  return own === made;
}
