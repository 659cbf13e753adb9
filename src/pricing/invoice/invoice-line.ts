// One line of a provider's invoice. Everything that is wrong with it is told at once; nothing is guessed, and nothing that can't
// be read counts as 0.
import { isProviderId } from '../price-row.ts';
import { isText } from '../whole.ts';
import type { InvoiceColumns, InvoiceField } from './invoice-columns.ts';
import { type InvoiceCost, invoiceCostOf } from './invoice-cost.ts';
import { invoiceMonthOf } from './invoice-month.ts';

/** What a line says. */
export interface InvoiceLine {
  /** In UTC: "2026-11". */
  readonly month: string;
  /** Provider id: "openai". */
  readonly provider: string;
  /** As the provider names it on its invoices. */
  readonly model: string;
  readonly cost: InvoiceCost;
  /** Undefined where the line does not say. */
  readonly inputTokens: bigint | undefined;
  readonly outputTokens: bigint | undefined;
}

/** A line, or what is wrong with it; neither for one that bills nothing, as exports write for days without calls. */
export type InvoiceLineResult =
  | { readonly line: InvoiceLine | undefined; readonly problems?: never }
  | { readonly line?: never; readonly problems: readonly string[] };

const MODEL_LENGTH_MAX = 256;
const SHOWN_LENGTH_MAX = 40;
/** Empty: the line does not say. */
const TOKENS = /^\d{0,18}$/;

/** Reads a line. `provider` is that of lines which name none; undefined: each line must. */
export function invoiceLineOf(
  { count, fields }: InvoiceColumns,
  values: readonly string[],
  provider: string | undefined,
): InvoiceLineResult {
  if (values.length !== count) {
    return { problems: [`has ${fieldCount(values.length)}, where the first line has ${count}`] };
  }
  const textOf = (field: InvoiceField): string => {
    const column = fields[field];
    return column === undefined ? '' : (values[column.index] ?? '').trim();
  };
  const named = modelOf(textOf('model'), textOf('lineItem'));
  const costText = textOf('cost');
  if (named === '' && costText === '') return { line: undefined };

  const problems: string[] = [];
  const check = (field: InvoiceField, isGood: boolean, expected: string): void => {
    if (!isGood) problems.push(`${fields[field]?.name ?? field} "${shown(textOf(field))}" ${expected}`);
  };
  const month = invoiceMonthOf(textOf('date'));
  const providerId = providerOf(textOf('provider'), provider);
  const model = isText(named, MODEL_LENGTH_MAX) && !/\p{Cc}/u.test(named) ? named : undefined;
  const cost = invoiceCostOf(costText);
  check('date', month !== undefined, 'must be a date such as 2026-11-30, or an instant');
  check('provider', providerId !== undefined, 'must be the id of a provider, such as openai');
  check(fields.model === undefined ? 'lineItem' : 'model', model !== undefined, 'must name a model');
  check('cost', cost !== undefined, 'must be a plain decimal in USD such as 12.34');
  check('currency', /^(usd)?$/i.test(textOf('currency')), 'must be USD: other currencies are not compared');
  for (const field of ['input', 'output'] as const) {
    check(field, TOKENS.test(textOf(field)), 'must be a whole number from 0 up');
  }
  if (month === undefined || providerId === undefined || model === undefined || cost === undefined) return { problems };
  if (problems.length > 0) return { problems };
  const inputTokens = tokensOf(textOf('input'));
  const outputTokens = tokensOf(textOf('output'));
  return { line: { month, provider: providerId, model, cost, inputTokens, outputTokens } };
}

// Of a line item the model is what stands before the first comma.
function modelOf(model: string, lineItem: string): string {
  return model === '' ? (lineItem.split(',')[0] ?? '').trim() : model;
}

function providerOf(named: string, otherwise: string | undefined): string | undefined {
  const id = named === '' ? (otherwise ?? '') : named.toLowerCase();
  return isProviderId(id) ? id : undefined;
}

const tokensOf = (digits: string): bigint | undefined => (digits === '' ? undefined : BigInt(digits));

const fieldCount = (count: number): string => (count === 1 ? '1 field' : `${count} fields`);

/** A value as a message repeats it. */
function shown(value: string): string {
  return value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value;
}
