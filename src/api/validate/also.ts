// More budgets that a Reserve names: all of the same tree, none of them twice. Its own file because a mistake here would
// charge somebody twice or not at all.
import { type BudgetPath, treeOf } from '../../kernel/names.ts';
import { frameText } from '../command-key.ts';
import { checkPath, type Problems } from './problems.ts';

const ALSO_MAX = 8;
const NONE: readonly BudgetPath[] = [];

/** Up to 8 paths in the tree of `budget`, each other than it and than the others; in the order named. */
export function checkAlso(
  problems: Problems,
  field: string,
  also: readonly string[],
  budget: BudgetPath,
): readonly BudgetPath[] {
  if (also.length === 0) return NONE;
  if (also.length > ALSO_MAX) {
    problems.push({ field, description: `must have at most ${ALSO_MAX} entries` });
    return NONE;
  }
  const seen = new Set<string>([budget]);
  return also.map((text, index) => {
    const at = `${field}[${index}]`;
    const countBefore = problems.length;
    const path = checkPath(problems, at, text);
    if (problems.length > countBefore) return path;
    if (seen.has(path)) problems.push({ field: at, description: 'must be named once, and not be budget itself' });
    // A budget that is no path itself has been noted, and says nothing of the tree.
    else if (budget.length > 0 && treeOf(path) !== treeOf(budget)) {
      problems.push({ field: at, description: 'must be of the same tree as budget' });
    }
    seen.add(path);
    return path;
  });
}

/** Frames the paths in their order: another order is another request. */
export function frameAlso(also: readonly BudgetPath[]): string {
  return also.map((path) => frameText('also', path)).join('');
}
