// A file of budgets read whole: every budget in its normal form with the places of its fields, or everything that is wrong, each
// with its line. Nothing here asks a service.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { checkUnit, unitProblem } from '../../../api/validate/budget-fields.ts';
import { checkLabels } from '../../../api/validate/labels.ts';
import { checkText, type Problems } from '../../../api/validate/problems.ts';
import { BudgetSchema } from '../../../gen/budgetd/v1/budget_pb.ts';
import { type BudgetPath, parsePath, type TreeId, treeOf } from '../../../kernel/names.ts';
import { isMistypedDollars, newUnitProblem, UNIT_DEFAULT } from '../../../kernel/unit.ts';
import { isMultiplier } from '../amount.ts';
import { BUDGET_FIELDS, type NormalBudget, normalBudget } from './budget-fields.ts';
import type { FileProblems, Position } from './file-problems.ts';
import { type Reading, readMap } from './file-value.ts';
import { type Located, type LocatedEntry, readLocatedYaml } from './located-yaml.ts';
import { readFields, unknownKey } from './terms-fields.ts';

/** One budget of a file. */
export interface FileBudget extends NormalBudget {
  readonly path: BudgetPath;
  /** Where its name stands. */
  readonly at: Position;
  /** Where its fields stand, by their paths in the contract. */
  readonly positions: ReadonlyMap<string, Position>;
  /** Units that were typed beside its amounts. */
  readonly units: Reading['units'];
}

/** Key under which budgets stand, at the top and within a budget. */
const BUDGETS = 'budgets';

/** Budgets of a text in its order; `problems` says what is wrong, and then what is returned is of no use. */
export function readBudgetsFile(content: string, problems: FileProblems): FileBudget[] {
  const root = readLocatedYaml(content, problems);
  if (root === undefined) return [];
  if (root.kind !== 'map') {
    problems.add(root.at, `must hold the key ${BUDGETS}`);
    return [];
  }
  for (const { key, at } of root.entries) {
    if (key !== BUDGETS) problems.add(at, unknownKey('', key, [{ key: BUDGETS }]));
  }
  const budgets: FileBudget[] = [];
  const seen = new Map<string, Position>();
  readLevel(root.entries, '', (path, entry) => {
    const before = seen.get(path);
    if (before !== undefined) problems.add(entry.at, `${path} is in line ${before.line} already`);
    seen.set(path, entry.at);
    budgets.push(readBudget(problems, path, entry));
  });
  return budgets;

  function readLevel(
    entries: readonly LocatedEntry[],
    prefix: string,
    onBudget: (path: BudgetPath, entry: LocatedEntry) => void,
  ): void {
    for (const group of entries.filter(({ key }) => key === BUDGETS)) {
      for (const entry of readMap(readingInto(problems), group.value)) {
        const path = parsePath(prefix + entry.key);
        if (typeof path !== 'string') problems.add(entry.at, `${prefix}${entry.key} is no path: ${path.problem}`);
        else {
          onBudget(path, entry);
          readLevel(entriesOf(entry.value), `${path}/`, onBudget);
        }
      }
    }
  }
}

function readingInto(problems: FileProblems): Reading {
  return { subject: '', problems, positions: new Map(), unread: new Set(), units: [] };
}

// A budget with nothing to say is one of defaults.
function entriesOf(value: Located): readonly LocatedEntry[] {
  return value.kind === 'map' ? value.entries : [];
}

function readBudget(problems: FileProblems, path: BudgetPath, { at, value }: LocatedEntry): FileBudget {
  const reading = readingInto(problems);
  const isEmpty = value.kind === 'scalar' && value.value === null;
  const entries = isEmpty ? [] : readMap(reading, value);
  const fields = readFields(reading, entries, BUDGET_FIELDS, { otherKeys: [BUDGETS] });
  const stated = create(BudgetSchema, { ...fields, budget: path } as MessageInitShape<typeof BudgetSchema>);
  const own: Problems = [];
  const normal = normalBudget(own, stated);
  checkText(own, 'owner', stated.owner);
  checkLabels(own, 'labels', stated.labels);
  checkUnit(own, 'unit', stated.unit, path);
  for (const { field, description } of own) {
    if (isWithin(field, reading.unread)) continue;
    problems.add(positionOf({ at, positions: reading.positions }, field), `${nameInFile(field)} ${description}`);
  }
  return { path, at, positions: reading.positions, units: reading.units, ...normal };
}

/** A field as the file has it: amounts have their unit beside them. */
export function nameInFile(field: string): string {
  return field
    .replace(/_micros\b/g, '')
    .replace('models.allowed_models.models', 'models.allowed')
    .replace('models.allowed_models', 'models.allowed')
    .replace('alert_at.percent', 'alert_at');
}

// What could not be read is stood in for by something that may be wrong once more.
function isWithin(field: string, paths: ReadonlySet<string>): boolean {
  return [...paths].some(
    (path) => field === path || (field.startsWith(path) && '.['.includes(field.charAt(path.length))),
  );
}

/** Where a field stands, or the nearest thing around it that the file has. */
export function positionOf({ at, positions }: Pick<FileBudget, 'at' | 'positions'>, field: string): Position {
  for (let path = field; path !== ''; path = path.slice(0, Math.max(0, path.search(/[.[][^.[]*$/)))) {
    const found = positions.get(path);
    if (found !== undefined) return found;
  }
  return at;
}

/**
 * The unit of each tree: as `knownUnit` has it, else as its root says, else as most of its amounts do, so that what is mistyped is what
 * is told of: a root that says USD in another case beside amounts in USD, or the one amount among many. Notes amounts in another one, a root that says another one, and one that no tree is made with. `knownUnit`:
 * undefined for a tree that is not there; without it nobody has looked, and a tree may count in whatever its file says.
 */
export function unitsOfTrees(
  budgets: readonly FileBudget[],
  knownUnit: ((tree: TreeId) => string | undefined) | undefined,
  problems: FileProblems,
): ReadonlyMap<TreeId, string> {
  const units = new Map<TreeId, string>();
  for (const budget of budgets) {
    const tree = treeOf(budget.path);
    if (units.has(tree)) continue;
    const own = budgets.filter(({ path }) => treeOf(path) === tree);
    const stated = own.find(({ path }) => path === (tree as string))?.message.unit;
    const known = knownUnit?.(tree);
    const typedUnits = own.flatMap(({ units }) => units).map(({ unit }) => unit);
    const said = stated ? meantUnit(stated, typedUnits) : mostTyped(typedUnits.filter((typed) => !isMultiplier(typed)));
    const unit = known ?? (knownUnit !== undefined && isMistypedDollars(said) ? UNIT_DEFAULT : said);
    units.set(tree, unit);
    for (const each of own) {
      // What is no unit has been told of already.
      const ownUnit =
        each.message.unit === '' || unitProblem(each.message.unit) !== undefined ? unit : each.message.unit;
      const wrong = ownUnit === unit ? [] : [{ at: positionOf(each, 'unit'), unit: ownUnit }];
      for (const { at, unit: typed } of [...wrong, ...each.units.filter((amount) => amount.unit !== unit)]) {
        const problem = unitProblem(typed) ?? (known === undefined ? newUnitProblem(typed) : undefined);
        const inTree = `the tree ${tree} counts in ${unit}, not in ${typed}`;
        const inAmount = isMultiplier(typed)
          ? `${typed} is not the unit ${unit}: write all digits of the amount`
          : inTree;
        problems.add(at, problem === undefined ? inAmount : `the unit ${typed} ${problem}`);
      }
    }
  }
  return units;
}

// USD in another case is meant as USD where any amount says USD.
function meantUnit(unit: string, typed: readonly string[]): string {
  return isMistypedDollars(unit) && typed.includes(UNIT_DEFAULT) ? UNIT_DEFAULT : unit;
}

// Of as many the one that comes first.
function mostTyped(typed: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const unit of typed) {
    const meant = meantUnit(unit, typed);
    counts.set(meant, (counts.get(meant) ?? 0) + 1);
  }
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), [UNIT_DEFAULT, 0] as const)[0];
}
