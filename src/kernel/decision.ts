// What a decision is made of and made with. Shared by all decide functions.
import type { Answer } from './answer.ts';
import type { BudgetDef, BudgetState } from './budget.ts';
import type { Command, PersonalFields } from './command.ts';
import type { Entry, EntryPersonal, Revisions } from './entry.ts';
import type { ReservationId } from './names.ts';
import type { Pricing } from './price.ts';
import { isJournaled, isRemembered, type Refusal } from './refusal.ts';
import type { TreeState } from './tree-state.ts';
import type { Calendar } from './window.ts';

/** Everything that a decision takes from outside. */
export interface DecideContext {
  /** The coordinator's clock. Never below the time of the tree's last entry. */
  readonly nowMs: number;
  /** Time between the end of a lease and the lapse of its hold, in milliseconds, at least 0. */
  readonly graceMs: number;
  /** The commitment to personal fields that goes into the journal; the same for the same input. */
  readonly commit: (fields: PersonalFields) => string;
  /** Finds the periods of calendar windows. */
  readonly calendar: Calendar;
  /** A settlement of more than this many times what was granted has to be confirmed; 0: none has to. */
  readonly implausibleFactor: number;
  readonly queue: QueueContext;
  readonly pricing: Pricing;
}

/** What the wait queue takes from outside. */
export interface QueueContext {
  /** After waiting so long, and again after as long, a request counts as one of the next higher class; at least 1. */
  readonly ageMs: number;
  /** How many may wait on one budget and below it. */
  readonly countMax: number;
  /** Whether somebody waits for the answer: who is gone is granted nothing. */
  readonly isAttached: (id: ReservationId) => boolean;
  /** Whether a grant was handed to nobody yet, so that it may be taken back. */
  readonly isUntaken: (id: ReservationId) => boolean;
}

/** The answer and the entries to append, in order; none for reads, repeats and refusals that judged nothing. */
export interface Decision {
  readonly answer: Answer;
  readonly entries: readonly Entry[];
}

/** A decision that changes nothing and is not written down. */
export function answerOnly(answer: Answer): Decision {
  return { answer, entries: [] };
}

/** Fields that every entry of a command begins with. */
export function entryBase(
  state: TreeState,
  command: Pick<Command, 'actor' | 'key' | 'personal'>,
  context: DecideContext,
) {
  return {
    seq: state.position.seq + 1,
    atMs: context.nowMs,
    actor: command.actor,
    key: command.key,
    personal: entryPersonal(command, context),
  };
}

function entryPersonal(command: Pick<Command, 'personal'>, context: DecideContext): EntryPersonal | undefined {
  const fields = command.personal;
  if (fields === undefined) return undefined;
  return {
    commitment: context.commit(fields),
    salt: fields.salt,
    actingFor: fields.actingFor,
    labels: fields.labels,
  };
}

interface KnownRevisions {
  readonly defs: readonly BudgetDef[];
  readonly revisions: Revisions;
}

// By the last budget of a chain. Until one of its budgets is edited all reserves on it share one array: those of a hot tree
// stay in memory by the ten thousand.
const knownRevisions = new WeakMap<BudgetDef, KnownRevisions>();

/** Numbers and revisions of budgets, for the journal. */
export function revisionsOf(budgets: readonly BudgetState[]): Revisions {
  const last = budgets.at(-1)?.def;
  if (last === undefined) return [];
  const known = knownRevisions.get(last);
  if (known?.defs.length === budgets.length && known.defs.every((def, at) => def === budgets[at]?.def)) {
    return known.revisions;
  }
  const defs = budgets.map(({ def }) => def);
  const revisions = defs.map(({ no, revision }) => [no, revision] as const);
  knownRevisions.set(last, { defs, revisions });
  return revisions;
}

/** What the journal should know of a request that is refused. */
export interface RefusedRequest {
  readonly budget?: string;
  readonly id?: ReservationId;
  readonly maxMicros?: bigint;
  readonly minMicros?: bigint;
  readonly holder?: string;
  readonly budgets?: readonly BudgetState[];
}

/** A refusal, written down where it is a decision, and remembered for its key where waiting can't cure it. */
export function refuse(
  state: TreeState,
  command: Command,
  context: DecideContext,
  refusal: Refusal,
  request: RefusedRequest,
): Decision {
  const dryRun = 'dryRun' in command && command.dryRun;
  if (dryRun || !isJournaled(refusal)) return answerOnly(refusal);
  const base = entryBase(state, command, context);
  const entry: Entry = {
    ...base,
    key: isRemembered(refusal) ? base.key : undefined,
    type: 'Refused',
    command: command.kind,
    budget: request.budget ?? '',
    id: request.id ?? '',
    maxMicros: request.maxMicros,
    minMicros: request.minMicros,
    holder: request.holder ?? '',
    revisions: revisionsOf(request.budgets ?? []),
    refusal,
  };
  return { answer: refusal, entries: [entry] };
}
