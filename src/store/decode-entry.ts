// JSON text to journal entries. Never guesses: an unknown version or type, a missing field or a figure that is no exact
// integer is CorruptJournalError. Personal fields come from the side table; erased ones are empty.
import type { Account, Labels } from '../kernel/budget.ts';
import type { CommandKind } from '../kernel/command.ts';
import type {
  Effect,
  Entry,
  EntryPersonal,
  EntryType,
  GracedLease,
  Headroom,
  Lapse,
  LeaseMove,
  RefusedRenewal,
  Revisions,
} from '../kernel/entry.ts';
import type { BudgetPath, ReservationId } from '../kernel/names.ts';
import type { Reason, Refusal } from '../kernel/refusal.ts';
import { budgetDefOf } from './budget-def-codec.ts';
import { ENTRY_VERSION } from './encode-entry.ts';
import { figuresOf } from './figures-codec.ts';
import { accountsOf, amountOf, arrayOf, integerOf, objectOf, optionalAmountOf, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

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
  /** Accounts read last: the next entry most likely has the same. */
  accounts: readonly Account[] | undefined;
}

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
    case 'Extended':
      return {
        ...base,
        type,
        ...changeOf(raw, context),
        addMicros: amountOf(raw['add']),
        minMicros: amountOf(raw['min']),
        revisions: revisionsOf(raw['rev']),
      };
    case 'Settled':
      return {
        ...base,
        type,
        ...changeOf(raw, context),
        actualMicros: optionalAmountOf(raw['actual']),
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
    case 'BudgetCreated':
    case 'BudgetUpdated':
    case 'BudgetSuspended':
    case 'BudgetResumed':
    case 'BudgetClosed':
    case 'BudgetToppedUp':
      return {
        ...base,
        type,
        def: budgetDefOf(raw['def']),
        replaceLabels: raw['replaceLabels'] === true,
        addMicros: optionalAmountOf(raw['add']),
        reason: stringOf(raw['reason']),
      };
    default:
      throw new CorruptJournalError(`unknown entry type ${JSON.stringify(type satisfies never)}`);
  }
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

function grantOf(raw: Raw, { atMs, personal }: Pick<Entry, 'atMs' | 'personal'>, context: DecodeContext) {
  const accounts = accountsOf(raw['accounts'], context.accounts);
  context.accounts = accounts;
  return {
    reservation: {
      id: stringOf(raw['id']) as ReservationId,
      budgetNo: integerOf(raw['budgetNo']),
      budget: stringOf(raw['budget']) as BudgetPath,
      unit: stringOf(raw['unit']),
      accounts,
      createMs: raw['createMs'] === undefined ? atMs : integerOf(raw['createMs']),
      holder: raw['holder'] === undefined ? '' : stringOf(raw['holder']),
      actingFor: personal?.actingFor ?? '',
      labels: personal?.labels ?? [],
      figures: figuresOf(raw['fig']),
    },
    minMicros: amountOf(raw['min']),
    revisions: revisionsOf(raw['rev']),
    headroom: headroomOf(raw['room']),
    effects: effectsOf(raw['fx'], context, accounts),
  };
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
    refusal: refusalOf(objectOf(raw['refusal'])),
  };
}

function refusalOf(raw: Raw): Refusal {
  return {
    kind: 'refusal',
    reason: stringOf(raw['reason']) as Reason,
    message: stringOf(raw['message']),
    ...(raw['budget'] !== undefined && { budget: stringOf(raw['budget']) }),
    ...(raw['limit'] !== undefined && { limit: stringOf(raw['limit']) }),
    ...(raw['unit'] !== undefined && { unit: stringOf(raw['unit']) }),
    ...(raw['available'] !== undefined && { availableMicros: amountOf(raw['available']) }),
    ...(raw['requested'] !== undefined && { requestedMicros: amountOf(raw['requested']) }),
    ...(raw['reservationId'] !== undefined && { reservationId: stringOf(raw['reservationId']) }),
    ...(raw['retryAfterMs'] !== undefined && { retryAfterMs: integerOf(raw['retryAfterMs']) }),
    ...(raw['failing'] !== undefined && { failing: arrayOf(raw['failing']).map(failingOf) }),
    ...(raw['fields'] !== undefined && { fields: arrayOf(raw['fields']).map(fieldOf) }),
    ...(raw['leaderAddress'] !== undefined && { leaderAddress: stringOf(raw['leaderAddress']) }),
  };
}

function failingOf(value: unknown) {
  const [budget, limit, amount, available] = arrayOf(value, 4);
  return {
    budget: stringOf(budget),
    limit: stringOf(limit),
    amountMicros: amountOf(amount),
    availableMicros: amountOf(available),
  };
}

function fieldOf(value: unknown) {
  const [field, description] = arrayOf(value, 2);
  return { field: stringOf(field), description: stringOf(description) };
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
    const accounts =
      accountList === undefined && named !== undefined ? named : accountsOf(accountList, context.accounts);
    context.accounts = accounts;
    return {
      heldMicros: amountOf(held),
      settledMicros: amountOf(settled),
      overrunMicros: amountOf(overrun),
      active: integerOf(active),
      accounts,
    };
  });
}
