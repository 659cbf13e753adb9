// What a budget is made with, as JSON with named fields: bounds, rates and policies of a definition, and whole templates, which
// may hold templates. Beside budget-def-codec because a definition and a template share all of it.
import {
  type BudgetTerms,
  type LimitInput,
  type OnExpiry,
  type OverrunPolicy,
  type Shape,
  WEIGHT_DEFAULT,
} from '../kernel/budget.ts';
import type { RateInput, RateKind } from '../kernel/rate.ts';
import { alertAtOf, enforcementMembers, enforcementOf } from './enforcement-codec.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, objectOf, quote, stringOf } from './json-text.ts';
import { modelsMember, modelsOf } from './models-codec.ts';
import { CorruptJournalError } from './port.ts';
import { ruleFields, ruleOf } from './window-codec.ts';

const ON_EXPIRY: ReadonlySet<string> = new Set<OnExpiry>(['release', 'charge', 'charge_started']);
const OVERRUN: ReadonlySet<string> = new Set<OverrunPolicy>(['record', 'reject']);
const RATE_KINDS: ReadonlySet<string> = new Set<RateKind>(['requests', 'tokens', 'tool_calls']);

type Raw = Readonly<Record<string, unknown>>;

function termsText(terms: BudgetTerms): string {
  const limits = terms.limits.map(
    ({ name, rule, amountMicros }) =>
      `{"name":${quote(name)},"window":{${ruleFields(rule)}},"amount":${amountText(amountMicros)}}`,
  );
  const rates = terms.rates.map((rate) => `{${rateFields(rate)}}`);
  return (
    `{"kind":${quote(terms.budgetKind)},"uncapped":${terms.uncapped},"limits":[${limits.join(',')}]` +
    `${rates.length === 0 ? '' : `,"rates":[${rates.join(',')}]`}${shapeMember(terms.shape)},` +
    `"onExpiry":"${terms.onExpiry}","overrun":"${terms.overrun}"` +
    `${enforcementMembers(terms.enforcement, terms.alertAt)}${sharesMembers(terms)}${modelsMember(terms.models)}${templateMember(terms.childTemplate)}}`
  );
}

function termsOf(value: unknown): BudgetTerms {
  const terms = objectOf(value);
  return {
    budgetKind: stringOf(terms['kind']),
    uncapped: terms['uncapped'] === true,
    limits: arrayOf(terms['limits']).map(limitInputOf),
    rates: listOf(terms['rates']).map((rate) => rateOf(objectOf(rate))),
    shape: shapeOf(terms['shape']),
    onExpiry: onExpiryOf(terms['onExpiry']),
    overrun: overrunOf(terms['overrun']),
    enforcement: enforcementOf(terms['enforcement']),
    alertAt: alertAtOf(terms['alertAt']),
    ...sharesOf(terms),
    models: modelsOf(terms['models']),
    childTemplate: templateOf(terms['childTemplate']),
  };
}

/** The member of an object that holds its template: nothing where there is none. */
export function templateMember(template: BudgetTerms | undefined): string {
  return template === undefined ? '' : `,"childTemplate":${termsText(template)}`;
}

/** Reads the value of that member. Throws CorruptJournalError. */
export function templateOf(value: unknown): BudgetTerms | undefined {
  return value === undefined ? undefined : termsOf(value);
}

/** The fields of a rate, without the braces around them. */
export function rateFields(rate: RateInput): string {
  return `"kind":"${rate.kind}","count":${integerText(rate.count)},"perMs":${integerText(rate.perMs)},"burst":${integerText(rate.burst)}`;
}

/** Reads what rateFields wrote, out of the object that holds it. */
export function rateOf(rate: Raw): RateInput {
  return {
    kind: memberOf<RateKind>(RATE_KINDS, rate['kind'], 'rate'),
    count: integerOf(rate['count']),
    perMs: integerOf(rate['perMs']),
    burst: integerOf(rate['burst']),
  };
}

/** The member of an object that holds its bounds: nothing where there are none. */
export function shapeMember(shape: Shape): string {
  const bounds: string[] = [];
  if (shape.maxReservationMicros !== undefined) {
    bounds.push(`"maxReservation":${amountText(shape.maxReservationMicros)}`);
  }
  const add = (name: string, value: number | undefined) => {
    if (value !== undefined) bounds.push(`"${name}":${integerText(value)}`);
  };
  add('maxActive', shape.maxActive);
  add('maxChildren', shape.maxChildren);
  add('maxDepth', shape.maxDepth);
  add('maxLeaseMs', shape.maxLeaseMs);
  add('maxRenewals', shape.maxRenewals);
  add('closeAfterMs', shape.closeAfterMs);
  return bounds.length === 0 ? '' : `,"shape":{${bounds.join(',')}}`;
}

/** Reads the value of that member. */
export function shapeOf(value: unknown): Shape {
  const shape = value === undefined ? {} : objectOf(value);
  const largest = shape['maxReservation'];
  const bound = (name: string) => (shape[name] === undefined ? undefined : integerOf(shape[name]));
  return {
    maxReservationMicros: largest === undefined ? undefined : amountOf(largest),
    maxActive: bound('maxActive'),
    maxChildren: bound('maxChildren'),
    maxDepth: bound('maxDepth'),
    maxLeaseMs: bound('maxLeaseMs'),
    maxRenewals: bound('maxRenewals'),
    closeAfterMs: bound('closeAfterMs'),
  };
}

/** What a budget is to its siblings. */
type Shares = Pick<BudgetTerms, 'weight' | 'floorMicros' | 'sharePercent'>;

/** The members of an object that say what a budget is to its siblings: nothing where it is as most are. */
export function sharesMembers({ weight, floorMicros, sharePercent }: Shares): string {
  return (
    (weight === WEIGHT_DEFAULT ? '' : `,"weight":${integerText(weight)}`) +
    (floorMicros === 0n ? '' : `,"floor":${amountText(floorMicros)}`) +
    (sharePercent === undefined ? '' : `,"sharePercent":${integerText(sharePercent)}`)
  );
}

/** Reads those members out of the object that holds them. */
export function sharesOf(raw: Raw): Shares {
  const { weight, floor, sharePercent } = raw;
  return {
    weight: weight === undefined ? WEIGHT_DEFAULT : integerOf(weight),
    floorMicros: floor === undefined ? 0n : amountOf(floor),
    sharePercent: sharePercent === undefined ? undefined : integerOf(sharePercent),
  };
}

/** Reads a list that is left out where it is empty. */
export function listOf(value: unknown): readonly unknown[] {
  return value === undefined ? [] : arrayOf(value);
}

/** Reads a policy for holds that lapse. */
export function onExpiryOf(value: unknown): OnExpiry {
  return memberOf<OnExpiry>(ON_EXPIRY, value, 'on_expiry');
}

/** Reads a policy for cost that no ceiling covers. */
export function overrunOf(value: unknown): OverrunPolicy {
  return memberOf<OverrunPolicy>(OVERRUN, value, 'overrun');
}

function limitInputOf(value: unknown): LimitInput {
  const limit = objectOf(value);
  return {
    name: stringOf(limit['name']),
    rule: ruleOf(objectOf(limit['window'])),
    amountMicros: amountOf(limit['amount']),
  };
}

function memberOf<T extends string>(members: ReadonlySet<string>, value: unknown, what: string): T {
  if (typeof value === 'string' && members.has(value)) return value as T;
  throw new CorruptJournalError(`unknown ${what}: ${JSON.stringify(value)}`);
}
