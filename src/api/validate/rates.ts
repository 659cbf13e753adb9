// Rates as requests state them.
import type { Rate } from '../../gen/budgetd/v1/terms_pb.ts';
import type { RateInput } from '../../kernel/rate.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkDuration, frameDuration, SECOND_TO_DAY } from './durations.ts';
import { checkRateKind } from './enums.ts';
import type { Problems } from './problems.ts';

const RATES_MAX = 16;

/** Most units of a rate, of its burst, and of what one Reserve uses. */
export const UNITS_MAX = 1_000_000_000_000n;

function checkUnits(problems: Problems, field: string, units: bigint): number {
  if (units >= 1n && units <= UNITS_MAX) return Number(units);
  problems.push({ field, description: `must be 1 to ${UNITS_MAX}` });
  return 1;
}

function checkRate(problems: Problems, field: string, rate: Rate): RateInput | undefined {
  const kind = checkRateKind(problems, `${field}.kind`, rate.kind);
  const count = checkUnits(problems, `${field}.count`, rate.count);
  const burst = rate.burst === 0n ? count : checkUnits(problems, `${field}.burst`, rate.burst);
  if (rate.per === undefined) {
    problems.push({ field: `${field}.per`, description: 'is required' });
    return undefined;
  }
  const perMs = checkDuration(problems, `${field}.per`, rate.per, SECOND_TO_DAY);
  return kind === undefined ? undefined : { kind, count, perMs, burst };
}

/** Up to 16 rates, no two of the same kind and `per`. */
export function checkRates(problems: Problems, field: string, rates: readonly Rate[]): RateInput[] {
  if (rates.length > RATES_MAX) {
    problems.push({ field, description: `must have at most ${RATES_MAX} entries` });
    return [];
  }
  const inputs: RateInput[] = [];
  for (const [index, rate] of rates.entries()) {
    const input = checkRate(problems, `${field}[${index}]`, rate);
    if (input === undefined) continue;
    if (inputs.some(({ kind, perMs }) => kind === input.kind && perMs === input.perMs)) {
      problems.push({ field: `${field}[${index}]`, description: 'must differ from the others in kind or per' });
    }
    inputs.push(input);
  }
  return inputs;
}

/** Frames rates as the client set them, in its order. */
export function frameRates(rates: readonly Rate[]): string {
  const each = rates.map(
    ({ kind, count, per, burst }) =>
      frameValue('kind', kind) +
      frameValue('count', count) +
      frameDuration('per', per) +
      frameValue('burst', burst === 0n ? undefined : burst),
  );
  return each.map((framed) => frameText('rate', framed)).join('');
}
