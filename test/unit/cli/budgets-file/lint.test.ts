// What is odd in a file of budgets: each rule where it speaks, with its place, and where it must not.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { normalBudget } from '../../../../src/app/cli/budgets-file/budget-fields.ts';
import { FileProblems, formatProblem } from '../../../../src/app/cli/budgets-file/file-problems.ts';
import { type KnownAbove, lintBudgets, RULES } from '../../../../src/app/cli/budgets-file/lint.ts';
import { readBudgetsFile } from '../../../../src/app/cli/budgets-file/read-budgets-file.ts';

function lint(fields: string, known?: KnownAbove, unit = 'USD'): string[] {
  const problems = new FileProblems();
  const budgets = readBudgetsFile(`budgets:\n${fields.replace(/^/gm, '  ')}\n`, problems);
  expect(problems.sorted()).toEqual([]);
  return lintBudgets(budgets, () => unit, known).map((problem) => formatProblem('f', problem));
}

/** Terms of budgets that are not in the file. */
function termsOf(fields: string): KnownAbove {
  const budgets = readBudgetsFile(`budgets: { ${fields} }`, new FileProblems());
  return new Map(budgets.map(({ path, message }) => [path, normalBudget([], message).terms]));
}

describe('lint', () => {
  it.each<readonly [string, string]>([
    ['a: {}', 'f:2:3: a: no limit here or above; the service refuses it unless it says uncapped: true'],
    ['a: { limits: [1 USD], uncapped: true }', 'f:2:25: a: says uncapped, yet it has limits, which apply'],
    [
      'a: { limits: [1 USD], budgets: { b: { uncapped: true } } }',
      'f:2:41: a/b: says uncapped, yet a has limits, which apply',
    ],
    [
      'a: { limits: [5 USD/day, 9 USD], budgets: { b: { limits: [1 USD/hour, 6 USD/day] } } }',
      'f:2:73: a/b: limit day: 6 USD is above the 5 USD of a in the same window, and never binds',
    ],
    [
      'a: { limits: [5 USD], budgets: { b: { budgets: { c: { limits: [6 USD] } } } } }',
      'f:2:66: a/b/c: limit lifetime: 6 USD is above the 5 USD of a in the same window, and never binds',
    ],
    [
      'a: { limits: [5 USD], child_template: { limits: [6 USD] } }',
      'f:2:52: template of a: limit lifetime: 6 USD is above the 5 USD of a in the same window, and never binds',
    ],
    [
      'a: { limits: [5 USD], child_template: { limits: [4 USD], child_template: { limits: [4.5 USD] } } }',
      'f:2:87: template of template of a: limit lifetime: 4.5 USD is above the 4 USD of template of a in the same window, and never binds',
    ],
    [
      'a: { uncapped: true, child_template: { kind: run } }',
      'f:2:24: template of a: no limit here or above; the service refuses it unless it says uncapped: true',
    ],
    [
      'a: { limits: [5 USD/day, x=4 USD/day@UTC] }',
      'f:2:28: a: limits day and x are both for day: only the smaller binds',
    ],
    ['a: { limits: [50] }', 'f:2:17: a: 0.00005 USD: a whole number without a unit is micro-units'],
    [
      'a: { limits: [5 USD], shape: { max_reservation: 2 } }',
      'f:2:34: a: 0.000002 USD: a whole number without a unit is micro-units',
    ],
    [
      'a: { limits: [5 USD, 9 USD/day], enforcement: { kept: { critical: 3 USD, normal: 2 USD } } }',
      'f:2:51: a: 5 USD kept of the 5 USD of limit lifetime: nothing is left for the least urgent work',
    ],
    [
      'a: { uncapped: true, enforcement: { kept: { critical: 3 USD } } }',
      'f:2:39: a: keeps capacity of its limits, and has none',
    ],
    [
      'a: { limits: [5 USD], enforcement: { tolerance: 1 USD } }',
      'f:2:40: a: a tolerance is of no effect in mode enforce, only in soft',
    ],
    [
      'a: { limits: [5 USD/day], budgets: { b: { shape: { max_reservation: 6 USD } } } }',
      'f:2:54: a/b: max_reservation: 6 USD is above the 5 USD of limit day, and never binds',
    ],
    [
      'a: { limits: [5 USD], shape: { max_children: 1 }, budgets: { b: , c: , b/d: } }',
      'f:2:34: a: max_children is 1, and the file has 2 right below',
    ],
    [
      'a: { limits: [5 USD], shape: { max_depth: 1 }, budgets: { b: , b/d: } }',
      'f:2:34: a: max_depth is 1, and the file goes 2 levels down',
    ],
    [
      'a: { limits: [5 USD], shape: { close_after: 1h } }',
      'f:2:34: a: closes by itself, for good; the file can not bring it back. It is meant for templates',
    ],
    [
      'a: { limits: [100 USD], budgets: { b: { limits: [10 USD/day, 5 USD], floor: 6 USD } } }',
      'f:2:72: a/b: floor: 6 USD is above the 5 USD of its own limit lifetime: the rest is kept for nobody',
    ],
    [
      'a: { limits: [100 USD/day], budgets: { b: { limits: [5 USD/day], floor: 6 USD } } }',
      'f:2:68: a/b: floor: 6 USD is above the 5 USD of its own limit day: the rest is kept for nobody',
    ],
    [
      'a: { limits: [100 USD], budgets: { b: { share_percent: 5, floor: 6 USD } } }',
      'f:2:61: a/b: floor: 6 USD is above its share of limit lifetime of a, 5 USD: the rest is kept for nobody',
    ],
    [
      'a: { limits: [5 USD], budgets: { b: { floor: 3 USD }, c: { floor: 3 USD } } }',
      'f:2:62: a/c: floor: with the floors before it 6 USD, more than the 5 USD of limit lifetime of a; the service refuses it',
    ],
    [
      'a: { limits: [5 USD], budgets: { b: { floor: 6 USD } } }',
      'f:2:41: a/b: floor: 6 USD, more than the 5 USD of limit lifetime of a; the service refuses it',
    ],
    [
      'a: { limits: [5 USD], child_template: { floor: 6 USD } }',
      'f:2:43: template of a: floor: 6 USD, more than the 5 USD of limit lifetime of a; the service refuses it',
    ],
    [
      'a: { limits: [9 USD, 5 USD/day], budgets: { b: { floor: 3 USD }, research: { kind: x }, c: { floor: 2 USD } } }',
      'f:2:68: a/research: floors are all of the 5 USD of limit day of a: nothing is left for research',
    ],
    [
      'a: { limits: [5 USD], budgets: { b: { floor: 5 USD } }, child_template: { kind: run } }',
      'f:2:59: template of a: floors are all of the 5 USD of limit lifetime of a: nothing is left for what it makes',
    ],
    [
      'a: { limits: [5 USD], floor: 1 USD }',
      'f:2:25: a: floor: a root has nothing above that could be kept for it; the service refuses it',
    ],
    [
      'a: { limits: [5 USD], share_percent: 40 }',
      'f:2:25: a: share_percent: a root has nothing above that it could have a share of; the service refuses it',
    ],
    [
      'a: { limits: [5 USD], budgets: { b: { floor: 2 } } }',
      'f:2:41: a/b: 0.000002 USD: a whole number without a unit is micro-units',
    ],
  ])('warns of %s', (fields, expected) => {
    expect(lint(fields)).toEqual([expected]);
  });

  it.each([
    'a: { limits: [5 USD, 2 USD/day], budgets: { b: { limits: [5 USD, 2 USD/day, 9 USD/day@Asia/Tokyo, 7 USD/week] } } }',
    'a: { uncapped: true, budgets: { b: { uncapped: true } } }',
    'a: { limits: [0 USD, 1000u/day] }',
    'a: { limits: [5 USD], enforcement: { mode: soft, tolerance: 1 USD, kept: { critical: 4 USD } } }',
    'a: { limits: [5 USD], shape: { max_reservation: 5 USD, max_children: 2, max_depth: 2 }, budgets: { b: , c: , b/d: } }',
    'a: { limits: [5 USD], child_template: { limits: [5 USD], shape: { close_after: 1h } } }',
    'a: { limits: [5 USD], budgets: { b: { floor: 3 USD, share_percent: 60 }, c: { floor: 2 USD } } }',
    'a: { limits: [5 USD], budgets: { b: { floor: 3 USD }, c: { floor: 1 USD }, d: } }',
    'a: { limits: [5 USD, 0 USD/day], budgets: { b: , c: } }',
    // Nobody knows what stands above.
    'a/b: { kind: run }',
  ])('is silent about %s', (fields) => {
    expect(lint(fields)).toEqual([]);
  });

  it('warns of a unit that no tree is made with, where the tree may be new', () => {
    const fields = 'a: { unit: usd, limits: [5 usd], child_template: { kind: x }, budgets: { b: } }';
    expect(lint(fields, undefined, 'usd')).toEqual([
      'f:2:8: a: unit usd is USD in another case: the service makes no tree in it',
    ]);
    expect(lint(fields, new Map(), 'usd')).toEqual([]);
    expect(lint('a/b: { limits: [5 usd] }', undefined, 'usd')).toEqual([]);
  });

  it('warns of who gets nothing also where the service would refuse the floors', () => {
    const warnings = lint('a: { limits: [5 USD], budgets: { b: { floor: 3 USD }, c: { floor: 3 USD }, d: } }');
    expect(warnings).toEqual([
      expect.stringContaining('a/c: floor: with the floors before it 6 USD'),
      'f:2:78: a/d: floors are more than the 5 USD of limit lifetime of a: nothing is left for d',
    ]);
  });

  it('judges by what stands above the file, where that is known', () => {
    expect(lint('a/b: { limits: [6 USD] }', termsOf('a: { limits: [5 USD] }'))).toEqual([
      'f:2:19: a/b: limit lifetime: 6 USD is above the 5 USD of a in the same window, and never binds',
    ]);
    expect(lint('a/b: { kind: run }', termsOf('a: { uncapped: true }'))).toEqual([
      'f:2:3: a/b: no limit here or above; the service refuses it unless it says uncapped: true',
    ]);
  });
});

it('says nothing that is not in its documentation, which has no warning that is not given', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/budgets-file.md'), 'utf8');
  const table = page.slice(page.indexOf('\n## Lint\n'));
  const warnings = Array.from(table.matchAll(/^\| `([^`]+)` /gm), ([, warning = '']) => warning.split('…'));
  const isGiven = (rule: (typeof RULES)[number], parts: readonly string[]): boolean =>
    parts.every((part) => rule.toString().includes(part.trim()));
  expect(RULES.filter((rule) => !warnings.some((parts) => isGiven(rule, parts))).map(({ name }) => name)).toEqual([]);
  expect(warnings.filter((parts) => !RULES.some((rule) => isGiven(rule, parts)))).toEqual([]);
});
