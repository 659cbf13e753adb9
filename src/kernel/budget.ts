// What the kernel knows of a budget: its definition, which only edits change, and its counters, which only effects change.
import type { BudgetPath } from './names.ts';

/** What happens to a hold that lapses (DESIGN, promise 5). Judged by the budget that the Reserve named. */
export type OnExpiry = 'release' | 'charge' | 'charge_started';

/** The rule by which a limit counts. */
export type WindowRule = { readonly kind: 'lifetime' };

/** A rule as numbered within its budget. Number 0 is always the lifetime window, which counts even without a limit. */
export interface WindowDef {
  readonly no: number;
  readonly rule: WindowRule;
}

/** An amount per window. `no` is unique in the budget and never used again. */
export interface LimitDef {
  readonly no: number;
  readonly name: string;
  readonly windowNo: number;
  /** Ceiling on settled + held in one period. Range 0 to MICROS_MAX. */
  readonly amountMicros: bigint;
}

/** Labels of a budget, kept in the erasable side table; the journal holds a salted commitment to them. */
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
  readonly onExpiry: OnExpiry;
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
  /** First millisecond of the period; 0 for lifetime. */
  readonly periodMs: number;
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
}

/** A budget as decisions see it. */
export interface BudgetState {
  readonly def: BudgetDef;
  /** The lifetime counter first; others in no order. */
  readonly counters: readonly Counter[];
  /** Live reservations charged to this budget (its own and its descendants'). */
  readonly activeCount: number;
  /** Labels; empty once erased. */
  readonly labels: Labels;
}

/** Label pairs in the order of their keys. */
export type Labels = readonly (readonly [string, string])[];

/** The account that an effect moves: one budget, one window, one period. */
export interface Account {
  readonly budgetNo: number;
  readonly windowNo: number;
  readonly periodMs: number;
}

/** The lifetime counter of a new budget. */
export const EMPTY_LIFETIME: Counter = {
  windowNo: 0,
  periodMs: 0,
  heldMicros: 0n,
  settledMicros: 0n,
  overrunMicros: 0n,
};
