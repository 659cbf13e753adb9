// Plans for people: a line a budget that is made, changed or closed, its fields below it as old -> new, and what is left alone.
import { counted } from '../counted.ts';
import { printable } from '../printable-text.ts';
import type { Terminal, Tone } from '../terminal.ts';
import { EDITABLE_FIELDS } from './budget-fields.ts';
import { inline, isEmptyPlan, type TreePlan } from './plan.ts';
import { writeField } from './terms-fields.ts';

/** Names that a line lists before it only counts. */
const NAMES_MAX = 20;

/** What a side shows that says nothing. */
const DEFAULT = '(default)';

/** One tree. */
export function drawPlan(plan: TreePlan, terminal: Terminal): string {
  const { tree, unit, creates, edits, closes, unchangedCount, leftAlone, templated, closedTemplated } = plan;
  const line = (tone: Tone, text: string): string => terminal.paint(tone, printable(text));
  const lines = [line('heading', `${tree} (${unit})`)];
  for (const { budget: closed } of closes) {
    lines.push(line('bad', `  - ${closed} (closed for good, with all below it)`));
    for (const { budget, count } of closedTemplated) {
      if (budget !== closed && !budget.startsWith(`${closed}/`)) continue;
      lines.push(line('bad', `      below the template of ${budget}: ${counted(count, 'open budget')}`));
    }
  }
  for (const { path, message } of creates) {
    lines.push(line('good', `  + ${path}`));
    for (const known of EDITABLE_FIELDS) {
      const value = writeField(known, message, unit);
      if (value !== undefined) lines.push(line('plain', `      ${known.key}: ${inline(value)}`));
    }
  }
  for (const { budget, fields } of edits) {
    lines.push(line('warning', `  ~ ${budget.path}`));
    for (const { field, before, after } of fields) {
      lines.push(line('plain', `      ${field}: ${before || DEFAULT} -> ${after || DEFAULT}`));
    }
  }
  if (unchangedCount > 0) lines.push(line('faint', `  ${unchangedCount} unchanged`));
  if (leftAlone.length > 0) lines.push(line('faint', `  not in the file (left alone): ${named(leftAlone)}`));
  for (const { budget, count } of templated) {
    lines.push(line('faint', `  below the template of ${budget} (left alone): ${counted(count, 'open budget')}`));
  }
  return lines.join('\n');
}

function named(paths: readonly string[]): string {
  const rest = paths.length - NAMES_MAX;
  return `${paths.slice(0, NAMES_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** All trees in one line. */
export function summarize(plans: readonly TreePlan[]): string {
  if (plans.every(isEmptyPlan)) return 'No difference.';
  const count = (of: (plan: TreePlan) => number): number => plans.reduce((sum, plan) => sum + of(plan), 0);
  const creates = count((plan) => plan.creates.length);
  const edits = count((plan) => plan.edits.length);
  const closes = count((plan) => plan.closes.length);
  return `${creates} to create, ${edits} to change, ${closes} to close, ${count((plan) => plan.unchangedCount)} unchanged.`;
}

/** For programs: the same facts. */
export function planToJson(
  plans: readonly TreePlan[],
  warnings: readonly string[],
  refusals: readonly string[],
): string {
  const trees = plans.map((plan) => ({
    tree: plan.tree,
    unit: plan.unit,
    create: plan.creates.map(({ path }) => path),
    update: plan.edits.map(({ budget, fields }) => ({
      budget: budget.path,
      fields: fields.map(({ field, before, after }) => ({ field, before, after })),
    })),
    close: plan.closes.map(({ budget }) => budget),
    closedBelowTemplates: plan.closedTemplated,
    unchanged: plan.unchangedCount,
    leftAlone: plan.leftAlone,
    belowTemplates: plan.templated,
  }));
  return JSON.stringify({ trees, warnings, refusals }, null, 2);
}
