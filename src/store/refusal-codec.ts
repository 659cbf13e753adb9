// Refusals as JSON, as the journal keeps them: named fields for what every refusal has, short arrays for what there may be
// several of. Apart from the codec of entries because it is all of one entry and half as long as the rest together.
import type { RateKind } from '../kernel/rate.ts';
import type { BoundName, FailingBound, FailingRate, Reason, Refusal, UnpricedDetails } from '../kernel/refusal.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, objectOf, quote, stringOf } from './json-text.ts';

/** A refusal as JSON text. */
export function refusalText(refusal: Refusal): string {
  let text = `{"reason":"${refusal.reason}","message":${quote(refusal.message)}`;
  if (refusal.budget !== undefined) text += `,"budget":${quote(refusal.budget)}`;
  if (refusal.limit !== undefined) text += `,"limit":${quote(refusal.limit)}`;
  if (refusal.unit !== undefined) text += `,"unit":${quote(refusal.unit)}`;
  if (refusal.availableMicros !== undefined) text += `,"available":${amountText(refusal.availableMicros)}`;
  if (refusal.requestedMicros !== undefined) text += `,"requested":${amountText(refusal.requestedMicros)}`;
  if (refusal.largestMicros !== undefined) text += `,"largest":${amountText(refusal.largestMicros)}`;
  if (refusal.reservationId !== undefined) text += `,"reservationId":${quote(refusal.reservationId)}`;
  if (refusal.retryAfterMs !== undefined) text += `,"retryAfterMs":${integerText(refusal.retryAfterMs)}`;
  if (refusal.failing !== undefined) {
    const failing = refusal.failing.map(
      (f) => `[${quote(f.budget)},${quote(f.limit)},${amountText(f.amountMicros)},${amountText(f.availableMicros)}]`,
    );
    text += `,"failing":[${failing.join(',')}]`;
  }
  if (refusal.rate !== undefined) {
    const { kind, count, perMs, burst, availableCount, requestedCount } = refusal.rate;
    text += `,"rate":["${kind}",${integerText(count)},${integerText(perMs)},${integerText(burst)},${integerText(availableCount)},${integerText(requestedCount)}]`;
  }
  if (refusal.bound !== undefined) {
    const { max, observed, name } = refusal.bound;
    text += `,"bound":[${integerText(max)},${integerText(observed)}${name === undefined ? '' : `,"${name}"`}]`;
  }
  if (refusal.change !== undefined)
    text += `,"change":[${integerText(refusal.change.index)},${quote(refusal.change.budget)}]`;
  if (refusal.fields !== undefined) {
    text += `,"fields":[${refusal.fields.map((f) => `[${quote(f.field)},${quote(f.description)}]`).join(',')}]`;
  }
  if (refusal.unpriced !== undefined) text += `,"unpriced":${unpricedText(refusal.unpriced)}`;
  if (refusal.leaderAddress !== undefined) text += `,"leaderAddress":${quote(refusal.leaderAddress)}`;
  return `${text}}`;
}

/** Reads what refusalText wrote. Throws CorruptJournalError for anything else. */
export function refusalOf(value: unknown): Refusal {
  const raw = objectOf(value);
  return {
    kind: 'refusal',
    reason: stringOf(raw['reason']) as Reason,
    message: stringOf(raw['message']),
    ...(raw['budget'] !== undefined && { budget: stringOf(raw['budget']) }),
    ...(raw['limit'] !== undefined && { limit: stringOf(raw['limit']) }),
    ...(raw['unit'] !== undefined && { unit: stringOf(raw['unit']) }),
    ...(raw['available'] !== undefined && { availableMicros: amountOf(raw['available']) }),
    ...(raw['requested'] !== undefined && { requestedMicros: amountOf(raw['requested']) }),
    ...(raw['largest'] !== undefined && { largestMicros: amountOf(raw['largest']) }),
    ...(raw['reservationId'] !== undefined && { reservationId: stringOf(raw['reservationId']) }),
    ...(raw['retryAfterMs'] !== undefined && { retryAfterMs: integerOf(raw['retryAfterMs']) }),
    ...(raw['failing'] !== undefined && { failing: arrayOf(raw['failing']).map(failingOf) }),
    ...(raw['rate'] !== undefined && { rate: failingRateOf(raw['rate']) }),
    ...(raw['bound'] !== undefined && { bound: failingBoundOf(raw['bound']) }),
    ...(raw['change'] !== undefined && { change: changeOf(raw['change']) }),
    ...(raw['fields'] !== undefined && { fields: arrayOf(raw['fields']).map(fieldOf) }),
    ...(raw['unpriced'] !== undefined && { unpriced: unpricedOf(raw['unpriced']) }),
    ...(raw['leaderAddress'] !== undefined && { leaderAddress: stringOf(raw['leaderAddress']) }),
  };
}

const UNPRICED_TEXTS = ['provider', 'model', 'unit', 'why', 'field'] as const;

function unpricedText(details: UnpricedDetails): string {
  const members = UNPRICED_TEXTS.flatMap((name) => {
    const text = details[name];
    return text === undefined ? [] : [`"${name}":${quote(text)}`];
  });
  if (details.moreCount !== undefined) members.push(`"more":${integerText(details.moreCount)}`);
  return `{${members.join(',')}}`;
}

function unpricedOf(value: unknown): UnpricedDetails {
  const raw = objectOf(value);
  const texts = UNPRICED_TEXTS.flatMap((name) => (raw[name] === undefined ? [] : [[name, stringOf(raw[name])]]));
  return { ...Object.fromEntries(texts), ...(raw['more'] !== undefined && { moreCount: integerOf(raw['more']) }) };
}

function changeOf(value: unknown) {
  const [index, budget] = arrayOf(value, 2);
  return { index: integerOf(index), budget: stringOf(budget) };
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

function failingRateOf(value: unknown): FailingRate {
  const [kind, count, perMs, burst, available, requested] = arrayOf(value, 6);
  return {
    kind: stringOf(kind) as RateKind,
    count: integerOf(count),
    perMs: integerOf(perMs),
    burst: integerOf(burst),
    availableCount: integerOf(available),
    requestedCount: integerOf(requested),
  };
}

function failingBoundOf(value: unknown): FailingBound {
  const [max, observed, name] = arrayOf(value);
  const bound = { max: integerOf(max), observed: integerOf(observed) };
  return name === undefined ? bound : { ...bound, name: stringOf(name) as BoundName };
}

function fieldOf(value: unknown) {
  const [field, description] = arrayOf(value, 2);
  return { field: stringOf(field), description: stringOf(description) };
}
