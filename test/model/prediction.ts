// What the model says of an answer, and an answer in the same few words, so that the two can be compared. Plain numbers: the
// model's amounts are small, and int64 has tables of its own.
import type { Answer, BudgetAnswer } from '../../src/kernel/answer.ts';
import type { Headroom } from '../../src/kernel/entry.ts';

/** A hold as the model keeps it. */
export interface Hold {
  readonly id: string;
  readonly path: string;
  readonly also: readonly string[];
  readonly createMs: number;
  /** What it spent and when, settled and overrun alike; below 0 where it takes back what was assumed at that time. */
  readonly spends: { readonly atMs: number; readonly amount: number }[];
  state: 'ACTIVE' | 'SETTLED' | 'RELEASED' | 'EXPIRED';
  requested: number;
  granted: number;
  held: number;
  settled: number;
  released: number;
  overrun: number;
  expireMs: number;
  reclaimMs: number;
  /** What a lapse or an unknown usage assumed. */
  estimate: number;
  lapsedHeld: number;
  late: boolean;
  estimated: boolean;
  started: boolean;
}

type Shown = Pick<
  Hold,
  | 'id'
  | 'state'
  | 'requested'
  | 'granted'
  | 'held'
  | 'settled'
  | 'released'
  | 'overrun'
  | 'expireMs'
  | 'late'
  | 'estimated'
>;

export interface PredictedRefusal {
  readonly kind: 'refusal';
  readonly reason: string;
  /** Empty where the reason is about no budget. */
  readonly budget: string;
  /** Name of the limit; empty where the reason is about none. */
  readonly limit: string;
  /** Whether there is RetryInfo. */
  readonly retry: boolean;
}

/** Limits by name. */
type Amounts = Readonly<Record<string, number>>;

/** An answer, as far as the model knows it. */
export type Prediction =
  | PredictedRefusal
  | ({ readonly kind: 'reservation'; readonly available: number | undefined; readonly boundBy: string } & Shown)
  | { readonly kind: 'edited'; readonly limits: Amounts; readonly revision: number }
  | {
      readonly kind: 'budget';
      readonly limits: Amounts;
      readonly revision: number;
      readonly held: number;
      readonly settled: number;
      readonly overrun: number;
      readonly active: number;
      readonly available: number | undefined;
      readonly boundBy: string;
    };

/** A hold that was just granted. */
export function newHold(
  id: string,
  path: string,
  grant: Pick<Hold, 'also' | 'createMs' | 'requested' | 'granted' | 'expireMs' | 'reclaimMs'>,
): Hold {
  const amounts = { held: grant.granted, settled: 0, released: 0, overrun: 0, estimate: 0, lapsedHeld: 0 };
  return { id, path, spends: [], state: 'ACTIVE', ...grant, ...amounts, late: false, estimated: false, started: false };
}

/** What an answer shows of a hold. */
export function figuresOf(hold: Hold): Shown {
  const { id, state, requested, granted, held, settled, released, overrun, expireMs, late, estimated } = hold;
  return { id, state, requested, granted, held, settled, released, overrun, expireMs, late, estimated };
}

/** An answer in the model's words. An edit of a budget is compared by what it made, not by balances. */
export function predictionOf(answer: Answer, isEdit: boolean): Prediction {
  const only = answer.kind === 'renewals' && answer.results.length === 1 ? answer.results[0] : answer;
  switch (only?.kind) {
    case 'refusal':
      return {
        kind: 'refusal',
        reason: only.reason,
        budget: only.budget ?? '',
        limit: only.limit ?? '',
        retry: only.retryAfterMs !== undefined,
      };
    case 'budget':
      return isEdit ? { kind: 'edited', ...definitionOf(only) } : { kind: 'budget', ...balancesOf(only) };
    case 'reservation': {
      const { id, figures } = only.reservation;
      return {
        kind: 'reservation',
        id,
        state: figures.state as Exclude<typeof figures.state, 'QUEUED'>,
        requested: Number(figures.requestedMicros),
        granted: Number(figures.grantedMicros),
        held: Number(figures.heldMicros),
        settled: Number(figures.settledMicros),
        released: Number(figures.releasedMicros),
        overrun: Number(figures.overrunMicros),
        expireMs: figures.expireMs,
        late: figures.late,
        estimated: figures.estimated,
        available: numberOf(only.headroom.micros),
        boundBy: boundBy(only.headroom),
      };
    }
    default:
      throw new Error(`an answer that the model has no words for: ${only?.kind}`);
  }
}

function definitionOf({ def }: BudgetAnswer) {
  const limits = Object.fromEntries(def.limits.map(({ name, amountMicros }) => [name, Number(amountMicros)]));
  return { limits, revision: def.revision };
}

function balancesOf(answer: BudgetAnswer) {
  const { lifetime, activeCount, headroom } = answer;
  return {
    ...definitionOf(answer),
    held: Number(lifetime.heldMicros),
    settled: Number(lifetime.settledMicros),
    overrun: Number(lifetime.overrunMicros),
    active: activeCount,
    available: numberOf(headroom.micros),
    boundBy: boundBy(headroom),
  };
}

function boundBy({ budget, limit }: Headroom): string {
  return budget === '' ? '' : `${budget}:${limit}`;
}

function numberOf(micros: bigint | undefined): number | undefined {
  return micros === undefined ? undefined : Number(micros);
}
