// The differ for `parallel`: counts what became of calls that were sent at once. Which of them won is nobody's business,
// so only numbers are compared; a call with expectations of its own is judged by them besides.

import type { ParallelExpectation } from './expectation-fields.ts';
import { differs, type Mismatch } from './judge-answer.ts';
import type { Outcome } from './outcome.ts';
import { formatRefusal } from './refusal.ts';
import type { CallVerb } from './step-fields.ts';

/** One call of a parallel step and how it ended. */
export interface SentCall {
  readonly verb: CallVerb;
  readonly outcome: Outcome;
}

/** Judges the counts of a parallel step. `reasons` compares the reasons that it names; others may occur besides. */
export function judgeParallel(expect: Partial<ParallelExpectation>, sent: readonly SentCall[]): readonly Mismatch[] {
  const answered = sent.filter(({ outcome }) => outcome.kind === 'answered');
  const refusals = sent.flatMap(({ outcome }) => (outcome.kind === 'refused' ? [outcome.refusal] : []));
  const granted = sent.flatMap(({ verb, outcome }) =>
    outcome.kind === 'answered' && (verb === 'reserve' || verb === 'extend') ? (outcome.reservation ?? []) : [],
  );
  const totalMicros = granted.reduce((sum, reservation) => sum + reservation.grantedMicros, 0n);
  const reasons = new Map<string, number>();
  for (const refusal of refusals) {
    const reason = refusal.reason ?? `${refusal.status} without a reason`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const mismatches = [
    ...differs('granted_count', expect.grantedCount, granted.length),
    ...differs('ok_count', expect.okCount, answered.length),
    ...differs('refused_count', expect.refusedCount, refusals.length),
    ...differs('granted_total', expect.grantedTotal, totalMicros),
    ...[...(expect.reasons ?? [])].flatMap(([reason, times]) =>
      differs(`reasons.${reason}`, times, reasons.get(reason) ?? 0),
    ),
  ];
  const seen = [...reasons].map(([reason, times]) => `${reason}: ${times}`).join(', ') || 'no refusals';
  const first = refusals[0] === undefined ? '' : `; the first: ${formatRefusal(refusals[0])}`;
  return mismatches.map((mismatch) => ({ ...mismatch, got: `${mismatch.got} (${seen}${first})` }));
}

/** Whether a parallel step judges its calls by counting, so that a refusal among them is no difference by itself. */
export function countsOutcomes(expect: Partial<ParallelExpectation> | undefined): boolean {
  return [expect?.grantedCount, expect?.okCount, expect?.refusedCount, expect?.grantedTotal, expect?.reasons].some(
    (counted) => counted !== undefined,
  );
}
