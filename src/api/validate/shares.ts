// What a budget is to its siblings, as requests state it. Its own file because budgets and templates say it in the same words.
import type { Budget } from '../../gen/budgetd/v1/budget_pb.ts';
import { frameValue } from '../command-key.ts';
import type { Problems } from './problems.ts';

const WEIGHT_DEFAULT = 1;
/** A million to one is as good as first, and the sum of many weights stays a small number. */
export const WEIGHT_MAX = 1_000_000;
/** All of it. */
export const PERCENT_MAX = 100;

/** A weight; 1 where nothing is said. */
export function checkWeight(problems: Problems, field: string, weight: number): number {
  if (weight === 0) return WEIGHT_DEFAULT;
  if (weight >= 1 && weight <= WEIGHT_MAX) return weight;
  problems.push({ field, description: `must be 1 to ${WEIGHT_MAX}` });
  return WEIGHT_DEFAULT;
}

/** A share in percent; undefined where nothing is said: all. */
export function checkSharePercent(problems: Problems, field: string, percent: number | undefined): number | undefined {
  if (percent === undefined || (percent >= 1 && percent <= PERCENT_MAX)) return percent;
  problems.push({ field, description: `must be 1 to ${PERCENT_MAX}` });
  return undefined;
}

type Shares = Pick<Budget, 'weight' | 'floorMicros' | 'sharePercent'>;

/** Frames them as the client set them. */
export function frameShares({ weight, floorMicros, sharePercent }: Shares): string {
  return (
    frameValue('weight', weight === 0 ? undefined : weight) +
    frameValue('floor', floorMicros === 0n ? undefined : floorMicros) +
    frameValue('share', sharePercent)
  );
}
