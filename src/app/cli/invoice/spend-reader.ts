// The journal's spend as the invoice commands see it. Its own file so that they can be tested without a database, and without
// loading one.
import type { EstimateShare } from '../../../pricing/invoice/judge-estimates.ts';
import type { JournalSpendOptions, MonthSpend } from '../../journal-spend.ts';

/** The reads, as app/journal-spend has them. */
export interface SpendReader {
  readMonths(options: JournalSpendOptions, months: readonly string[]): Promise<readonly MonthSpend[]>;
  readEstimateShares(
    options: JournalSpendOptions,
    range: { readonly fromMs: number; readonly untilMs: number },
  ): Promise<readonly EstimateShare[]>;
}
