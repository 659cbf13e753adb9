// A reservation: what never changes after the grant, and what each later entry replaces whole.
import type { Account, Labels } from './budget.ts';
import type { Mode, Priority } from './enforcement.ts';
import type { BudgetPath, ReservationId } from './names.ts';
import type { CallToPrice, PricedUsage, PriceRecord } from './price.ts';
import type { Reason } from './refusal.ts';
import type { Alternative, CommandKey } from './request.ts';

/** States that a reservation can be in. One that left the queue without a grant is RELEASED. */
export type ReservationState = 'QUEUED' | 'ACTIVE' | 'SETTLED' | 'RELEASED' | 'EXPIRED';

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

/** What one that waits is judged with each time that room may have come, and why it waits. */
export interface Queued {
  /** Sequence of the entry that put it into the queue: its place among those of one class and child. */
  readonly seq: number;
  /** When it leaves the queue ungranted. */
  readonly untilMs: number;
  readonly minMicros: bigint;
  /** As asked; undefined: as for Reserve. */
  readonly ttlMs: number | undefined;
  readonly tokens: number;
  readonly toolCalls: number;
  readonly alternatives: readonly Alternative[];
  /** What budgets may not let through; its price is the reservation's own. Undefined: it asks by amount. */
  readonly call: CallToPrice | undefined;
  /** The key that its grant is remembered by. Until then it names this place. */
  readonly key: CommandKey;
  readonly actor: string;
  /** Of its personal fields; undefined where it has none. Kept beside the journal, as they are. */
  readonly salt: string | undefined;
  /** Commitment to its personal fields; undefined where it has none. */
  readonly commitment: string | undefined;
  /** Why it was not granted when it came. */
  readonly reason: Reason;
  /** Path of the budget that the reason is about. */
  readonly blockedBy: string;
  /** Name of the limit that the reason is about; empty: a rate or a slot. */
  readonly limit: string;
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
  /** What a model call was priced by; undefined: it was asked for by amount. */
  readonly price: PriceRecord | undefined;
  /** What usage came to that was reported last; undefined: none was. */
  readonly priced: PricedUsage | undefined;
  /** Of one that waits, or left the queue ungranted: its accounts are then the lifetime ones of the budgets that there were. */
  readonly queued: Queued | undefined;
  readonly holder: string;
  /** Personal; empty once erased. */
  readonly actingFor: string;
  /** Personal; empty once erased. */
  readonly labels: Labels;
  readonly figures: ReservationFigures;
}
