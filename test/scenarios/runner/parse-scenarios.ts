// Reads a case file into scenarios, and refuses whatever the format does not know: a key, a verb, a value, a name that
// nothing before it introduced. All faults of a file are reported at once, one a scenario.
import { type BudgetSetting, budgetSetting } from './budget-fields.ts';
import { type FieldsOf, listOf, oneOf, optional, readFields, required } from './field-rules.ts';
import { CaseFormatError, type Located, readLocatedYaml } from './located-yaml.ts';
import { durationMs, instantMs, word } from './scalar-fields.ts';
import { type Step, step } from './step-fields.ts';

/** Where scenarios begin unless they say otherwise. */
const DEFAULT_START_MS = Date.parse('2026-03-02T09:00:00Z');

/** One scenario: budgets to start with, and steps in order. */
export interface Scenario {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly kind: string;
  readonly startMs: number;
  /** Between the end of a lease and the reclaim of its hold. */
  readonly graceMs: number;
  readonly reaper: 'on' | 'off';
  readonly budgets: readonly BudgetSetting[];
  readonly steps: readonly Step[];
}

/** Thrown for a file that is no case file. Each problem reads `file:line: what is wrong`. */
export class CaseFileError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'CaseFileError';
    this.problems = problems;
  }
}

const SCENARIO_RULES = {
  name: required('name', word),
  kind: optional('kind', word),
  settings: optional('settings', (value: Located) =>
    readFields(value, 'settings', {
      graceMs: optional('grace', durationMs),
      startMs: optional('start', instantMs),
      reaper: optional('reaper', oneOf('on', 'off')),
    }),
  ),
  budgets: optional('budgets', listOf(budgetSetting)),
  steps: required('steps', listOf(step)),
};

/** Reads the text of a case file; `file` is its name in errors and reports. Throws CaseFileError. */
export function parseScenarios(text: string, file: string): readonly Scenario[] {
  const problems: string[] = [];
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CaseFormatError)) throw error;
      problems.push(`${file}:${error.line}: ${error.message}`);
      return undefined;
    }
  };
  const items = attempt(() => scenarioItems(text)) ?? [];
  const scenarios = items.map((item) => attempt(() => parseScenario(item, file)));
  if (problems.length > 0) throw new CaseFileError(problems);
  return scenarios.filter((scenario) => scenario !== undefined);
}

function scenarioItems(text: string): readonly Located[] {
  const root = readLocatedYaml(text);
  if (root.kind !== 'list' || root.items.length === 0) {
    throw new CaseFormatError(root.line, 'a case file is a list of at least one scenario');
  }
  return root.items;
}

function parseScenario(value: Located, file: string): Scenario {
  const fields: FieldsOf<typeof SCENARIO_RULES> = readFields(value, 'a scenario', SCENARIO_RULES);
  const { settings, budgets = [], steps } = fields;
  checkParents(budgets);
  checkNames(steps);
  return {
    file,
    line: value.line,
    name: fields.name,
    kind: fields.kind ?? '',
    startMs: settings?.startMs ?? DEFAULT_START_MS,
    graceMs: settings?.graceMs ?? 0,
    reaper: settings?.reaper ?? 'on',
    budgets,
    steps,
  };
}

function checkParents(budgets: readonly BudgetSetting[]): void {
  const listed = new Set<string>();
  for (const { name, line } of budgets) {
    const slash = name.lastIndexOf('/');
    if (slash >= 0 && !listed.has(name.slice(0, slash))) {
      throw new CaseFormatError(line, `budget "${name}": its parent must be listed before it`);
    }
    if (listed.has(name)) throw new CaseFormatError(line, `budget "${name}" is listed twice`);
    listed.add(name);
  }
}

/** Every name that a step uses must have been given by an `as` of an earlier step. */
function checkNames(steps: readonly Step[]): void {
  const given = new Set<string>();
  const waiting = new Set<string>();
  for (const current of steps) {
    const calls = current.do === 'parallel' ? current.steps : [current];
    for (const call of calls) {
      for (const used of namesUsedBy(call)) {
        if (!given.has(used)) throw new CaseFormatError(call.line, `"${used}" is no "as" of an earlier step`);
      }
    }
    for (const name of current.expect?.resolves?.keys() ?? []) {
      if (!waiting.has(name)) throw new CaseFormatError(current.line, `resolves: "${name}" is no waiting reserve`);
    }
    for (const call of calls) {
      if (call.do !== 'reserve' || call.as === undefined) continue;
      given.add(call.as);
      if (call.expect?.pending === true) waiting.add(call.as);
    }
  }
}

function namesUsedBy(step: Step): readonly string[] {
  if (step.do === 'check') return [...(step.reservations?.keys() ?? [])];
  const reservation = 'reservation' in step ? [step.reservation] : [];
  const expect = step.expect;
  const sameAs = expect !== undefined && 'sameAs' in expect && expect.sameAs !== undefined ? [expect.sameAs] : [];
  const resolved = [...(expect?.resolves?.values() ?? [])].flatMap((under) => under.sameAs ?? []);
  return [...reservation, ...sameAs, ...resolved];
}
