// What the kernel knows of a budget: its definition, which only edits change, and its counters, which only effects change.
import type { AlertMark } from './alert-mark.ts';
import type { Enforcement } from './enforcement.ts';
import type { BudgetPath } from './names.ts';
import type { ModelRules } from './price.ts';
import type { RateDef, RateInput, RateLevel } from './rate.ts';
import type { RecentUse } from './recent-use.ts';
import type { WindowRule } from './window.ts';

/** What happens to a hold that lapses (DESIGN, promise 5). Judged by the budget that the Reserve named. */
export type OnExpiry = 'release' | 'charge' | 'charge_started';

/** What happens to the cost of a live hold that no ceiling can cover: recorded as overrun, or refused. */
export type OverrunPolicy = 'record' | 'reject';

/** A rule as numbered within its budget. Number 0 is always the lifetime window, which counts even without a limit. */
export interface WindowDef {
  readonly no: number;
  readonly rule: WindowRule;
  /**
   * First period that it counts. Holds that were admitted before the window was there are in it from this period on. 0 for
   * lifetime and rolling windows, which count every live hold.
   */
  readonly firstPeriodMs: number;
  /** The child that it counts apart, of those in `childShares`: only what is charged through it is in it. Left out: everything is. */
  readonly childNo?: number;
}

/** What a child has for itself of every limit of the budget above: that one's definition lists it. */
export interface ChildShare {
  readonly childNo: number;
  readonly floorMicros: bigint;
  readonly sharePercent: number | undefined;
}

/** What was added to a limit for one period alone. */
export interface PeriodTopUp {
  readonly periodMs: number;
  readonly addMicros: bigint;
}

/** An amount per window. `no` is unique in the budget and never used again. */
export interface LimitDef {
  readonly no: number;
  readonly name: string;
  readonly windowNo: number;
  /** Ceiling on settled + held in one period. Range 0 to MICROS_MAX. */
  readonly amountMicros: bigint;
  /** The last top-up of a calendar limit; it ends with its period. */
  readonly topUp: PeriodTopUp | undefined;
}

/** A limit as a request states it. */
export interface LimitInput {
  readonly name: string;
  readonly rule: WindowRule;
  readonly amountMicros: bigint;
}

/** Bounds on the form of what happens on a budget and below it. Undefined: none. */
export interface Shape {
  /** Largest single reservation, Extends included. */
  readonly maxReservationMicros: bigint | undefined;
  /** Most live reservations in the subtree. */
  readonly maxActive: number | undefined;
  /** Most children that are not closed. */
  readonly maxChildren: number | undefined;
  /** Deepest level below: 1 allows children, 0 none. */
  readonly maxDepth: number | undefined;
  /** Longest lease that a Reserve or Renew may ask for. */
  readonly maxLeaseMs: number | undefined;
  /** Most Renews of one reservation that move its lease. */
  readonly maxRenewals: number | undefined;
  /** Closed by itself once it has had no live hold and no movement for so long. */
  readonly closeAfterMs: number | undefined;
}

/** No bounds. */
export const NO_SHAPE: Shape = {
  maxReservationMicros: undefined,
  maxActive: undefined,
  maxChildren: undefined,
  maxDepth: undefined,
  maxLeaseMs: undefined,
  maxRenewals: undefined,
  closeAfterMs: undefined,
};

/** Weight of a budget that says none. */
export const WEIGHT_DEFAULT = 1;

/** What a budget is made with, by a call or from the template of the budget above it. */
export interface BudgetTerms {
  readonly budgetKind: string;
  readonly uncapped: boolean;
  readonly limits: readonly LimitInput[];
  readonly rates: readonly RateInput[];
  readonly shape: Shape;
  readonly onExpiry: OnExpiry;
  readonly overrun: OverrunPolicy;
  readonly enforcement: Enforcement;
  /** Shares of each limit's amount that are told of when spend reaches them, in percent, ascending; none: nothing is told. */
  readonly alertAt: readonly number[];
  /** How large a part of what comes free goes to it beside its siblings, while several wait. 1 to 1,000,000. */
  readonly weight: number;
  /** So much of every limit of the budget above, in each period, only this budget may use. 0: nothing. */
  readonly floorMicros: bigint;
  /** The most of every limit of the budget above that is used through this budget, in percent of the amount, 1 to 100; undefined: all. */
  readonly sharePercent: number | undefined;
  /** Models that priced calls may name. */
  readonly models: ModelRules;
  /** Terms of budgets right below that are made by their first granted Reserve. */
  readonly childTemplate: BudgetTerms | undefined;
}

/** The definition of a budget. */
export interface BudgetDef {
  /** Number within the tree, from 1 in order of creation; accounts refer to it. */
  readonly no: number;
  readonly path: BudgetPath;
  /** Undefined for the root. */
  readonly parentNo: number | undefined;
  readonly kind: string;
  readonly owner: string;
  readonly unit: string;
  readonly uncapped: boolean;
  readonly windows: readonly WindowDef[];
  readonly limits: readonly LimitDef[];
  /** Numbers given to limits so far; the next limit takes this plus one. */
  readonly limitNoMax: number;
  readonly rates: readonly RateDef[];
  /** Numbers given to windows and rates so far. */
  readonly windowNoMax: number;
  readonly rateNoMax: number;
  readonly shape: Shape;
  readonly onExpiry: OnExpiry;
  readonly overrun: OverrunPolicy;
  readonly enforcement: Enforcement;
  readonly alertAt: readonly number[];
  readonly weight: number;
  readonly floorMicros: bigint;
  readonly sharePercent: number | undefined;
  /** Children with a floor or a share that are not closed, those that had one first in front. */
  readonly childShares: readonly ChildShare[];
  readonly models: ModelRules;
  readonly childTemplate: BudgetTerms | undefined;
  readonly suspended: boolean;
  readonly closed: boolean;
  /** Raised by one with every edit, from 1. */
  readonly revision: number;
  readonly createMs: number;
  readonly updateMs: number;
}

/** Sums of one window's period. All in micro-units; none below 0. */
export interface Counter {
  readonly windowNo: number;
  /** First millisecond of the period; 0 for lifetime, and for what is held in a rolling window. */
  readonly periodMs: number;
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
}

/** A budget as decisions see it. */
export interface BudgetState {
  readonly def: BudgetDef;
  /** The lifetime counter first; then those of other windows, one a period, later periods of a window behind earlier ones. */
  readonly counters: readonly Counter[];
  /** What settled in each step of the rolling windows: window by window in the order of their numbers, oldest first. Nothing is held here. */
  readonly steps: readonly Counter[];
  /** Rates that were used; one that was not is full. */
  readonly rateLevels: readonly RateLevel[];
  /** Shares that were told of: of each limit those of the latest period that had any. */
  readonly alertMarks: readonly AlertMark[];
  /** Live reservations charged to this budget (its own and its descendants'). */
  readonly activeCount: number;
  /** Budgets right below that were not closed themselves. */
  readonly openChildCount: number;
  /** When a counter of this budget moved last, by a lapse as of the lapse; its creation where none has. */
  readonly movedMs: number;
  /** What it spent of late, as far as it was in memory; undefined: nothing. For the order of those who wait alone. */
  readonly recent?: RecentUse | undefined;
  /** Labels; empty once erased. */
  readonly labels: Labels;
}

/** Label pairs in the order of their keys. Kept in the erasable side table; the journal holds a salted commitment to them. */
export type Labels = readonly (readonly [string, string])[];

/** The account that an effect moves: one budget, one window, one period. */
export interface Account {
  readonly budgetNo: number;
  readonly windowNo: number;
  readonly periodMs: number;
}

/** Accounts that a new reservation on some budgets moves. */
export interface PeriodAccounts {
  readonly accounts: readonly Account[];
  /** They are these from here on … */
  readonly fromMs: number;
  /** … and others from here on, since a calendar window has turned. */
  readonly untilMs: number;
}

/** The lifetime counter of a new budget. */
export const EMPTY_LIFETIME: Counter = {
  windowNo: 0,
  periodMs: 0,
  heldMicros: 0n,
  settledMicros: 0n,
  overrunMicros: 0n,
};
