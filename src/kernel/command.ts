// Commands: what a caller (or the reaper) wants of one tree, already validated field by field. The api and the lane
// build them; only the kernel decides on them.
import type { BudgetTerms, Labels, LimitInput, OnExpiry, OverrunPolicy, Shape } from './budget.ts';
import type { Enforcement, Priority } from './enforcement.ts';
import type { BudgetPath, ReservationId, TreeId } from './names.ts';
import type { CallToPrice, ModelRules, PriceRecord, UsageToPrice } from './price.ts';
import type { RateInput } from './rate.ts';
import type { Refusal } from './refusal.ts';
import type { Alternative, CommandKey } from './request.ts';
import type { Outcome } from './reservation.ts';
import type { EditHistory } from './window-history.ts';

/** Personal fields of a request. They stay out of the journal, which holds a commitment salted with `salt`. */
export interface PersonalFields {
  /** Random, 16 bytes in base64url. */
  readonly salt: string;
  readonly actingFor: string;
  readonly labels: Labels;
}

/** What every command has. */
export interface CommandBase {
  readonly treeId: TreeId;
  /** Who asks, as authenticated; goes into the journal. */
  readonly actor: string;
  /** Undefined for reads, for the reaper's commands, for dry runs and for a Renew without a key. */
  readonly key: CommandKey | undefined;
  /** Undefined where the request set none. */
  readonly personal: PersonalFields | undefined;
}

/** Places a hold. */
export interface Reserve extends CommandBase {
  readonly kind: 'Reserve';
  /** The id that a grant takes; made by the lane, since the kernel has no randomness. */
  readonly id: ReservationId;
  readonly budget: BudgetPath;
  /** 0 where the amount is that of `call`. */
  readonly maxMicros: bigint;
  /** 0 to maxMicros. */
  readonly minMicros: bigint;
  /** Instead of an amount: what it can cost at the most is asked for, and granted whole or not at all. */
  readonly call: CallToPrice | undefined;
  /** What the amount was priced by already: of one that waited. */
  readonly price: PriceRecord | undefined;
  /** Undefined: as long as a lease is by default, or may be. */
  readonly ttlMs: number | undefined;
  /** More budgets of the same tree to charge, at most 8; each budget on any of the paths is charged once. */
  readonly also: readonly BudgetPath[];
  /** What the work will use of the rates, as its caller says; 0 where it says nothing. */
  readonly tokens: number;
  readonly toolCalls: number;
  readonly priority: Priority;
  /** In the order in which they are tried. */
  readonly alternatives: readonly Alternative[];
  /** How long it may wait for room; 0: not at all. */
  readonly waitMs: number;
  readonly holder: string;
  readonly dryRun: boolean;
}

/** Adds to a live hold. */
export interface Extend extends CommandBase {
  readonly kind: 'Extend';
  readonly id: ReservationId;
  /** 0 where the amount is that of `call`. */
  readonly addMicros: bigint;
  /** 0 to addMicros. */
  readonly minMicros: bigint;
  /** As for Reserve. */
  readonly call: CallToPrice | undefined;
}

/** Records a cost. */
export interface Settle extends CommandBase {
  readonly kind: 'Settle';
  readonly id: ReservationId;
  /** Undefined: unknown, the whole hold is taken as an estimate; or the cost of `usage`. */
  readonly actualMicros: bigint | undefined;
  /**
   * What the provider reported, instead of a cost. A refusal: why the report can't be taken apart, which is told unless the key is
   * known, since what reports are taken for may change and a remembered answer may not.
   */
  readonly usage: UsageToPrice | Refusal | undefined;
  readonly keepOpen: boolean;
  /** With keepOpen: the most to hold from now on. */
  readonly retainMicros: bigint | undefined;
  /** Whether the caller stands by an amount out of all proportion to the hold. */
  readonly confirmed: boolean;
  readonly outcome: Outcome | undefined;
}

/** Gives a hold back. */
export interface Release extends CommandBase {
  readonly kind: 'Release';
  readonly id: ReservationId;
  readonly reason: string;
}

/** One lease of a Renew. Whoever renews has begun: there is no started mark beside it. */
export interface Renewal {
  readonly id: ReservationId;
  /** Undefined: as for Reserve. */
  readonly ttlMs: number | undefined;
}

/** Moves the leases of one or many reservations of one tree. A key goes with exactly one renewal. */
export interface Renew extends CommandBase {
  readonly kind: 'Renew';
  readonly renewals: readonly Renewal[];
}

/** Makes a budget; a path of one segment makes its tree. */
export interface CreateBudget extends CommandBase, BudgetTerms {
  readonly kind: 'CreateBudget';
  readonly budget: BudgetPath;
  readonly owner: string;
  /** Undefined: "USD" for a root, the tree's unit otherwise. */
  readonly unit: string | undefined;
}

/** Edits a budget; an undefined field stays as it is. */
export interface UpdateBudget extends CommandBase {
  readonly kind: 'UpdateBudget';
  readonly budget: BudgetPath;
  /** Undefined: whatever the revision is now. */
  readonly expectedRevision: number | undefined;
  readonly budgetKind: string | undefined;
  readonly owner: string | undefined;
  readonly uncapped: boolean | undefined;
  readonly limits: readonly LimitInput[] | undefined;
  readonly rates: readonly RateInput[] | undefined;
  /** Bounds that change; one that is there and undefined is taken away. */
  readonly shape: Partial<Shape>;
  readonly onExpiry: OnExpiry | undefined;
  readonly overrun: OverrunPolicy | undefined;
  readonly enforcement: Partial<Enforcement>;
  readonly alertAt: readonly number[] | undefined;
  readonly weight: number | undefined;
  readonly floorMicros: bigint | undefined;
  readonly sharePercent: { readonly to: number | undefined } | undefined;
  /** Rules that change; one that is there and undefined is taken away. */
  readonly models: Partial<ModelRules>;
  readonly childTemplate: { readonly to: BudgetTerms | undefined } | undefined;
  /** What windows that this edit brings have to start from; the lane reads it where `editNeeds` asks for it. */
  readonly history: EditHistory | undefined;
  /** Whether the labels are replaced by those in `personal` (none there: all removed). */
  readonly replaceLabels: boolean;
}

/** Switches a budget. */
export interface SwitchBudget extends CommandBase {
  readonly kind: 'SuspendBudget' | 'ResumeBudget' | 'CloseBudget';
  readonly budget: BudgetPath;
  /** Undefined: whatever the revision is now. */
  readonly expectedRevision: number | undefined;
  readonly reason: string;
}

/** One change of an ApplyBudgets: a command of its own, with the tree, the actor and a key of its own in the others' row. */
export type BudgetEdit = CreateBudget | UpdateBudget | SwitchBudget;

/** Edits budgets of one tree, judged by what all changes come to: all or none. */
export interface ApplyBudgets extends CommandBase {
  readonly kind: 'ApplyBudgets';
  /**
   * At least 1, no budget twice, in any order. Keys of changes share one fingerprint, that of the whole; the first change has the
   * command's own key, under which a refusal is remembered.
   */
  readonly changes: readonly BudgetEdit[];
  /** Decides and changes nothing. */
  readonly dryRun: boolean;
}

/** Raises one limit. */
export interface TopUp extends CommandBase {
  readonly kind: 'TopUp';
  readonly budget: BudgetPath;
  /** Undefined: the only limit. */
  readonly limit: string | undefined;
  /** At least 1. */
  readonly addMicros: bigint;
}

/** Records lapses that are due; the reaper's and the lane's own command. */
export interface Expire extends CommandBase {
  readonly kind: 'Expire';
  /** At most this many, at least 1. */
  readonly countMax: number;
}

/** Closes a budget that has been idle for as long as its `closeAfterMs` says; the reaper's command. */
export interface CloseIdle extends CommandBase {
  readonly kind: 'CloseIdle';
  readonly budget: BudgetPath;
}

/**
 * Takes a reservation out of the queue for which nobody waits any more; the lane's command. One that was granted out of the
 * queue meanwhile, and that nobody has begun to use, is released.
 */
export interface LeaveQueue extends CommandBase {
  readonly kind: 'LeaveQueue';
  readonly id: ReservationId;
}

/** Reads what waits on a budget and below it, in the order in which it is looked at. Appends nothing. */
export interface GetQueue extends CommandBase {
  readonly kind: 'GetQueue';
  readonly budget: BudgetPath;
  /** At most this many, at least 1. */
  readonly countMax: number;
}

/** Reads a reservation. Appends nothing. */
export interface GetReservation extends CommandBase {
  readonly kind: 'GetReservation';
  readonly id: ReservationId;
}

/** Reads a budget. Appends nothing. */
export interface GetBudget extends CommandBase {
  readonly kind: 'GetBudget';
  readonly budget: BudgetPath;
}

/** Commands that name one reservation. */
export type ReservationCommand = Extend | Settle | Release | LeaveQueue | GetReservation;

/** Commands that name one budget by its path. */
export type BudgetCommand = CreateBudget | UpdateBudget | SwitchBudget | TopUp | CloseIdle | GetBudget | GetQueue;

/** Every command. */
export type Command = Reserve | ReservationCommand | Renew | BudgetCommand | ApplyBudgets | Expire;

/** Name of a command, as the journal writes it. */
export type CommandKind = Command['kind'];
