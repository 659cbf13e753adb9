// The journal's side of a comparison: what was settled in dollars and by model, and apart from it all that no invoice can be held
// against, so that nobody takes the sums for the whole.
import type { ModelSum } from '../../../pricing/invoice/invoice-sums.ts';
import type { MonthSpend } from '../../journal-spend.ts';

/** What was spent in the months and is not in the comparison. */
export interface SpendApart {
  readonly unit: string;
  /** `unit`: settled by usage in trees of another unit; the others as in the store's OtherSpend. */
  readonly kind: 'amount' | 'estimate' | 'unit';
  readonly count: bigint;
  readonly micros: bigint;
}

/** The unit of invoices. Trees of any other are not compared: rates of exchange are no fault of a price. */
const INVOICE_UNIT = 'USD';

/** Both parts, of months. */
export function journalSideOf(months: readonly MonthSpend[]): {
  readonly sums: readonly ModelSum[];
  readonly apart: readonly SpendApart[];
} {
  const sums: ModelSum[] = [];
  const apart = new Map<string, SpendApart>();
  const addApart = ({ unit, kind, count, micros }: SpendApart): void => {
    const key = `${kind} ${unit}`;
    const before = apart.get(key);
    apart.set(key, { unit, kind, count: count + (before?.count ?? 0n), micros: micros + (before?.micros ?? 0n) });
  };
  for (const { month, models, others } of months) {
    for (const { unit, ...model } of models) {
      if (unit === INVOICE_UNIT) sums.push({ month, ...model });
      else addApart({ unit, kind: 'unit', count: model.count, micros: model.micros });
    }
    for (const other of others) addApart(other);
  }
  return { sums, apart: [...apart.values()] };
}
