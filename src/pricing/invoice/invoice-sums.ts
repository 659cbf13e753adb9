// Lines of an invoice added up per month, provider and model while they are read, so that a file of any length takes the memory of
// its models only. Nothing is rounded before all lines are in.
import { type InvoiceCost, microsOfCost } from './invoice-cost.ts';
import type { InvoiceLine } from './invoice-line.ts';

/** What one side says of a month, a provider and a model. */
export interface ModelSum {
  /** In UTC: "2026-11". */
  readonly month: string;
  readonly provider: string;
  readonly model: string;
  /** Micro-dollars. Negative only where an invoice's credits pass its costs. */
  readonly micros: bigint;
  /** All input, cached and written to a cache included; undefined where nothing says. */
  readonly inputTokens: bigint | undefined;
  /** All output, reasoning included; undefined where nothing says. */
  readonly outputTokens: bigint | undefined;
  /** Lines of an invoice; settlements of the journal. */
  readonly count: bigint;
}

/** Models, months and providers that one file may name: an organisation has some hundreds. More is a column that is no model. */
export const INVOICE_SUMS_MAX = 10_000;

/** Lines as they are added up. */
export interface InvoiceSums {
  /** Adds a line; false where it would be one sum too many. */
  add(line: InvoiceLine): boolean;
  /** What there is so far, by month, provider and model, each sum rounded up once. */
  sums(): readonly ModelSum[];
}

interface Sum {
  readonly line: InvoiceLine;
  cost: InvoiceCost;
  inputTokens: bigint | undefined;
  outputTokens: bigint | undefined;
  count: bigint;
}

/** Sums of no line yet. */
export function createInvoiceSums(): InvoiceSums {
  const byName = new Map<string, Sum>();
  return {
    add: (line) => {
      const name = modelKey(line);
      let sum = byName.get(name);
      if (sum === undefined) {
        if (byName.size >= INVOICE_SUMS_MAX) return false;
        sum = { line, cost: 0n, inputTokens: undefined, outputTokens: undefined, count: 0n };
        byName.set(name, sum);
      }
      sum.cost += line.cost;
      sum.inputTokens = plus(sum.inputTokens, line.inputTokens);
      sum.outputTokens = plus(sum.outputTokens, line.outputTokens);
      sum.count += 1n;
      return true;
    },
    sums: () =>
      [...byName]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, { line, cost, ...sum }]) => {
          const { month, provider, model } = line;
          return { month, provider, model, micros: microsOfCost(cost), ...sum };
        }),
  };
}

/** What sums are sorted and found by: months and providers have no blanks in them. */
export function modelKey({ month, provider, model }: Pick<ModelSum, 'month' | 'provider' | 'model'>): string {
  return `${month} ${provider} ${model}`;
}

/** The sum of what is said; undefined where nothing is. */
export function plus(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || b === undefined ? (a ?? b) : a + b;
}
