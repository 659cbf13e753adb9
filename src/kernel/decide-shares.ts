// What a change of a child does to the budget above it: that one's definition lists the child's floor and share, in the same
// commit, and gets windows that count the child apart. And what is wrong with a floor or a share where it is stated.
import type { BudgetDef, BudgetState, Counter, WindowDef } from './budget.ts';
import { EMPTY_LIFETIME } from './budget.ts';
import { CHILD_SHARE_COUNT_MAX, changesShare, shareOf, withChild } from './child-share.ts';
import { type DecideContext, entryBase } from './decision.ts';
import { pastIn } from './edit-history.ts';
import type { BudgetChange } from './entry.ts';
import type { FieldProblem } from './refusal.ts';
import type { TreeState } from './tree-state.ts';
import type { EditHistory } from './window-history.ts';

/** Why a budget was edited that nobody named: what a child has of it for itself changed. */
export const CHILD_SHARES_REASON = 'floor or share of a child';

/** What is wrong with the floor and the share of a budget as it is to be. `before` undefined: it is new. */
export function shareProblems(
  parent: BudgetDef | undefined,
  before: Pick<BudgetDef, 'floorMicros'> | undefined,
  after: Pick<BudgetDef, 'no' | 'floorMicros' | 'sharePercent'>,
): FieldProblem[] {
  const { no, floorMicros, sharePercent } = after;
  const stated = [
    ...(floorMicros > 0n ? ['budget.floor_micros'] : []),
    ...(sharePercent === undefined ? [] : ['budget.share_percent']),
  ];
  if (stated.length === 0) return [];
  if (parent === undefined) return stated.map((field) => ({ field, description: 'a root has no budget above it' }));
  const others = parent.childShares.filter(({ childNo }) => childNo !== no);
  if (others.length === parent.childShares.length && others.length >= CHILD_SHARE_COUNT_MAX) {
    return stated.map((field) => ({ field, description: tooMany(parent) }));
  }
  if (floorMicros <= (before?.floorMicros ?? 0n)) return [];
  const togetherMicros = others.reduce((sum, each) => sum + each.floorMicros, floorMicros);
  const passed = parent.limits.find(({ amountMicros }) => togetherMicros > amountMicros);
  if (passed === undefined) return [];
  const description = `the floors under ${parent.path} would come to ${togetherMicros}, more than the ${passed.amountMicros} of its limit ${passed.name}`;
  return [{ field: 'budget.floor_micros', description }];
}

/** Of budgets that a Reserve would edit by making children: which list too many; undefined where none does. */
export function tooManyShares(defs: readonly BudgetDef[]): FieldProblem | undefined {
  const full = defs.find(({ childShares }) => childShares.length > CHILD_SHARE_COUNT_MAX);
  return full && { field: 'budget', description: tooMany(full) };
}

function tooMany({ path }: BudgetDef): string {
  return `${path} has ${CHILD_SHARE_COUNT_MAX} open children with a floor or a share and may have no more`;
}

/**
 * The entry on the budget above that follows the one by which a child became `after`; none where the child's floor and share stay
 * as they are. `before` undefined: the child is new.
 */
export function aboveChange(
  state: TreeState,
  actor: string,
  before: BudgetDef | undefined,
  after: BudgetDef,
  history: EditHistory | undefined,
  context: DecideContext,
): BudgetChange[] {
  if (after.parentNo === undefined || !changesShare(before, after)) return [];
  const parent = state.mustBudget(after.parentNo).def;
  if (shareOf(after) === undefined && !parent.childShares.some(({ childNo }) => childNo === after.no)) return [];
  const def = {
    ...withChild(parent, after, context.nowMs, context.calendar),
    revision: parent.revision + 1,
    updateMs: context.nowMs,
  };
  const opening = openingCounters(state, parent, def, history);
  return [{ ...sharesEdit(state, actor, def, context), seq: state.position.seq + 2, opening }];
}

/** An edit that a child brings about. */
export function sharesEdit(state: TreeState, actor: string, def: BudgetDef, context: DecideContext): BudgetChange {
  return {
    ...entryBase(state, { actor, key: undefined, personal: undefined }, context),
    type: 'BudgetUpdated',
    def,
    replaceLabels: false,
    addMicros: undefined,
    reason: CHILD_SHARES_REASON,
    opening: [],
    rateMoves: [],
    openChildren: 0,
  };
}

/**
 * Counters that windows start with that are in `after` and not in `before`. Each begins with one even where that is nothing: a
 * reservation that is there already may come to more later, when the period is not the latest any more.
 */
export function openingCounters(
  state: TreeState,
  before: Pick<BudgetDef, 'windowNoMax'>,
  after: BudgetDef,
  history: EditHistory | undefined,
): Counter[] {
  const fresh = after.windows.filter(({ no }) => no > before.windowNoMax);
  return fresh.flatMap((window) => openingOf(state, after, window, history));
}

function openingOf(
  state: TreeState,
  { no }: BudgetDef,
  window: WindowDef,
  history: EditHistory | undefined,
): Counter[] {
  const { no: windowNo, rule, firstPeriodMs: periodMs, childNo } = window;
  // Its own counter says what a child ever used.
  const lifetime =
    rule.kind === 'lifetime' ? lifetimeOf(childNo === undefined ? undefined : state.budget(childNo)) : undefined;
  if (lifetime !== undefined) return [{ ...lifetime, windowNo }];
  const sum = pastIn(history, childNo ?? no, rule);
  if (sum === undefined) return [{ ...EMPTY_LIFETIME, windowNo, periodMs }];
  const { heldMicros, settledMicros, overrunMicros, steps } = sum;
  const whole = { windowNo, periodMs, heldMicros, settledMicros, overrunMicros };
  return [whole, ...steps.map((step) => ({ windowNo, heldMicros: 0n, ...step }))];
}

function lifetimeOf(budget: BudgetState | undefined): Counter | undefined {
  const lifetime = budget?.counters[0];
  return lifetime && { ...lifetime };
}
