// What children have of one limit in one period, as a request sees it: how much is kept back for the floors of children that it
// does not go through, and how much the shares of those that it does go through leave. Whole micro-units and nothing rounded but
// a share, down. Apart from headroom.ts, which asks only where a budget lists such children.
import type { Account, BudgetState, ChildShare, Counter, WindowDef } from './budget.ts';
import { atLeastZero, minMicros as least } from './money.ts';
import { rollingSpend } from './rolling-spend.ts';
import { oldestStep, type RollingRule, sameRule } from './window.ts';

/** What one child uses of a limit in a period, all of it in micro-units. */
export interface ShareUse {
  readonly share: ChildShare;
  /** Whether the request goes through this child. */
  readonly isOwn: boolean;
  /** The window that counts it. */
  readonly windowNo: number;
  readonly heldMicros: bigint;
  /** settled + overrun. */
  readonly spentMicros: bigint;
}

/** How much of a child's use counts for a question: as it is, if holds came back, if nothing were used. */
export type Counting = (use: ShareUse) => bigint;

/** As it is now. */
export const ALL: Counting = ({ heldMicros, spentMicros }) => heldMicros + spentMicros;

/** As it would be with nothing used. */
export const NOTHING: Counting = () => 0n;

/** As it would be if every hold but one came back; through its own children that one holds `ownHeldMicros`. */
export function spentAnd(ownHeldMicros: bigint): Counting {
  return ({ isOwn, spentMicros }) => spentMicros + (isOwn ? ownHeldMicros : 0n);
}

/**
 * Uses of the children that a budget lists, in its order, in the window and period of an account. A child is not counted in
 * periods before it was listed: nothing is kept there.
 */
export function shareUses(
  budget: BudgetState,
  { windowNo, periodMs }: Account,
  isOn: (no: number) => boolean,
  nowMs: number,
): ShareUse[] {
  const { windows, childShares } = budget.def;
  const apart = windowsApart(windows, windowNo);
  const counters = new Map<number, Counter>();
  for (const counter of budget.counters) if (counter.periodMs === periodMs) counters.set(counter.windowNo, counter);
  const uses: ShareUse[] = [];
  for (const share of childShares) {
    const window = apart.get(share.childNo);
    if (window === undefined || periodMs < window.firstPeriodMs) continue;
    const counter = counters.get(window.no);
    const { rule } = window;
    const { settledMicros = 0n, overrunMicros = 0n } =
      rule.kind === 'rolling' ? rollingSpend(budget.steps, window.no, rule, nowMs) : (counter ?? {});
    const spentMicros = settledMicros + overrunMicros;
    const heldMicros = counter?.heldMicros ?? 0n;
    uses.push({ share, isOwn: isOn(share.childNo), windowNo: window.no, heldMicros, spentMicros });
  }
  return uses;
}

// Every decision asks. A window keeps its number and its rule for ever.
const known = new WeakMap<readonly WindowDef[], Map<number, ReadonlyMap<number, WindowDef>>>();

/** The windows that count children apart by the rule of one that counts everything, by child. */
function windowsApart(windows: readonly WindowDef[], windowNo: number): ReadonlyMap<number, WindowDef> {
  let byNo = known.get(windows);
  if (byNo === undefined) {
    byNo = new Map();
    known.set(windows, byNo);
  }
  let apart = byNo.get(windowNo);
  if (apart === undefined) {
    const rule = windows.find(({ no }) => no === windowNo)?.rule;
    const found = new Map<number, WindowDef>();
    for (const window of windows) {
      if (window.childNo !== undefined && rule !== undefined && sameRule(window.rule, rule))
        found.set(window.childNo, window);
    }
    apart = found;
    byNo.set(windowNo, apart);
  }
  return apart;
}

/**
 * What is kept back of `leftMicros` for floors of children that a request does not go through. Of each floor what its child has
 * not used yet; where they together pass what is left, the one listed first has it.
 */
export function flooredMicros(uses: readonly ShareUse[], leftMicros: bigint, counting: Counting): bigint {
  let free = atLeastZero(leftMicros);
  let floored = 0n;
  for (const use of uses) {
    const micros = least(atLeastZero(use.share.floorMicros - counting(use)), free);
    free -= micros;
    if (!use.isOwn) floored += micros;
  }
  return floored;
}

/** What shares of an amount leave to a request, below 0 where passed; undefined where it goes through no child with a share. */
export function shareLeftMicros(
  uses: readonly ShareUse[],
  amountMicros: bigint,
  counting: Counting,
): bigint | undefined {
  let leftMicros: bigint | undefined;
  for (const use of uses) {
    const { sharePercent } = use.share;
    if (!use.isOwn || sharePercent === undefined) continue;
    // used x 100 <= amount x percent, for whole numbers.
    const own = (amountMicros * BigInt(sharePercent)) / 100n - counting(use);
    leftMicros = leftMicros === undefined ? own : least(leftMicros, own);
  }
  return leftMicros;
}

/**
 * When so much of a rolling window's spend will have been let go that `fits` holds, which must then go on to hold; undefined:
 * never by that alone. `fits` is told what is spent then in all, and of each use.
 */
export function sharedFreeMs(
  { steps }: BudgetState,
  { no, rule }: { readonly no: number; readonly rule: RollingRule },
  uses: readonly ShareUse[],
  nowMs: number,
  fits: (spentMicros: bigint, counting: Counting) => boolean,
): number | undefined {
  const spent = new Map<number, bigint>(uses.map(({ windowNo, spentMicros }) => [windowNo, spentMicros]));
  const whole = rollingSpend(steps, no, rule, nowMs);
  spent.set(no, whole.settledMicros + whole.overrunMicros);
  const oldestMs = oldestStep(rule, nowMs);
  const going = steps.filter(({ windowNo, periodMs }) => spent.has(windowNo) && periodMs >= oldestMs);
  const byPeriod = Map.groupBy(going, ({ periodMs }) => periodMs);
  for (const periodMs of [...byPeriod.keys()].sort((a, b) => a - b)) {
    for (const { windowNo, settledMicros, overrunMicros } of byPeriod.get(periodMs) ?? []) {
      spent.set(windowNo, (spent.get(windowNo) ?? 0n) - settledMicros - overrunMicros);
    }
    if (fits(spent.get(no) ?? 0n, ({ windowNo }) => spent.get(windowNo) ?? 0n)) {
      return periodMs + rule.stepMs + rule.durationMs;
    }
  }
  return undefined;
}
