// Sums of a budget's past brought past lapses, so that they need not be read again: lapses are due at any time, and the past of a
// busy tree would never be read between two of them. Apart from window-history.ts, which commands speak of, since it needs the
// entries and the state.

import type { Expired, Lapse } from './entry.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';
import { isOpen, stepOf } from './window.ts';
import type { EditHistory, WindowSum } from './window-history.ts';

/**
 * The sums as they are after `entries`, which follow them in the journal without a gap and are applied to `state`. The
 * reservations that lapsed must be loaded.
 */
export function historyAfterLapses(state: TreeState, history: EditHistory, entries: readonly Expired[]): EditHistory {
  const budgets = history.budgets.map(({ budgetNo, sums }) => {
    const lapsed = entries.flatMap(({ lapses }) =>
      lapses.flatMap((lapse): Lapsed[] => {
        const reservation = state.reservation(lapse.id);
        return reservation?.accounts.some((account) => account.budgetNo === budgetNo) ? [{ lapse, reservation }] : [];
      }),
    );
    return { budgetNo, sums: lapsed.length === 0 ? sums : sums.map((sum) => sumAfter(sum, lapsed)) };
  });
  return { seq: entries.at(-1)?.seq ?? history.seq, budgets };
}

interface Lapsed {
  readonly lapse: Lapse;
  readonly reservation: Reservation;
}

function sumAfter(sum: WindowSum, lapsed: readonly Lapsed[]): WindowSum {
  const { rule, fromMs } = sum;
  let { heldMicros, settledMicros } = sum;
  const steps = new Map(sum.steps.map((step) => [step.periodMs, step]));
  for (const { lapse, reservation } of lapsed) {
    const { lapsedHeldMicros, estimatedMicros, reclaimMs } = lapse.figures;
    if (rule.kind === 'rolling') {
      heldMicros -= lapsedHeldMicros;
      const periodMs = stepOf(rule, reclaimMs);
      if (estimatedMicros === 0n || periodMs < fromMs) continue;
      const step = steps.get(periodMs) ?? { periodMs, settledMicros: 0n, overrunMicros: 0n };
      steps.set(periodMs, { ...step, settledMicros: step.settledMicros + estimatedMicros });
    } else if (reservation.createMs >= fromMs && isOpen(rule, reservation.createMs)) {
      heldMicros -= lapsedHeldMicros;
      settledMicros += estimatedMicros;
    }
  }
  return { ...sum, heldMicros, settledMicros, steps: [...steps.values()].sort((a, b) => a.periodMs - b.periodMs) };
}
