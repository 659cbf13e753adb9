// The changing figures of a reservation as one flat array: they are the bulk of the journal, so names would double it.
// Order: state, requested, granted, held, settled, released, overrun, estimated, lapsed held, expire, reclaim, ttl, end,
// late, estimated mark, started, outcome, release reason, renewals. The database gives projected rows in the same order.
import type { Outcome, ReservationFigures, ReservationState } from '../kernel/reservation.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, quote, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

const LENGTH = 19;
/** Everything from the end on is left out while nothing of it is said. */
const FRESH_LENGTH = 12;
const STATES: ReadonlySet<string> = new Set<ReservationState>(['QUEUED', 'ACTIVE', 'SETTLED', 'RELEASED', 'EXPIRED']);
const OUTCOMES: ReadonlySet<string> = new Set<Outcome>(['succeeded', 'failed', 'cancelled']);

/** Figures as a JSON array. */
export function figuresText(f: ReservationFigures): string {
  const text =
    `["${f.state}",${amountText(f.requestedMicros)},${amountText(f.grantedMicros)},${amountText(f.heldMicros)},` +
    `${amountText(f.settledMicros)},${amountText(f.releasedMicros)},${amountText(f.overrunMicros)},` +
    `${amountText(f.estimatedMicros)},${amountText(f.lapsedHeldMicros)},${integerText(f.expireMs)},${integerText(f.reclaimMs)},${integerText(f.ttlMs)}`;
  if (isFresh(f)) return `${text}]`;
  return (
    `${text},${f.endMs === undefined ? 'null' : integerText(f.endMs)},${f.late ? 1 : 0},${f.estimated ? 1 : 0},${f.started ? 1 : 0},` +
    `${f.outcome === undefined ? 'null' : `"${f.outcome}"`},${quote(f.releaseReason)},${integerText(f.renewalCount)}]`
  );
}

// As a grant leaves it: nothing has been marked or said yet.
function isFresh(f: ReservationFigures): boolean {
  return (
    f.endMs === undefined &&
    !f.late &&
    !f.estimated &&
    !f.started &&
    f.outcome === undefined &&
    f.releaseReason === '' &&
    f.renewalCount === 0
  );
}

/** Reads what figuresText wrote. Throws CorruptJournalError for anything else. */
export function figuresOf(value: unknown): ReservationFigures {
  const f = arrayOf(value);
  if (f.length !== LENGTH && f.length !== FRESH_LENGTH) throw new CorruptJournalError(`${f.length} figures`);
  const fresh = f.length === FRESH_LENGTH;
  return {
    state: memberOf<ReservationState>(STATES, f[0]),
    requestedMicros: amountOf(f[1]),
    grantedMicros: amountOf(f[2]),
    heldMicros: amountOf(f[3]),
    settledMicros: amountOf(f[4]),
    releasedMicros: amountOf(f[5]),
    overrunMicros: amountOf(f[6]),
    estimatedMicros: amountOf(f[7]),
    lapsedHeldMicros: amountOf(f[8]),
    expireMs: integerOf(f[9]),
    reclaimMs: integerOf(f[10]),
    ttlMs: integerOf(f[11]),
    renewalCount: fresh ? 0 : integerOf(f[18]),
    endMs: fresh || f[12] === null ? undefined : integerOf(f[12]),
    late: f[13] === 1,
    estimated: f[14] === 1,
    started: f[15] === 1,
    outcome: fresh || f[16] === null ? undefined : memberOf<Outcome>(OUTCOMES, f[16]),
    releaseReason: fresh ? '' : stringOf(f[17]),
  };
}

function memberOf<T extends string>(members: ReadonlySet<string>, value: unknown): T {
  if (typeof value === 'string' && members.has(value)) return value as T;
  throw new CorruptJournalError(`unknown word: ${JSON.stringify(value)}`);
}
