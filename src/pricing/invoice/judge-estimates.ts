// How estimates stood to what the calls cost. An estimate is the most that a call can cost, so one that was passed is a fault of a
// price or of a report; one far above keeps money from others for nothing.
import { ceilDiv } from '../exact.ts';
import type { ModelName } from '../model-call.ts';

/** Settled reservations of one model that cost the same share of their estimate. */
export interface EstimateShare extends ModelName {
  /** Unit of the amounts: "USD". */
  readonly unit: string;
  /** The cost in thousandths of the estimate, rounded up; ESTIMATE_PERMILLE_MAX: so much or more. */
  readonly permille: bigint;
  readonly count: bigint;
  readonly estimateMicros: bigint;
  readonly actualMicros: bigint;
  /** How many cost more than their estimate. */
  readonly passedCount: bigint;
  /** How many cost less than a tenth of their estimate. */
  readonly wideCount: bigint;
  /** How many passed a ceiling, so that a part of the cost is overrun. */
  readonly overrunCount: bigint;
}

/** The highest share that is told apart: a hundred times the estimate. */
export const ESTIMATE_PERMILLE_MAX = 100_000n;

/**
 * - `passed`: at least one call cost more than its estimate.
 * - `wide`: more than half of the calls cost less than a tenth of their estimate.
 * - `fits`: neither.
 */
export type EstimateVerdict = 'passed' | 'wide' | 'fits';

/** How the estimates of one model stood. */
export interface JudgedEstimates extends ModelName {
  readonly unit: string;
  readonly verdict: EstimateVerdict;
  readonly count: bigint;
  readonly estimateMicros: bigint;
  readonly actualMicros: bigint;
  readonly passedCount: bigint;
  readonly wideCount: bigint;
  readonly overrunCount: bigint;
  /** Cost in thousandths of the estimate, by nearest rank: the least that so many per cent of the calls did not exceed. */
  readonly permille: { readonly p50: bigint; readonly p95: bigint; readonly p99: bigint };
}

const VERDICTS: readonly EstimateVerdict[] = ['passed', 'wide', 'fits'];

/** Judges each model: passed estimates first, then wide ones, within them the model with the highest cost first. */
export function judgeEstimates(shares: readonly EstimateShare[]): readonly JudgedEstimates[] {
  const byModel = new Map<string, EstimateShare[]>();
  for (const share of shares) {
    const key = `${share.unit} ${share.provider} ${share.model}`;
    const own = byModel.get(key);
    if (own === undefined) byModel.set(key, [share]);
    else own.push(share);
  }
  return [...byModel.values()].map(judge).sort(inOrder);
}

function judge(shares: readonly EstimateShare[]): JudgedEstimates {
  const sum = (of: (share: EstimateShare) => bigint): bigint => shares.reduce((total, share) => total + of(share), 0n);
  const { provider, model, unit } = shares[0] as EstimateShare;
  const count = sum((share) => share.count);
  const passedCount = sum((share) => share.passedCount);
  const wideCount = sum((share) => share.wideCount);
  const rising = [...shares].sort((a, b) => (a.permille < b.permille ? -1 : 1));
  return {
    provider,
    model,
    unit,
    verdict: passedCount > 0n ? 'passed' : wideCount * 2n > count ? 'wide' : 'fits',
    count,
    estimateMicros: sum((share) => share.estimateMicros),
    actualMicros: sum((share) => share.actualMicros),
    passedCount,
    wideCount,
    overrunCount: sum((share) => share.overrunCount),
    permille: { p50: atRank(rising, count, 50n), p95: atRank(rising, count, 95n), p99: atRank(rising, count, 99n) },
  };
}

/** The share of the call at the rank that `percent` of them do not pass. */
function atRank(rising: readonly EstimateShare[], count: bigint, percent: bigint): bigint {
  const rank = ceilDiv(count * percent, 100n);
  let seen = 0n;
  for (const share of rising) {
    seen += share.count;
    if (seen >= rank) return share.permille;
  }
  return rising.at(-1)?.permille ?? 0n;
}

function inOrder(a: JudgedEstimates, b: JudgedEstimates): number {
  if (a.verdict !== b.verdict) return VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict);
  if (a.actualMicros !== b.actualMicros) return a.actualMicros > b.actualMicros ? -1 : 1;
  return `${a.provider} ${a.model} ${a.unit}` < `${b.provider} ${b.model} ${b.unit}` ? -1 : 1;
}
