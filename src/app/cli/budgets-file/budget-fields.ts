// The fields that a budget has in the file: those of its terms, and what no template has. Here a budget gets its normal form, in
// which every default is said, so that what a file says and what the service shows can be compared.
import { create } from '@bufbuild/protobuf';
import { templateMessage } from '../../../api/encode/terms-message.ts';
import type { Problems } from '../../../api/validate/problems.ts';
import { checkTerms } from '../../../api/validate/template.ts';
import { type Budget, BudgetSchema } from '../../../gen/budgetd/v1/budget_pb.ts';
import type { BudgetTerms } from '../../../kernel/budget.ts';
import { type FileValue, partOf, type Reading, readMap, readText } from './file-value.ts';
import type { Located } from './located-yaml.ts';
import { TERMS_FIELDS, type TermsField, text } from './terms-fields.ts';

const LABELS: TermsField = {
  key: 'labels',
  mask: 'labels',
  read: readLabels,
  write: (labels) => writeLabels(labels as Budget['labels']),
};

/** Every field that an edit may change, in the order in which they are written. */
export const EDITABLE_FIELDS: readonly TermsField[] = [text('owner'), LABELS, ...TERMS_FIELDS];

/** Those, and the unit, which is for good. */
export const BUDGET_FIELDS: readonly TermsField[] = [text('unit'), ...EDITABLE_FIELDS];

function readLabels(reading: Reading, node: Located, path: string): unknown {
  const entries = readMap(reading, node).map(({ key, at, value }) => {
    reading.positions.set(`${path}["${key}"]`, at);
    return [key, readText(partOf(reading, `["${key}"]`), value) ?? ''];
  });
  return Object.fromEntries(entries);
}

function writeLabels(labels: Budget['labels']): FileValue | undefined {
  const keys = Object.keys(labels).sort();
  return keys.length === 0 ? undefined : Object.fromEntries(keys.map((key) => [key, labels[key] ?? '']));
}

/** A budget in its normal form, and its terms in the kernel's words. */
export interface NormalBudget {
  readonly message: Budget;
  readonly terms: BudgetTerms;
}

/** The normal form; notes what is wrong with the terms. */
export function normalBudget(problems: Problems, stated: Budget): NormalBudget {
  const terms = checkTerms(problems, '', stated);
  const { $typeName: _, ...fields } = templateMessage(terms);
  const { budget, owner, labels, unit } = stated;
  return { terms, message: create(BudgetSchema, { ...fields, budget, owner, labels, unit }) };
}
