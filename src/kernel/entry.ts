// Journal entries: what was decided, in the past tense, with its effects. `apply` needs nothing but the entry: no policy,
// no calendar, no clock. The store turns entries into bytes and back without loss.
import type { Account, BudgetDef, Counter, Labels } from './budget.ts';
import type { CommandKind } from './command.ts';
import type { ReservationId } from './names.ts';
import type { PricedUsage, PriceRecord } from './price.ts';
import type { Reason, Refusal } from './refusal.ts';
import type { CommandKey } from './request.ts';
import type { Reservation, ReservationFigures } from './reservation.ts';

/** The same movement of every account named: a reservation moves all its levels alike. */
export interface Effect {
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
  /** Change of the number of live reservations: 1, 0 or -1. */
  readonly active: number;
  readonly accounts: readonly Account[];
}

/** The least available over a chain and the limit that binds. `micros` undefined: no limit applies. */
export interface Headroom {
  readonly micros: bigint | undefined;
  /** Path of the budget that owns the limit; empty where none applies. */
  readonly budget: string;
  /** Name of the limit; empty where none applies. */
  readonly limit: string;
}

/** Personal fields of an entry. Only the commitment is part of the journal's bytes; the rest lives in the side table. */
export interface EntryPersonal {
  readonly commitment: string;
  /** Undefined once erased. */
  readonly salt: string | undefined;
  readonly actingFor: string;
  readonly labels: Labels;
}

/** What every entry has. */
export interface EntryBase {
  /** Position in the tree's journal, from 1 without gaps. */
  readonly seq: number;
  /** The decision's time, in milliseconds of the coordinator's clock. Never below that of the entry before. */
  readonly atMs: number;
  readonly actor: string;
  /** Present where a repeat with this key is answered from this entry. */
  readonly key: CommandKey | undefined;
  readonly personal: EntryPersonal | undefined;
}

/** Number and revision of a budget that a decision looked at, root first. */
export type Revisions = readonly (readonly [budgetNo: number, revision: number])[];

/** A rate that a grant used: how full it is after it, at the entry's time, in units x perMs. */
export interface RateMove {
  readonly budgetNo: number;
  readonly rateNo: number;
  readonly level: bigint;
}

/** A Reserve waits for room. Its key is not in `key`: it is remembered by what becomes of it (see Queued in reservation.ts). */
export interface Enqueued extends EntryBase {
  readonly type: 'Enqueued';
  /** In state QUEUED. Its personal fields are those of `personal`. */
  readonly reservation: Reservation;
  readonly revisions: Revisions;
}

/**
 * Reservations left the queue ungranted. With a key where that is an answer to remember: it is one reservation then, and the key that of
 * its Reserve, or of the Release that took it out; then a Refused for the Reserve follows.
 */
export interface LeftQueue extends EntryBase {
  readonly type: 'LeftQueue';
  readonly leaves: readonly Leave[];
}

/** One that left the queue ungranted. */
export interface Leave {
  readonly id: ReservationId;
  /** In state RELEASED. */
  readonly figures: ReservationFigures;
  /** What who waited for it was told. */
  readonly refusal: Refusal;
}

/** A hold was placed. */
export interface Granted extends EntryBase {
  readonly type: 'Granted';
  /** Sequence of the entry that put it into the queue; undefined where it did not wait. */
  readonly enqueuedSeq: number | undefined;
  readonly rateMoves: readonly RateMove[];
  /** Its personal fields are those of `personal`, and not part of the journal's bytes either. */
  readonly reservation: Reservation;
  readonly minMicros: bigint;
  readonly revisions: Revisions;
  /** What is available after the grant, as answered. */
  readonly headroom: Headroom;
  readonly effects: readonly Effect[];
}

/** A reservation changed. */
export interface ReservationChange extends EntryBase {
  readonly id: ReservationId;
  readonly figures: ReservationFigures;
  /** What is available after the change, as answered. */
  readonly headroom: Headroom;
  readonly effects: readonly Effect[];
}

/** A hold grew. */
export interface Extended extends ReservationChange {
  readonly type: 'Extended';
  readonly addMicros: bigint;
  readonly minMicros: bigint;
  /** What the reservation keeps from now on; undefined: as before. */
  readonly price: PriceRecord | undefined;
  readonly revisions: Revisions;
}

/** A cost was recorded. */
export interface Settled extends ReservationChange {
  readonly type: 'Settled';
  /** As reported; undefined: unknown. */
  readonly actualMicros: bigint | undefined;
  /** What it follows from; undefined: it was reported as an amount, or unknown. */
  readonly priced: PricedUsage | undefined;
  readonly keepOpen: boolean;
  readonly retainMicros: bigint | undefined;
}

/** A hold was given back. */
export interface Released extends ReservationChange {
  readonly type: 'Released';
}

/** One lease that moved. */
export interface LeaseMove {
  readonly id: ReservationId;
  readonly figures: ReservationFigures;
  /** What is available, as answered. */
  readonly headroom: Headroom;
}

/** One lease of many that was not moved, and why. */
export interface RefusedRenewal {
  readonly id: ReservationId;
  readonly reason: Reason;
  /** Path of the budget that the reason is about. */
  readonly budget: string;
}

/** Leases moved, and what was refused beside them; one entry a tree, however many leases. A Renew of one is a Refused. */
export interface Renewed extends EntryBase {
  readonly type: 'Renewed';
  readonly moves: readonly LeaseMove[];
  readonly refused: readonly RefusedRenewal[];
}

/** One hold that lapsed. */
export interface Lapse {
  readonly id: ReservationId;
  readonly figures: ReservationFigures;
  /** Whether the hold was charged (on_expiry) instead of given back. */
  readonly charged: boolean;
  readonly effects: readonly Effect[];
}

/** Holds lapsed: their leases and the grace after them had run out at `atMs`. */
export interface Expired extends EntryBase {
  readonly type: 'Expired';
  readonly lapses: readonly Lapse[];
}

/** A lease that got one more grace. */
export interface GracedLease {
  readonly id: ReservationId;
  readonly figures: ReservationFigures;
}

/** Leases that ran out, or holds that would have lapsed, while no leader could renew or settle them got one more grace. */
export interface Graced extends EntryBase {
  readonly type: 'Graced';
  /** Epoch of the leader that took over at `toMs`. */
  readonly epoch: number;
  /** There was no leader after this instant and before `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly moves: readonly GracedLease[];
}

/** A budget came to be, or its definition changed. `def` is the definition after it, whole. */
export interface BudgetChange extends EntryBase {
  readonly type:
    | 'BudgetCreated'
    | 'BudgetUpdated'
    | 'BudgetSuspended'
    | 'BudgetResumed'
    | 'BudgetClosed'
    | 'BudgetToppedUp';
  readonly def: BudgetDef;
  /** Whether the labels are those in `personal` from now on. */
  readonly replaceLabels: boolean;
  /** BudgetToppedUp: what was added. */
  readonly addMicros: bigint | undefined;
  /** Why, as the caller said. */
  readonly reason: string;
  /** Counters that windows new on this budget start with, the steps of rolling ones among them. */
  readonly opening: readonly Counter[];
  /** How full rates of this budget are that an edit makes fill or hold otherwise: until then they filled as they were. */
  readonly rateMoves: readonly RateMove[];
  /** Change of the number of children of the budget above that are not closed. */
  readonly openChildren: 1 | 0 | -1;
}

/** A request was refused by a decision. No counter moved. */
export interface Refused extends EntryBase {
  readonly type: 'Refused';
  readonly command: CommandKind;
  /** Path of the budget named, or empty where a reservation was named. */
  readonly budget: string;
  /** The reservation named; of a Reserve the one that was released while it waited; or empty. */
  readonly id: ReservationId | '';
  /** What was asked for at the most; undefined where no amount was asked. */
  readonly maxMicros: bigint | undefined;
  readonly minMicros: bigint | undefined;
  readonly holder: string;
  readonly revisions: Revisions;
  readonly refusal: Refusal;
}

/** A limit's spend reached a share of its amount. */
export interface Alert {
  readonly budgetNo: number;
  /** Path of the budget. */
  readonly budget: string;
  readonly limitNo: number;
  /** Name of the limit. */
  readonly limit: string;
  /** First instant of the period; 0 for lifetime and rolling windows. */
  readonly periodMs: number;
  readonly percent: number;
  /** settled + overrun in the period. */
  readonly usedMicros: bigint;
  /** The amount in the period. */
  readonly amountMicros: bigint;
  /** When the amount will be used up if spending goes on as it did in the period so far; undefined: it is. */
  readonly exhaustMs: number | undefined;
}

/** Alerts that the entry before this one brought about. */
export interface Alerted extends EntryBase {
  readonly type: 'Alerted';
  readonly alerts: readonly Alert[];
}

/** Every entry. */
export type Entry =
  | Alerted
  | Enqueued
  | LeftQueue
  | Granted
  | Extended
  | Settled
  | Released
  | Renewed
  | Graced
  | Expired
  | BudgetChange
  | Refused;

/** Name of an entry, as the journal writes it. */
export type EntryType = Entry['type'];
