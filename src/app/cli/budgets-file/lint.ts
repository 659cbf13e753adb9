// What is allowed in a file of budgets and most likely not meant: limits that never bind, brakes that brake nothing, money that
// nobody can use. Each rule is one function; all judge budgets with what stands above them.
import { windowName } from '../../../api/validate/window-name.ts';
import type { BudgetTerms, LimitInput } from '../../../kernel/budget.ts';
import { type BudgetPath, chainOf, parentOf, treeOf } from '../../../kernel/names.ts';
import { isMistypedDollars, UNIT_DEFAULT } from '../../../kernel/unit.ts';
import { sameRule } from '../../../kernel/window.ts';
import { formatAmount } from '../amount.ts';
import type { FileProblem } from './file-problems.ts';
import { type FileBudget, positionOf } from './read-budgets-file.ts';

/** A budget above those that are looked at, as far as it is known. */
interface Above {
  readonly name: string;
  readonly terms: BudgetTerms;
}

/** One thing to look at: a budget, or a template on its way down. */
interface Subject extends Above {
  /** Nearest first. */
  readonly above: readonly Above[];
  /** Whether nothing above is missing in `above`. */
  readonly isChainKnown: boolean;
  readonly unit: string;
  /** Whether its tree may be one that is to be made in that unit; not where the service was asked. */
  readonly isUnitNew: boolean;
  /** Paths of the budgets of the file right below and anywhere below; none below a template. */
  readonly below: readonly BudgetPath[];
  readonly isTemplate: boolean;
  /** Those of the file right below the same budget, in its order, with this one; none of a template. */
  readonly siblings: readonly Above[];
  /** Those of the file right below the same budget that are others; of a template those beside what it makes. */
  readonly beside: readonly Above[];
}

/** A field, as the contract names it, and what is odd about it. */
type Finding = readonly [field: string, message: string];

type Rule = (subject: Subject) => Finding[];

/** All of them; docs/budgets-file.md has what each says. */
export const RULES: readonly Rule[] = [
  mistypedDollars,
  noLimit,
  needlessUncapped,
  aboveParent,
  twiceInWindow,
  tinyAmounts,
  keptTooMuch,
  floorsTooMuch,
  floorsTakeAll,
  floorPastOwn,
  sharesNothing,
  toleranceWithoutSoft,
  largestNeverBinds,
  shapeAgainstFile,
  closesByItself,
];

/** Budgets that stand above those of the file and are not in it, by their paths; undefined: nobody has looked. */
export type KnownAbove = ReadonlyMap<string, BudgetTerms> | undefined;

/** Everything that is odd in a file, in its order. `unitOf` knows the unit of each tree. */
export function lintBudgets(
  budgets: readonly FileBudget[],
  unitOf: (tree: string) => string,
  known: KnownAbove,
): FileProblem[] {
  const inFile = new Map<string, FileBudget>(budgets.map((budget) => [budget.path, budget]));
  const childrenOf = (parent: BudgetPath | undefined): Above[] =>
    budgets.filter(({ path }) => parentOf(path) === parent).map(({ path, terms }) => ({ name: path, terms }));
  return budgets.flatMap((budget): FileProblem[] => {
    const chain = chainOf(budget.path).slice(0, -1).reverse();
    const above = chain.flatMap((path): Above[] => {
      const terms = inFile.get(path)?.terms ?? known?.get(path);
      return terms === undefined ? [] : [{ name: path, terms }];
    });
    const siblings = childrenOf(parentOf(budget.path));
    const subject: Subject = {
      name: budget.path,
      terms: budget.terms,
      above,
      isChainKnown: above.length === chain.length,
      unit: unitOf(treeOf(budget.path)),
      isUnitNew: known === undefined,
      below: budgets.map(({ path }) => path).filter((path) => path.startsWith(`${budget.path}/`)),
      isTemplate: false,
      siblings,
      beside: siblings.filter(({ name }) => name !== budget.path),
    };
    return findingsOf(subject, childrenOf(budget.path)).map(([field, message]) => ({
      at: positionOf(budget, field),
      message,
    }));
  });
}

function findingsOf(subject: Subject, children: readonly Above[], prefix = ''): Finding[] {
  const own = RULES.flatMap((rule) => rule(subject)).map(
    ([field, message]): Finding => [`${prefix}${field}`, `${subject.name}: ${message}`],
  );
  const { childTemplate } = subject.terms;
  if (childTemplate === undefined) return own;
  const inner: Subject = {
    ...subject,
    name: `template of ${subject.name}`,
    terms: childTemplate,
    above: [subject, ...subject.above],
    below: [],
    isTemplate: true,
    siblings: [],
    beside: children,
  };
  return [...own, ...findingsOf(inner, [], `${prefix}child_template.`)];
}

// A file without the root is of a tree that is there.
function mistypedDollars({ name, unit, isUnitNew, isTemplate }: Subject): Finding[] {
  if (!isUnitNew || isTemplate || name.includes('/') || !isMistypedDollars(unit)) return [];
  return [['unit', `unit ${unit} is ${UNIT_DEFAULT} in another case: the service makes no tree in it`]];
}

function noLimit({ terms, above, isChainKnown }: Subject): Finding[] {
  const isCapped = [terms, ...above.map((each) => each.terms)].some(({ limits }) => limits.length > 0);
  if (isCapped || terms.uncapped || !isChainKnown) return [];
  return [['uncapped', 'no limit here or above; the service refuses it unless it says uncapped: true']];
}

function needlessUncapped({ terms, above }: Subject): Finding[] {
  const capping = [{ name: 'it', terms }, ...above].find((each) => each.terms.limits.length > 0);
  if (!terms.uncapped || capping === undefined) return [];
  return [['uncapped', `says uncapped, yet ${capping.name} has limits, which apply`]];
}

// The nearest one above that it passes: who looks wants to know which one binds instead.
function aboveParent({ terms, above, unit }: Subject): Finding[] {
  return terms.limits.flatMap((limit, index): Finding[] => {
    for (const { name, terms: upper } of above) {
      const tighter = upper.limits.find(
        (each) => sameRule(each.rule, limit.rule) && each.amountMicros < limit.amountMicros,
      );
      if (tighter === undefined) continue;
      const amounts = `${formatAmount(limit.amountMicros, unit)} is above the ${formatAmount(tighter.amountMicros, unit)} of ${name}`;
      return [[`limits[${index}]`, `limit ${limit.name}: ${amounts} in the same window, and never binds`]];
    }
    return [];
  });
}

function twiceInWindow({ terms: { limits } }: Subject): Finding[] {
  return limits.flatMap((limit, index): Finding[] => {
    const other = limits.slice(0, index).find(({ rule }) => sameRule(rule, limit.rule));
    if (other === undefined) return [];
    const window = windowName(limit.rule);
    return [
      [`limits[${index}]`, `limits ${other.name} and ${limit.name} are both for ${window}: only the smaller binds`],
    ];
  });
}

// A thousandth of a unit: who writes less has most likely left out a unit.
const TINY_MICROS = 1_000n;

function tinyAmounts({ terms, unit }: Subject): Finding[] {
  const amounts: readonly (readonly [string, bigint | undefined])[] = [
    ...terms.limits.map(({ amountMicros }, index) => [`limits[${index}]`, amountMicros] as const),
    ['floor_micros', terms.floorMicros],
    ['shape.max_reservation_micros', terms.shape.maxReservationMicros],
    ['enforcement.tolerance_micros', terms.enforcement.toleranceMicros],
    ...terms.enforcement.kept.map(({ micros }, index) => [`enforcement.kept[${index}]`, micros] as const),
  ];
  return amounts.flatMap(([field, micros = 0n]): Finding[] =>
    micros > 0n && micros < TINY_MICROS
      ? [[field, `${formatAmount(micros, unit)}: a whole number without a unit is micro-units`]]
      : [],
  );
}

function keptTooMuch({ terms, unit }: Subject): Finding[] {
  const { kept } = terms.enforcement;
  if (kept.length === 0) return [];
  if (terms.limits.length === 0) return [['enforcement.kept', 'keeps capacity of its limits, and has none']];
  const sum = kept.reduce((total, { micros }) => total + micros, 0n);
  return terms.limits
    .filter(({ amountMicros }) => sum >= amountMicros)
    .map(({ name, amountMicros }): Finding => {
      const all = `${formatAmount(sum, unit)} kept of the ${formatAmount(amountMicros, unit)} of limit ${name}`;
      return ['enforcement.kept', `${all}: nothing is left for the least urgent work`];
    });
}

// The service refuses the floor that brings the sum past an amount: it is the one that stands last in the file.
function floorsTooMuch({ name, terms, siblings, above, unit }: Subject): Finding[] {
  const [parent] = above;
  if (parent === undefined || terms.floorMicros === 0n) return [];
  const before = siblings.slice(
    0,
    siblings.findIndex((each) => each.name === name),
  );
  const sum = before.reduce((total, each) => total + each.terms.floorMicros, terms.floorMicros);
  const passed = parent.terms.limits.find(({ amountMicros }) => sum > amountMicros);
  if (passed === undefined) return [];
  const floors = before.some((each) => each.terms.floorMicros > 0n)
    ? `with the floors before it ${formatAmount(sum, unit)}`
    : formatAmount(sum, unit);
  const limit = `the ${formatAmount(passed.amountMicros, unit)} of limit ${passed.name} of ${parent.name}`;
  return [['floor_micros', `floor: ${floors}, more than ${limit}; the service refuses it`]];
}

// Of what is kept for its siblings it may use nothing, whether they do or not.
function floorsTakeAll({ name, terms, beside, above, unit, isTemplate }: Subject): Finding[] {
  const [parent] = above;
  if (parent === undefined || terms.floorMicros > 0n) return [];
  const sum = beside.reduce((total, each) => total + each.terms.floorMicros, 0n);
  const taken = parent.terms.limits.find(({ amountMicros }) => sum > 0n && sum >= amountMicros);
  if (taken === undefined) return [];
  const amount = formatAmount(taken.amountMicros, unit);
  const all = `${sum === taken.amountMicros ? 'all of' : 'more than'} the ${amount} of limit ${taken.name} of ${parent.name}`;
  const whom = isTemplate ? 'what it makes' : name.slice(name.lastIndexOf('/') + 1);
  return [['floor_micros', `floors are ${all}: nothing is left for ${whom}`]];
}

// Kept back from its siblings, in a limit above, and not for it to use: its own limit, or its share of that limit, is less. Its own
// limit of another window says nothing: 5 a day may well come to 20 a month.
function floorPastOwn({ terms, above, unit }: Subject): Finding[] {
  const { floorMicros: floor, sharePercent: share } = terms;
  const [parent] = above;
  for (const { rule, name, amountMicros } of parent === undefined || floor === 0n ? [] : parent.terms.limits) {
    const own = terms.limits.find(
      (each) => each.amountMicros < floor && (each.rule.kind === 'lifetime' || sameRule(each.rule, rule)),
    );
    const most = share === undefined ? undefined : (amountMicros * BigInt(share)) / 100n;
    const bound =
      own !== undefined
        ? `the ${formatAmount(own.amountMicros, unit)} of its own limit ${own.name}`
        : most !== undefined && most < floor
          ? `its share of limit ${name} of ${parent?.name}, ${formatAmount(most, unit)}`
          : undefined;
    if (bound !== undefined)
      return [['floor_micros', `floor: ${formatAmount(floor, unit)} is above ${bound}: the rest is kept for nobody`]];
  }
  return [];
}

function sharesNothing({ name, terms, isTemplate }: Subject): Finding[] {
  if (isTemplate || name.includes('/')) return [];
  const findings: Finding[] = [];
  if (terms.floorMicros > 0n)
    findings.push([
      'floor_micros',
      'floor: a root has nothing above that could be kept for it; the service refuses it',
    ]);
  if (terms.sharePercent !== undefined) {
    findings.push([
      'share_percent',
      'share_percent: a root has nothing above that it could have a share of; the service refuses it',
    ]);
  }
  return findings;
}

function toleranceWithoutSoft({ terms: { enforcement } }: Subject): Finding[] {
  if (enforcement.toleranceMicros === 0n || enforcement.mode === 'soft') return [];
  return [['enforcement.tolerance_micros', `a tolerance is of no effect in mode ${enforcement.mode}, only in soft`]];
}

function largestNeverBinds({ terms, above, unit }: Subject): Finding[] {
  const { maxReservationMicros: largest } = terms.shape;
  const limits = [terms, ...above.map((each) => each.terms)].flatMap((each): readonly LimitInput[] => each.limits);
  const tightest = limits.find(({ amountMicros }) => largest !== undefined && amountMicros < largest);
  if (largest === undefined || tightest === undefined) return [];
  const amounts = `${formatAmount(largest, unit)} is above the ${formatAmount(tightest.amountMicros, unit)} of limit ${tightest.name}`;
  return [['shape.max_reservation_micros', `max_reservation: ${amounts}, and never binds`]];
}

function shapeAgainstFile({ name, terms: { shape }, below }: Subject): Finding[] {
  const findings: Finding[] = [];
  const children = below.filter((path) => parentOf(path) === (name as BudgetPath)).length;
  if (shape.maxChildren !== undefined && children > shape.maxChildren) {
    findings.push([
      'shape.max_children',
      `max_children is ${shape.maxChildren}, and the file has ${children} right below`,
    ]);
  }
  const levels = Math.max(0, ...below.map((path) => path.slice(name.length).split('/').length - 1));
  if (shape.maxDepth !== undefined && levels > shape.maxDepth) {
    findings.push(['shape.max_depth', `max_depth is ${shape.maxDepth}, and the file goes ${levels} levels down`]);
  }
  return findings;
}

function closesByItself({ terms: { shape }, isTemplate }: Subject): Finding[] {
  if (isTemplate || shape.closeAfterMs === undefined) return [];
  return [
    ['shape.close_after', 'closes by itself, for good; the file can not bring it back. It is meant for templates'],
  ];
}
