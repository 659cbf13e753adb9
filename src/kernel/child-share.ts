// What a budget has for itself of the one above it, as the definition of the one above lists it: floors, which others may not use,
// and shares, which it may not pass. They are kept there, with windows that count each child apart, because whoever decides on a
// budget has those above it in memory, and never has its siblings.
import type { Account, BudgetDef, ChildShare, WindowDef } from './budget.ts';
import { type Calendar, sameRule, type WindowRule } from './window.ts';
import { firstPeriodOf } from './window-history.ts';

/**
 * Children of one budget that may have a floor or a share at a time. Each costs every decision below that budget a look at its
 * counters: a quarter of a microsecond a limit (measured), where a Reserve and its Settle take 10.
 */
export const CHILD_SHARE_COUNT_MAX = 64;

/** What a child has of the budget above; undefined where it has neither floor nor share, or is closed. */
export function shareOf({ no, floorMicros, sharePercent, closed }: BudgetDef): ChildShare | undefined {
  if (closed || (floorMicros === 0n && sharePercent === undefined)) return undefined;
  return { childNo: no, floorMicros, sharePercent };
}

/** Whether a change of a child changes what it has of the budget above. `before` undefined: it is new. */
export function changesShare(before: BudgetDef | undefined, after: BudgetDef): boolean {
  const old = before && shareOf(before);
  const now = shareOf(after);
  return old?.floorMicros !== now?.floorMicros || old?.sharePercent !== now?.sharePercent;
}

/**
 * The definition of a budget once a child is as given. A child keeps its place in the list for as long as it has a floor or a
 * share: earlier ones win where floors together pass what there is. Revision and time are left to the caller.
 */
export function withChild(parent: BudgetDef, child: BudgetDef, nowMs: number, calendar: Calendar): BudgetDef {
  const share = shareOf(child);
  const isListed = parent.childShares.some(({ childNo }) => childNo === child.no);
  const kept = parent.childShares.flatMap((each) => (each.childNo === child.no ? (share ?? []) : [each]));
  const childShares = isListed || share === undefined ? kept : [...kept, share];
  return { ...parent, childShares, ...childWindows({ ...parent, childShares }, nowMs, calendar) };
}

type Counted = Pick<BudgetDef, 'windows' | 'windowNoMax' | 'childShares'>;

/**
 * Windows of a budget so that each child it lists is counted apart in all of them, the lifetime one included. One that is there
 * keeps its number; one whose child or whose rule is gone goes.
 */
export function childWindows(
  { windows: before, windowNoMax: noMax, childShares }: Counted,
  nowMs: number,
  calendar: Calendar,
): Pick<BudgetDef, 'windows' | 'windowNoMax'> {
  // The usual case makes nothing.
  if (childShares.length === 0 && !before.some(({ childNo }) => childNo !== undefined)) {
    return { windows: before, windowNoMax: noMax };
  }
  const own = before.filter(({ childNo }) => childNo === undefined);
  let windowNoMax = noMax;
  const apart = childShares.flatMap(({ childNo }) =>
    own.map(({ rule }): WindowDef => {
      const known = before.find((each) => each.childNo === childNo && sameRule(each.rule, rule));
      if (known !== undefined) return known;
      windowNoMax += 1;
      return { no: windowNoMax, rule, firstPeriodMs: firstPeriodOf(rule, nowMs, calendar), childNo };
    }),
  );
  // In the order of their numbers, as steps are.
  const windows = [...own, ...apart].sort((a, b) => a.no - b.no);
  const isSame = windows.length === before.length && windows.every((window, at) => window === before[at]);
  return { windows: isSame ? before : windows, windowNoMax };
}

/** Windows that count what is charged through some budgets: those of everything, and those of the children among them. */
export function windowsThrough(
  { windows, childShares }: BudgetDef,
  isOn: (no: number) => boolean,
): readonly WindowDef[] {
  if (childShares.length === 0) return windows;
  return windows.filter(({ childNo }) => childNo === undefined || isOn(childNo));
}

/** Children that a budget counts apart in some of these accounts. */
export function childrenIn({ no, windows, childShares }: BudgetDef, accounts: readonly Account[]): ReadonlySet<number> {
  if (childShares.length === 0) return NO_CHILDREN;
  const moved = new Set(accounts.filter(({ budgetNo }) => budgetNo === no).map(({ windowNo }) => windowNo));
  return new Set(windows.flatMap(({ no: windowNo, childNo }) => (moved.has(windowNo) ? (childNo ?? []) : [])));
}

const NO_CHILDREN: ReadonlySet<number> = new Set();

/** The window of a rule that counts everything; undefined where there is none. */
export function ownWindowOf(windows: readonly WindowDef[], rule: WindowRule): WindowDef | undefined {
  return windows.find((window) => window.childNo === undefined && sameRule(window.rule, rule));
}
