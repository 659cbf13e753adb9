// Commands that have waited too long for their turn to be decided.
import type { Submitted } from './batch.ts';
import { takesHold } from './is-sheddable.ts';

/**
 * A Reserve or Extend that has waited longer is not decided any more. Clients give up within seconds, and a hold for one that
 * is gone keeps money from others for a whole lease.
 */
const HOLD_WAIT_MAX_MS = 10_000;

/** Commands that are late at `nowMs`, by the monotonic clock, and the others. The usual case copies nothing. */
export function splitLate(
  items: readonly Submitted[],
  nowMs: number,
): { readonly late: readonly Submitted[]; readonly inTime: readonly Submitted[] } {
  const cutMs = nowMs - HOLD_WAIT_MAX_MS;
  const isLate = (item: Submitted): boolean => item.sinceMs < cutMs && takesHold(item.command);
  if (!items.some(isLate)) return { late: [], inTime: items };
  return { late: items.filter(isLate), inTime: items.filter((item) => !isLate(item)) };
}
