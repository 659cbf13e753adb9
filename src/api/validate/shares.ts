// What a budget is to its siblings, as requests state it. Its own file because budgets and templates say it in the same words.
import { frameValue } from '../command-key.ts';
import type { Problems } from './problems.ts';

const WEIGHT_DEFAULT = 1;
// A million to one is as good as first, and the sum of many weights stays a small number.
const WEIGHT_MAX = 1_000_000;

/** A weight; 1 where nothing is said. */
export function checkWeight(problems: Problems, field: string, weight: number): number {
  if (weight === 0) return WEIGHT_DEFAULT;
  if (weight >= 1 && weight <= WEIGHT_MAX) return weight;
  problems.push({ field, description: `must be 1 to ${WEIGHT_MAX}` });
  return WEIGHT_DEFAULT;
}

/** Frames it as the client set it. */
export function frameShares({ weight }: { readonly weight: number }): string {
  return frameValue('weight', weight === 0 ? undefined : weight);
}
