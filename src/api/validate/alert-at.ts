// Shares that are told of, as requests state them. Its own file because what nobody says has a default here and nowhere else:
// the kernel takes what it is told.
import type { AlertAt } from '../../gen/budgetd/v1/terms_pb.ts';
import { frameText, frameValue } from '../command-key.ts';
import type { Problems } from './problems.ts';

/** In percent, of a budget that says nothing. */
const DEFAULT: readonly number[] = [80, 100];

const COUNT_MAX = 8;
/** Ten times the amount: beyond it nobody waits to be told. */
export const PERCENT_MAX = 1_000;

/** Percents in ascending order; 80 and 100 where nothing is said. */
export function checkAlertAt(problems: Problems, field: string, stated: AlertAt | undefined): readonly number[] {
  if (stated === undefined) return DEFAULT;
  const { percent: percents } = stated;
  if (percents.length > COUNT_MAX) {
    problems.push({ field: `${field}.percent`, description: `must have at most ${COUNT_MAX} entries` });
    return percents;
  }
  for (const [index, percent] of percents.entries()) {
    const at = `${field}.percent[${index}]`;
    if (percent < 1 || percent > PERCENT_MAX) problems.push({ field: at, description: `must be 1 to ${PERCENT_MAX}` });
    else if (index > 0 && percent <= (percents[index - 1] ?? 0)) {
      problems.push({ field: at, description: 'must be above the one before it' });
    }
  }
  return percents;
}

/** Frames them as the client set them: none is not unset. */
export function frameAlertAt(stated: AlertAt | undefined): string {
  if (stated === undefined) return '';
  return frameText('alerts', `${stated.percent.map((percent) => frameValue('at', percent)).join('')}.`);
}
