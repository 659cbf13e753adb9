// Journal entries to JSON text: compact, readable in psql, and the same bytes for the same entry. Personal fields never
// get into it; their commitment does. Names: v format version, by actor, fig figures (figures-codec), rev budget number
// and revision in pairs, room headroom (amount, budget, limit), fx effects (held, settled, overrun, active, accounts), rates
// levels (budget, rate, level), opening counters (window, period, held, settled, overrun), shadow what enforcement would have
// said (mode, reason, budget), price and priced as in price-codec. What is rare is left out.
import type { Account, Counter } from '../kernel/budget.ts';
import { PRIORITY_DEFAULT } from '../kernel/enforcement.ts';
import type {
  Alert,
  Alerted,
  BudgetChange,
  Effect,
  Enqueued,
  Entry,
  Expired,
  Extended,
  Graced,
  Granted,
  Headroom,
  LeftQueue,
  RateMove,
  Refused,
  Renewed,
  Revisions,
  Settled,
} from '../kernel/entry.ts';
import { invariant } from '../kernel/invariant.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { budgetDefText } from './budget-def-codec.ts';
import { shadowText } from './enforcement-codec.ts';
import { figuresText } from './figures-codec.ts';
import { accountsText, amountText, integerText, levelText, optionalAmountText, quote } from './json-text.ts';
import { pricedText, priceText } from './price-codec.ts';
import { queuedText } from './queued-codec.ts';
import { refusalText } from './refusal-codec.ts';

/** Version of the format that is written. Older ones stay readable for ever. */
export const ENTRY_VERSION = 1;

/** One entry as JSON text. */
export function encodeEntry(entry: Entry): string {
  const key = entry.key === undefined ? '' : `,"key":[${quote(entry.key.digest)},${quote(entry.key.fingerprint)}]`;
  const personal = entry.personal === undefined ? '' : `,"commitment":${quote(entry.personal.commitment)}`;
  return (
    `{"v":${ENTRY_VERSION},"seq":${integerText(entry.seq)},"at":${integerText(entry.atMs)},"type":"${entry.type}","by":${quote(entry.actor)}` +
    `${key}${personal},${bodyText(entry)}}`
  );
}

function bodyText(entry: Entry): string {
  switch (entry.type) {
    case 'Granted':
      return grantedText(entry);
    case 'Enqueued':
      return enqueuedText(entry);
    case 'LeftQueue':
      return leftQueueText(entry);
    case 'Extended':
      return extendedText(entry);
    case 'Settled':
      return settledText(entry);
    case 'Released':
      return changeText(entry);
    case 'Renewed':
      return renewedText(entry);
    case 'Graced':
      return gracedText(entry);
    case 'Expired':
      return expiredText(entry);
    case 'Refused':
      return refusedText(entry);
    case 'Alerted':
      return alertedText(entry);
    default:
      return budgetChangeText(entry);
  }
}

function grantedText(entry: Granted): string {
  const { reservation, enqueuedSeq } = entry;
  return (
    `${reservationMembers(reservation, entry.atMs)},` +
    (enqueuedSeq === undefined ? '' : `"enqueued":${integerText(enqueuedSeq)},`) +
    (entry.rateMoves.length === 0 ? '' : `"rates":[${entry.rateMoves.map(rateMoveText).join(',')}],`) +
    `"fig":${figuresText(reservation.figures)},"min":${amountText(entry.minMicros)},"rev":${revisionsText(entry.revisions)},` +
    `"room":${headroomText(entry.headroom)},"fx":${effectsText(entry.effects, reservation.accounts)}`
  );
}

function enqueuedText(entry: Enqueued): string {
  const { reservation, revisions } = entry;
  return (
    `${reservationMembers(reservation, entry.atMs)},"fig":${figuresText(reservation.figures)},` +
    `"queued":${queuedText(entry)},"rev":${revisionsText(revisions)}`
  );
}

function leftQueueText(entry: LeftQueue): string {
  const leaves = entry.leaves.map(
    ({ id, figures, refusal }) => `[${quote(id)},${figuresText(figures)},${refusalText(refusal)}]`,
  );
  return `"leaves":[${leaves.join(',')}]`;
}

// What never changes after the entry, but for what is personal.
function reservationMembers(r: Reservation, atMs: number): string {
  return (
    `"id":${quote(r.id)},"budgetNo":${integerText(r.budgetNo)},"budget":${quote(r.budget)},"unit":${quote(r.unit)},` +
    `"accounts":${accountsText(r.accounts)}` +
    (r.createMs === atMs ? '' : `,"createMs":${integerText(r.createMs)}`) +
    (r.holder === '' ? '' : `,"holder":${quote(r.holder)}`) +
    (r.priority === PRIORITY_DEFAULT ? '' : `,"priority":"${r.priority}"`) +
    (r.alternative === '' ? '' : `,"alternative":${quote(r.alternative)}`) +
    (r.shadow === undefined ? '' : `,"shadow":${shadowText(r.shadow)}`) +
    (r.price === undefined ? '' : `,"price":${priceText(r.price)}`) +
    (r.also.length === 0 ? '' : `,"also":[${r.also.map(quote).join(',')}]`)
  );
}

function changeText(entry: Pick<Settled, 'id' | 'figures' | 'headroom' | 'effects'>): string {
  return (
    `"id":${quote(entry.id)},"fig":${figuresText(entry.figures)},"room":${headroomText(entry.headroom)},` +
    `"fx":${effectsText(entry.effects)}`
  );
}

function extendedText(entry: Extended): string {
  return (
    `${changeText(entry)},"add":${amountText(entry.addMicros)},"min":${amountText(entry.minMicros)},` +
    (entry.price === undefined ? '' : `"price":${priceText(entry.price)},`) +
    `"rev":${revisionsText(entry.revisions)}`
  );
}

function settledText(entry: Settled): string {
  return (
    `${changeText(entry)},"actual":${optionalAmountText(entry.actualMicros)},` +
    (entry.priced === undefined ? '' : `"priced":${pricedText(entry.priced)},`) +
    `"keepOpen":${entry.keepOpen},` +
    `"retain":${optionalAmountText(entry.retainMicros)}`
  );
}

function renewedText(entry: Renewed): string {
  const moves = entry.moves.map(
    (move) => `[${quote(move.id)},${figuresText(move.figures)},${headroomText(move.headroom)}]`,
  );
  const refused = entry.refused.map(({ id, reason, budget }) => `[${quote(id)},"${reason}",${quote(budget)}]`);
  return `"moves":[${moves.join(',')}]${refused.length === 0 ? '' : `,"refused":[${refused.join(',')}]`}`;
}

function gracedText(entry: Graced): string {
  const moves = entry.moves.map((move) => `[${quote(move.id)},${figuresText(move.figures)}]`);
  return `"epoch":${integerText(entry.epoch)},"from":${integerText(entry.fromMs)},"to":${integerText(entry.toMs)},"moves":[${moves.join(',')}]`;
}

function expiredText(entry: Expired): string {
  const lapses = entry.lapses.map(
    (lapse) =>
      `[${quote(lapse.id)},${figuresText(lapse.figures)},${lapse.charged ? 1 : 0},${effectsText(lapse.effects)}]`,
  );
  return `"lapses":[${lapses.join(',')}]`;
}

function budgetChangeText(entry: BudgetChange): string {
  return (
    `"def":${budgetDefText(entry.def)},"replaceLabels":${entry.replaceLabels},` +
    `"add":${optionalAmountText(entry.addMicros)},"reason":${quote(entry.reason)}` +
    (entry.opening.length === 0 ? '' : `,"opening":[${entry.opening.map(counterText).join(',')}]`) +
    (entry.rateMoves.length === 0 ? '' : `,"rates":[${entry.rateMoves.map(rateMoveText).join(',')}]`) +
    openChildrenMember(entry.openChildren)
  );
}

function openChildrenMember(change: BudgetChange['openChildren']): string {
  if (change === 0) return '';
  invariant(change === 1 || change === -1, 'one child at most is opened or closed at once');
  return `,"openChildren":${change}`;
}

function rateMoveText({ budgetNo, rateNo, level }: RateMove): string {
  return `${integerText(budgetNo)},${integerText(rateNo)},${levelText(level)}`;
}

function counterText({ windowNo, periodMs, heldMicros, settledMicros, overrunMicros }: Counter): string {
  return `[${integerText(windowNo)},${integerText(periodMs)},${amountText(heldMicros)},${amountText(settledMicros)},${amountText(overrunMicros)}]`;
}

function refusedText(entry: Refused): string {
  return (
    `"command":"${entry.command}","budget":${quote(entry.budget)},"id":${quote(entry.id)},` +
    `"max":${optionalAmountText(entry.maxMicros)},"min":${optionalAmountText(entry.minMicros)},` +
    `"holder":${quote(entry.holder)},"rev":${revisionsText(entry.revisions)},"refusal":${refusalText(entry.refusal)}`
  );
}

function alertedText(entry: Alerted): string {
  return `"alerts":[${entry.alerts.map(alertText).join(',')}]`;
}

function alertText(alert: Alert): string {
  const { budgetNo, budget, limitNo, limit, periodMs, percent, usedMicros, amountMicros, exhaustMs } = alert;
  return (
    `{"budgetNo":${integerText(budgetNo)},"budget":${quote(budget)},"limitNo":${integerText(limitNo)},"limit":${quote(limit)},` +
    `"periodMs":${integerText(periodMs)},"percent":${integerText(percent)},"used":${amountText(usedMicros)},"amount":${amountText(amountMicros)}` +
    `${exhaustMs === undefined ? '' : `,"exhaustMs":${integerText(exhaustMs)}`}}`
  );
}

// The kernel shares one array of revisions between all reserves on a budget.
const revisionTexts = new WeakMap<Revisions, string>();

function revisionsText(revisions: Revisions): string {
  const known = revisionTexts.get(revisions);
  if (known !== undefined) return known;
  const text = `[${revisions.map(([budgetNo, revision]) => `${integerText(budgetNo)},${integerText(revision)}`).join(',')}]`;
  revisionTexts.set(revisions, text);
  return text;
}

function headroomText(headroom: Headroom): string {
  return `[${optionalAmountText(headroom.micros)},${quote(headroom.budget)},${quote(headroom.limit)}]`;
}

// Accounts that the entry has named already are not named again.
function effectsText(effects: readonly Effect[], named?: readonly Account[]): string {
  let text = '[';
  for (const effect of effects) {
    if (text.length > 1) text += ',';
    text +=
      `[${amountText(effect.heldMicros)},${amountText(effect.settledMicros)},${amountText(effect.overrunMicros)},` +
      `${integerText(effect.active)}${effect.accounts === named ? '' : `,${accountsText(effect.accounts)}`}]`;
  }
  return `${text}]`;
}
