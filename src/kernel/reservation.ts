// A reservation: what never changes after the grant, and what each later entry replaces whole.
import type { Account, Labels } from './budget.ts';
import type { Mode, Priority } from './enforcement.ts';
import type { BudgetPath, ReservationId } from './names.ts';
import type { Reason } from './refusal.ts';

/** States that a reservation can be in. */
export type ReservationState = 'ACTIVE' | 'SETTLED' | 'RELEASED' | 'EXPIRED';

/** How the work ended, as its caller says. */
export type Outcome = 'succeeded' | 'failed' | 'cancelled';

/** The part that changes. Every entry on a reservation carries it whole, so that a repeat can be answered from it. */
export interface ReservationFigures {
  readonly state: ReservationState;
  /** max of the Reserve plus add of every granted Extend. */
  readonly requestedMicros: bigint;
  readonly grantedMicros: bigint;
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly releasedMicros: bigint;
  readonly overrunMicros: bigint;
  /** The part of settledMicros and overrunMicros that a lapse or an unknown usage assumed. */
  readonly estimatedMicros: bigint;
  /** What was held when the lease lapsed: a late settlement of unknown usage takes it. 0 unless lapsed. */
  readonly lapsedHeldMicros: bigint;
  /** First instant at which Renew and Extend are refused. */
  readonly expireMs: number;
  /** First instant at which the hold counts as lapsed: expireMs plus the grace in force when it was set. */
  readonly reclaimMs: number;
  /** Length of the lease as last asked. */
  readonly ttlMs: number;
  /** Renews that moved the lease. */
  readonly renewalCount: number;
  /** When it ended; undefined while ACTIVE. */
  readonly endMs: number | undefined;
  readonly late: boolean;
  readonly estimated: boolean;
  readonly started: boolean;
  readonly outcome: Outcome | undefined;
  readonly releaseReason: string;
}

/** A refusal that a budget's mode made a grant of. */
export interface Shadow {
  readonly mode: Mode;
  readonly reason: Reason;
  /** Path of the budget that would have refused. */
  readonly budget: string;
}

/** A reservation as decisions see it. */
export interface Reservation {
  readonly id: ReservationId;
  readonly budgetNo: number;
  readonly budget: BudgetPath;
  /** More budgets that were named to be charged, as named. */
  readonly also: readonly BudgetPath[];
  readonly unit: string;
  /** Every account that this reservation moves, in the periods of its admission; budget by budget, nearest the root first. */
  readonly accounts: readonly Account[];
  readonly createMs: number;
  readonly priority: Priority;
  /** Label of the alternative that was granted; empty: what was asked for first. */
  readonly alternative: string;
  /** What enforcement would have said to the grant; undefined where every budget enforces, or would have granted as much. */
  readonly shadow: Shadow | undefined;
  readonly holder: string;
  /** Personal; empty once erased. */
  readonly actingFor: string;
  /** Personal; empty once erased. */
  readonly labels: Labels;
  readonly figures: ReservationFigures;
}
