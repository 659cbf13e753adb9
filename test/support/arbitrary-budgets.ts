// Random trees of budgets as the service shows them: names, owners and labels that a file could take for something else, and terms over
// the whole range of every field.
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { templateMessage } from '../../src/api/encode/terms-message.ts';
import { type Budget, BudgetSchema } from '../../src/gen/budgetd/v1/budget_pb.ts';
import type { BudgetTerms } from '../../src/kernel/budget.ts';
import { termsTo } from './arbitrary-budget-terms.ts';

const segment = fc.oneof(
  { weight: 9, arbitrary: fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,10}$/) },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', '007', 'null', '1e3', '0x10') },
);
const freeText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/\p{Cc}/u.test(text) && text.isWellFormed()),
  // What YAML would take for something else.
  fc.constantFrom('yes', 'null', '007', '1e3', '- a', 'a: b', '# a', '*a', '"', "it's", ' x ', '5', 'true'),
);
const labels = fc.dictionary(fc.stringMatching(/^[A-Za-z0-9._/-]{1,20}$/), freeText, { maxKeys: 3 });
/** Units that trees are made with, those among them that amounts have a meaning of their own for. */
export const newUnit = fc.constantFrom('USD', 'credits', 'u', 'micros', 'e', 'INR');
/** Units of trees that are there: those too that no tree is made with any more. */
export const unit = fc.oneof(newUnit, fc.constantFrom('usd', 'Usd'));

/** One budget; `parent` counts those before it. */
export interface Drawn {
  readonly name: string;
  readonly parent: number;
  readonly owner: string;
  readonly labels: Record<string, string>;
  readonly terms: BudgetTerms;
}

/** Any budget. */
export const drawn: fc.Arbitrary<Drawn> = fc.record({
  name: segment,
  parent: fc.nat({ max: 4 }),
  owner: freeText,
  labels,
  terms: termsTo(3),
});

/** Budgets as the service shows them, the first of them the root. */
export function budgetsOf(all: readonly Drawn[], treeUnit: string): Budget[] {
  const byPath = new Map<string, Budget>();
  const paths: string[] = [];
  for (const each of all) {
    const above = paths.length === 0 ? '' : `${paths[each.parent % paths.length]}/`;
    const path = above + each.name;
    if (byPath.has(path)) continue;
    const { $typeName: _, ...terms } = templateMessage(each.terms);
    const { owner, labels: own } = each;
    byPath.set(path, create(BudgetSchema, { ...terms, budget: path, unit: treeUnit, owner, labels: own }));
    paths.push(path);
  }
  return [...byPath.values()];
}
