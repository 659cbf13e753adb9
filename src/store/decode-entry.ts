// JSON text to journal entries. Never guesses: an unknown version or type, a missing field or a figure that is no exact
// integer is CorruptJournalError. Personal fields come from the side table; erased ones are empty.
import type { Account, Counter, Labels } from '../kernel/budget.ts';
import type { CommandKind } from '../kernel/command.ts';
import { PRIORITY_DEFAULT } from '../kernel/enforcement.ts';
import type {
  Alert,
  BudgetChange,
  Effect,
  Entry,
  EntryBase,
  EntryPersonal,
  EntryType,
  GracedLease,
  Headroom,
  Lapse,
  LeaseMove,
  Leave,
  RateMove,
  RefusedRenewal,
  Revisions,
} from '../kernel/entry.ts';
import type { BudgetPath, ReservationId } from '../kernel/names.ts';
import type { Reason } from '../kernel/refusal.ts';
import { budgetDefOf } from './budget-def-codec.ts';
import { ENTRY_VERSION } from './encode-entry.ts';
import { priorityOf, shadowOf } from './enforcement-codec.ts';
import { figuresOf } from './figures-codec.ts';
import {
  accountsOf,
  amountOf,
  arrayOf,
  integerOf,
  levelOf,
  objectOf,
  optionalAmountOf,
  stringOf,
} from './json-text.ts';
import { CorruptJournalError } from './port.ts';
import { pricedOf, priceOf } from './price-codec.ts';
import { queuedOf } from './queued-codec.ts';
import { refusalOf } from './refusal-codec.ts';

type Raw = Readonly<Record<string, unknown>>;

/** Personal fields of one entry, as the side table has them. */
export interface PersonalRow {
  readonly salt: string;
  readonly actingFor: string;
  readonly labels: Labels;
}

/** Shared by the entries of one reading. */
export interface DecodeContext {
  /** Finds personal fields by sequence; undefined where they were erased. */
  readonly personalOf: (seq: number) => PersonalRow | undefined;
  /** Accounts read last, the latest first: the next entries most likely have the same. */
  readonly accounts: (readonly Account[])[];
}

/** Of a budget with windows of every kind three lists come round; a few budgets take turns. */
const KNOWN_ACCOUNTS_MAX = 12;

/** Reads one parsed entry. Throws CorruptJournalError. */
export function decodeEntry(value: unknown, context: DecodeContext): Entry {
  const raw = objectOf(value);
  if (raw['v'] !== ENTRY_VERSION) throw new CorruptJournalError(`unknown entry version ${JSON.stringify(raw['v'])}`);
  const seq = integerOf(raw['seq']);
  const base = {
    seq,
    atMs: integerOf(raw['at']),
    actor: stringOf(raw['by']),
    key: keyOf(raw['key']),
    personal: personalOf(raw['commitment'], seq, context),
  };
  const type = raw['type'] as EntryType;
  switch (type) {
    case 'Granted':
      return { ...base, type, ...grantOf(raw, base, context) };
    case 'Enqueued':
      return { ...base, type, ...enqueuedOf(raw, base, context) };
    case 'LeftQueue':
      return { ...base, type, leaves: arrayOf(raw['leaves']).map(leaveOf) };
    case 'Extended':
      return {
        ...base,
        type,
        ...changeOf(raw, context),
        addMicros: amountOf(raw['add']),
        minMicros: amountOf(raw['min']),
        price: optionalOf(raw['price'], priceOf),
        revisions: revisionsOf(raw['rev']),
      };
    case 'Settled':
      return {
        ...base,
        type,
        ...changeOf(raw, context),
        actualMicros: optionalAmountOf(raw['actual']),
        priced: optionalOf(raw['priced'], pricedOf),
        keepOpen: raw['keepOpen'] === true,
        retainMicros: optionalAmountOf(raw['retain']),
      };
    case 'Released':
      return { ...base, type, ...changeOf(raw, context) };
    case 'Renewed':
      return { ...base, type, moves: arrayOf(raw['moves']).map(moveOf), refused: refusedRenewalsOf(raw['refused']) };
    case 'Graced':
      return {
        ...base,
        type,
        epoch: integerOf(raw['epoch']),
        fromMs: integerOf(raw['from']),
        toMs: integerOf(raw['to']),
        moves: arrayOf(raw['moves']).map(gracedOf),
      };
    case 'Expired':
      return { ...base, type, lapses: arrayOf(raw['lapses']).map((lapse) => lapseOf(lapse, context)) };
    case 'Refused':
      return { ...base, type, ...refusedOf(raw) };
    case 'Alerted':
      return { ...base, type, alerts: arrayOf(raw['alerts']).map(alertOf) };
    case 'BudgetCreated':
    case 'BudgetUpdated':
    case 'BudgetSuspended':
    case 'BudgetResumed':
    case 'BudgetClosed':
    case 'BudgetToppedUp':
      return { ...base, type, ...budgetChangeOf(raw) };
    default:
      throw new CorruptJournalError(`unknown entry type ${JSON.stringify(type satisfies never)}`);
  }
}

function budgetChangeOf(raw: Raw) {
  return {
    def: budgetDefOf(raw['def']),
    replaceLabels: raw['replaceLabels'] === true,
    addMicros: optionalAmountOf(raw['add']),
    reason: stringOf(raw['reason']),
    opening: arrayOf(raw['opening'] ?? []).map(counterOf),
    rateMoves: rateMovesOf(raw['rates'] ?? []),
    openChildren: openChildrenOf(raw['openChildren']),
  };
}

function optionalOf<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : read(value);
}

function keyOf(value: unknown): Entry['key'] {
  if (value === undefined) return undefined;
  const [digest, fingerprint] = arrayOf(value, 2);
  return { digest: stringOf(digest), fingerprint: stringOf(fingerprint) };
}

function personalOf(commitment: unknown, seq: number, context: DecodeContext): EntryPersonal | undefined {
  if (commitment === undefined) return undefined;
  const row = context.personalOf(seq);
  return {
    commitment: stringOf(commitment),
    salt: row?.salt,
    actingFor: row?.actingFor ?? '',
    labels: row?.labels ?? [],
  };
}

type ReservationBase = Pick<EntryBase, 'seq' | 'atMs' | 'actor' | 'personal'>;

function grantOf(raw: Raw, base: ReservationBase, context: DecodeContext) {
  const reservation = reservationOf(raw, base, context);
  return {
    enqueuedSeq: optionalOf(raw['enqueued'], integerOf),
    rateMoves: rateMovesOf(raw['rates'] ?? []),
    reservation,
    minMicros: amountOf(raw['min']),
    revisions: revisionsOf(raw['rev']),
    headroom: headroomOf(raw['room']),
    effects: effectsOf(raw['fx'], context, reservation.accounts),
  };
}

function enqueuedOf(raw: Raw, base: ReservationBase, context: DecodeContext) {
  const { seq, actor, personal } = base;
  const queued = queuedOf(raw['queued'], { seq, actor, salt: personal?.salt, commitment: personal?.commitment });
  return { reservation: { ...reservationOf(raw, base, context), queued }, revisions: revisionsOf(raw['rev']) };
}

function reservationOf(raw: Raw, { atMs, personal }: ReservationBase, context: DecodeContext) {
  return {
    id: stringOf(raw['id']) as ReservationId,
    budgetNo: integerOf(raw['budgetNo']),
    budget: stringOf(raw['budget']) as BudgetPath,
    also: raw['also'] === undefined ? [] : arrayOf(raw['also']).map((path) => stringOf(path) as BudgetPath),
    unit: stringOf(raw['unit']),
    accounts: sharedAccounts(raw['accounts'], context),
    createMs: raw['createMs'] === undefined ? atMs : integerOf(raw['createMs']),
    priority: raw['priority'] === undefined ? PRIORITY_DEFAULT : priorityOf(raw['priority']),
    alternative: raw['alternative'] === undefined ? '' : stringOf(raw['alternative']),
    shadow: optionalOf(raw['shadow'], shadowOf),
    price: optionalOf(raw['price'], priceOf),
    priced: undefined,
    queued: undefined,
    holder: raw['holder'] === undefined ? '' : stringOf(raw['holder']),
    actingFor: personal?.actingFor ?? '',
    labels: personal?.labels ?? [],
    figures: figuresOf(raw['fig']),
  };
}

function leaveOf(value: unknown): Leave {
  const [id, figures, refusal] = arrayOf(value, 3);
  return { id: stringOf(id) as ReservationId, figures: figuresOf(figures), refusal: refusalOf(refusal) };
}

function changeOf(raw: Raw, context: DecodeContext) {
  return {
    id: stringOf(raw['id']) as ReservationId,
    figures: figuresOf(raw['fig']),
    headroom: headroomOf(raw['room']),
    effects: effectsOf(raw['fx'], context),
  };
}

function moveOf(value: unknown): LeaseMove {
  const [id, figures, headroom] = arrayOf(value, 3);
  return { id: stringOf(id) as ReservationId, figures: figuresOf(figures), headroom: headroomOf(headroom) };
}

function refusedRenewalsOf(value: unknown): RefusedRenewal[] {
  if (value === undefined) return [];
  return arrayOf(value).map((each) => {
    const [id, reason, budget] = arrayOf(each, 3);
    return { id: stringOf(id) as ReservationId, reason: stringOf(reason) as Reason, budget: stringOf(budget) };
  });
}

function gracedOf(value: unknown): GracedLease {
  const [id, figures] = arrayOf(value, 2);
  return { id: stringOf(id) as ReservationId, figures: figuresOf(figures) };
}

function lapseOf(value: unknown, context: DecodeContext): Lapse {
  const [id, figures, charged, effects] = arrayOf(value, 4);
  return {
    id: stringOf(id) as ReservationId,
    figures: figuresOf(figures),
    charged: charged === 1,
    effects: effectsOf(effects, context),
  };
}

function refusedOf(raw: Raw) {
  return {
    command: stringOf(raw['command']) as CommandKind,
    budget: stringOf(raw['budget']),
    id: stringOf(raw['id']) as ReservationId | '',
    maxMicros: optionalAmountOf(raw['max']),
    minMicros: optionalAmountOf(raw['min']),
    holder: stringOf(raw['holder']),
    revisions: revisionsOf(raw['rev']),
    refusal: refusalOf(raw['refusal']),
  };
}

function alertOf(value: unknown): Alert {
  const alert = objectOf(value);
  return {
    budgetNo: integerOf(alert['budgetNo']),
    budget: stringOf(alert['budget']),
    limitNo: integerOf(alert['limitNo']),
    limit: stringOf(alert['limit']),
    periodMs: integerOf(alert['periodMs']),
    percent: integerOf(alert['percent']),
    usedMicros: amountOf(alert['used']),
    amountMicros: amountOf(alert['amount']),
    exhaustMs: alert['exhaustMs'] === undefined ? undefined : integerOf(alert['exhaustMs']),
  };
}

function rateMovesOf(value: unknown): RateMove[] {
  const flat = arrayOf(value);
  if (flat.length % 3 !== 0) throw new CorruptJournalError('rate moves are not triples');
  const moves: RateMove[] = [];
  for (let i = 0; i < flat.length; i += 3) {
    moves.push({ budgetNo: integerOf(flat[i]), rateNo: integerOf(flat[i + 1]), level: levelOf(flat[i + 2]) });
  }
  return moves;
}

function counterOf(value: unknown): Counter {
  const [windowNo, periodMs, held, settled, overrun] = arrayOf(value, 5);
  return {
    windowNo: integerOf(windowNo),
    periodMs: integerOf(periodMs),
    heldMicros: amountOf(held),
    settledMicros: amountOf(settled),
    overrunMicros: amountOf(overrun),
  };
}

function openChildrenOf(value: unknown): BudgetChange['openChildren'] {
  if (value === undefined) return 0;
  if (value === 1 || value === -1) return value;
  throw new CorruptJournalError(`not a change of open children: ${JSON.stringify(value)}`);
}

function sharedAccounts(value: unknown, { accounts: known }: DecodeContext): readonly Account[] {
  const accounts = accountsOf(value, known);
  const place = known.indexOf(accounts);
  if (place === 0) return accounts;
  if (place > 0) known.splice(place, 1);
  known.unshift(accounts);
  if (known.length > KNOWN_ACCOUNTS_MAX) known.pop();
  return accounts;
}

function revisionsOf(value: unknown): Revisions {
  const flat = arrayOf(value);
  if (flat.length % 2 !== 0) throw new CorruptJournalError('revisions are not pairs');
  const revisions: [number, number][] = [];
  for (let i = 0; i < flat.length; i += 2) revisions.push([integerOf(flat[i]), integerOf(flat[i + 1])]);
  return revisions;
}

function headroomOf(value: unknown): Headroom {
  const [micros, budget, limit] = arrayOf(value, 3);
  return { micros: optionalAmountOf(micros), budget: stringOf(budget), limit: stringOf(limit) };
}

function effectsOf(value: unknown, context: DecodeContext, named?: readonly Account[]): readonly Effect[] {
  return arrayOf(value).map((effect) => {
    const [held, settled, overrun, active, accountList] = arrayOf(effect);
    // A grant's effects may leave out the accounts that it named before.
    const accounts = accountList === undefined && named !== undefined ? named : sharedAccounts(accountList, context);
    return {
      heldMicros: amountOf(held),
      settledMicros: amountOf(settled),
      overrunMicros: amountOf(overrun),
      active: integerOf(active),
      accounts,
    };
  });
}
