// An invoice beside the journal: per month, provider and model what each says, and whether they differ by more than providers and
// clocks explain. Judges sums only; where they come from is the business of others.
import { larger } from '../exact.ts';
import type { ModelName } from '../model-call.ts';
import { type ModelSum, modelKey, plus } from './invoice-sums.ts';

/** Below a dollar nobody looks, however large the share is. */
const GAP_MICROS_MAX = 1_000_000n;
/** One part in 20: 5 %. */
const GAP_PART = 20n;

/** One month, provider and model. */
export interface ComparedModel {
  readonly month: string;
  readonly provider: string;
  readonly model: string;
  /** Undefined where the invoice has nothing of it: spend that the provider did not bill, or bills under another name. */
  readonly invoice: ModelSum | undefined;
  /** Undefined where the journal has nothing of it: spend that nobody asked for, or that was settled by amount. */
  readonly journal: ModelSum | undefined;
  /** Invoice less journal. */
  readonly differenceMicros: bigint;
  /** Whether the difference is above the larger of 1 USD and 5 % of the larger side. */
  readonly isGap: boolean;
}

/** An invoice beside the journal. */
export interface InvoiceComparison {
  /** By month, provider and model; those with a gap first within each month. */
  readonly models: readonly ComparedModel[];
  readonly gapCount: number;
  readonly invoiceMicros: bigint;
  readonly journalMicros: bigint;
  /** What the journal has of providers that the invoice does not name at all: other invoices are for that. */
  readonly otherProviders: readonly { readonly provider: string; readonly micros: bigint }[];
}

/** A name that stands for another: of an invoice, for what the journal calls the model. */
export interface InvoiceAlias extends ModelName {
  readonly target: ModelName;
}

/** Whether two sums differ by more than the larger of 1 USD and 5 % of the larger of them. */
export function isGap(aMicros: bigint, bMicros: bigint): boolean {
  const gap = aMicros > bMicros ? aMicros - bMicros : bMicros - aMicros;
  return gap > GAP_MICROS_MAX && gap * GAP_PART > larger(aMicros, bMicros);
}

/**
 * Compares an invoice with the journal of the same months. Aliases go for both sides, once: a target is no alias again. Of the
 * journal only the providers count that the invoice names.
 */
export function compareInvoice(
  invoice: readonly ModelSum[],
  journal: readonly ModelSum[],
  aliases: readonly InvoiceAlias[] = [],
): InvoiceComparison {
  const invoiced = byName(invoice, aliases);
  const settled = byName(journal, aliases);
  const providers = new Set([...invoiced.values()].map(({ provider }) => provider));
  const others = new Map<string, bigint>();
  for (const [name, { provider, micros }] of settled) {
    if (providers.has(provider)) continue;
    others.set(provider, (others.get(provider) ?? 0n) + micros);
    settled.delete(name);
  }
  const names = [...new Set([...invoiced.keys(), ...settled.keys()])];
  const models = names.flatMap((name) => compared(invoiced.get(name), settled.get(name))).sort(inOrder);
  return {
    models,
    gapCount: models.filter((model) => model.isGap).length,
    invoiceMicros: total(invoiced),
    journalMicros: total(settled),
    otherProviders: [...others].map(([provider, micros]) => ({ provider, micros })),
  };
}

function compared(invoice: ModelSum | undefined, journal: ModelSum | undefined): ComparedModel[] {
  const named = invoice ?? journal;
  if (named === undefined) return [];
  const { month, provider, model } = named;
  const invoiceMicros = invoice?.micros ?? 0n;
  const journalMicros = journal?.micros ?? 0n;
  const differenceMicros = invoiceMicros - journalMicros;
  return [{ month, provider, model, invoice, journal, differenceMicros, isGap: isGap(invoiceMicros, journalMicros) }];
}

function inOrder(a: ComparedModel, b: ComparedModel): number {
  if (a.month !== b.month) return a.month < b.month ? -1 : 1;
  if (a.isGap !== b.isGap) return a.isGap ? -1 : 1;
  return modelKey(a) < modelKey(b) ? -1 : 1;
}

// Sums that come to one name by an alias are added up.
function byName(sums: readonly ModelSum[], aliases: readonly InvoiceAlias[]): Map<string, ModelSum> {
  const named = new Map<string, ModelSum>();
  for (const each of sums) {
    const alias = aliases.find(({ provider, model }) => provider === each.provider && model === each.model);
    const sum = { ...each, ...alias?.target };
    const key = modelKey(sum);
    const before = named.get(key);
    named.set(key, before === undefined ? sum : added(before, sum));
  }
  return named;
}

function added(a: ModelSum, b: ModelSum): ModelSum {
  return {
    ...a,
    micros: a.micros + b.micros,
    inputTokens: plus(a.inputTokens, b.inputTokens),
    outputTokens: plus(a.outputTokens, b.outputTokens),
    count: a.count + b.count,
  };
}

function total(sums: ReadonlyMap<string, ModelSum>): bigint {
  return [...sums.values()].reduce((sum, { micros }) => sum + micros, 0n);
}
