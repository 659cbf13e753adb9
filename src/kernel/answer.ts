// Answers of decisions and reads, in the kernel's words; the api puts them on the wire.
import type { BudgetDef, BudgetState, Counter, LimitDef } from './budget.ts';
import type { Headroom } from './entry.ts';
import type { ReservationId, TreeId } from './names.ts';
import type { RateDef } from './rate.ts';
import type { Refusal } from './refusal.ts';
import type { Reservation } from './reservation.ts';
import type { Period, WindowRule } from './window.ts';

/** A reservation and what is available. */
export interface ReservationAnswer {
  readonly kind: 'reservation';
  readonly treeId: TreeId;
  readonly reservation: Reservation;
  readonly headroom: Headroom;
  /** Answered from memory: a repeat with the same key. */
  readonly replayed: boolean;
  /** A dry run: nothing was done and the reservation has no id. */
  readonly dryRun: boolean;
  /** Of a reservation that waits. */
  readonly standing?: QueueStanding;
}

/** How a reservation that waits stands. */
export interface QueueStanding {
  /** What it waits for now, as a refusal would say it; `retryAfterMs` left out. */
  readonly refusal: Refusal;
  /** How many are looked at before it where that is contended: those of its own line included. */
  readonly aheadCount: number;
}

/** A Reserve that waits: the lane answers it once it leaves the queue. */
export interface QueuedAnswer {
  readonly kind: 'queued';
  readonly treeId: TreeId;
  readonly id: ReservationId;
}

/** What waits on a budget and below it, first the one that is looked at first. */
export interface QueueAnswer {
  readonly kind: 'queue';
  readonly treeId: TreeId;
  readonly waiting: readonly { readonly reservation: Reservation; readonly standing: QueueStanding }[];
  /** How many wait in all. */
  readonly count: number;
}

/** One answer a renewal, in the order asked. */
export interface RenewalsAnswer {
  readonly kind: 'renewals';
  readonly results: readonly (ReservationAnswer | Refusal)[];
}

/** One limit with the counter of its current period. */
export interface LimitStanding {
  readonly limit: LimitDef;
  readonly rule: WindowRule;
  /** Amount in the current period: with what was topped up for it. */
  readonly amountMicros: bigint;
  /** Sums in the current period; of a rolling window those that count now. */
  readonly counter: Counter;
  /** What is kept back of it now for floors of children that have not used them. */
  readonly flooredMicros: bigint;
  /** The current period; undefined for lifetime and rolling windows. A range outside its time is shown as it stands. */
  readonly period: Period | undefined;
}

/** One rate as it stands. */
export interface RateStanding {
  readonly rate: RateDef;
  /** Whole units that may be used at once now. */
  readonly availableCount: number;
}

/** A budget with its balances. */
export interface BudgetAnswer {
  readonly kind: 'budget';
  readonly treeId: TreeId;
  readonly def: BudgetDef;
  readonly labels: BudgetState['labels'];
  readonly standings: readonly LimitStanding[];
  readonly lifetime: Counter;
  readonly activeCount: number;
  readonly openChildCount: number;
  readonly rates: readonly RateStanding[];
  readonly headroom: Headroom;
  /** Path of the suspended budget nearest the root, itself included; empty if none. */
  readonly suspendedBy: string;
  /** Path of the closed budget nearest the root, itself included; empty if none. */
  readonly closedBy: string;
  readonly replayed: boolean;
}

/** One budget a change, in the order of the changes, each as that change left it. */
export interface BudgetsAnswer {
  readonly kind: 'budgets';
  readonly results: readonly BudgetAnswer[];
  readonly replayed: boolean;
}

/** How many lapses an Expire recorded, and whether more are due. */
export interface ExpireAnswer {
  readonly kind: 'expired';
  readonly count: number;
  readonly more: boolean;
}

/** Every answer. */
export type Answer =
  | ReservationAnswer
  | QueuedAnswer
  | QueueAnswer
  | RenewalsAnswer
  | BudgetAnswer
  | BudgetsAnswer
  | ExpireAnswer
  | Refusal;
