// What a budget is to its siblings and has for itself of the one above, as options of `create` and `update`, and how it is shown.
// Its own file because both commands and the picture of a budget must speak of it in the same words.
import { type Command, Option } from 'commander';
import { PERCENT_MAX, WEIGHT_MAX } from '../../api/validate/shares.ts';
import type { Budget } from '../../gen/budgetd/v1/budget_pb.ts';
import type { BudgetTemplate } from '../../gen/budgetd/v1/terms_pb.ts';
import { type Amount, formatAmount, parseAmount } from './amount.ts';
import type { Fact } from './facts.ts';
import { parsePercent, parseWhole } from './options.ts';

const NONE = 'none';

/** Values of the options, as parsed. */
export interface ShareOptions {
  readonly weight?: number;
  readonly floor?: Amount | typeof NONE;
  readonly share?: number | typeof NONE;
}

/** Adds the options. */
export function addShareOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--weight <n>',
        'how large a part of what comes free it gets beside its siblings while several wait, 1 to 1000000; 1 by default',
      ).argParser((text: string) => parseWhole(text, 1, WEIGHT_MAX)),
    )
    .addOption(
      new Option(
        '--floor <amount>',
        'so much of every limit of the budget above only this one may use; "none" takes it away',
      ).argParser((text: string) => (text === NONE ? NONE : parseAmount(text))),
    )
    .addOption(
      new Option(
        '--share <percent>',
        'the most of every limit of the budget above that is used through it, "25%"; "none": all of it',
      ).argParser((text: string) => (text === NONE ? NONE : parsePercent(text, PERCENT_MAX))),
    );
}

/** The fields of a budget that the options set, and the paths that a mask names for them. */
export function shareFields({ weight, floor, share }: ShareOptions) {
  const fields = {
    ...(weight === undefined ? {} : { weight }),
    ...(floor === undefined || floor === NONE ? {} : { floorMicros: floor.micros }),
    ...(share === undefined || share === NONE ? {} : { sharePercent: share }),
  };
  const paths = [
    ...(weight === undefined ? [] : ['weight']),
    ...(floor === undefined ? [] : ['floor_micros']),
    ...(share === undefined ? [] : ['share_percent']),
  ];
  return { fields, paths };
}

/** Amounts of the options whose unit is checked against the tree's. */
export function shareAmounts({ floor }: ShareOptions): (Amount | undefined)[] {
  return [floor === NONE ? undefined : floor];
}

/** What is another than the default, in the order of the options; `unit` is the tree's. */
export function shareFacts(
  { weight, floorMicros, sharePercent }: Pick<BudgetTemplate, 'weight' | 'floorMicros' | 'sharePercent'>,
  unit: string,
): Fact[] {
  return [
    ['weight', weight > 1 ? `${weight}` : undefined],
    ['floor', floorMicros > 0n ? `${formatAmount(floorMicros, unit)} of each limit above` : undefined],
    ['share', sharePercent === undefined ? undefined : `at most ${sharePercent}% of each limit above`],
  ];
}

/** What is kept back of limits for the floors of budgets below, of those that keep something. */
export function flooredFacts({ balances }: Budget, unit: string): Fact[] {
  return balances.flatMap(({ limit, flooredMicros }): Fact[] =>
    flooredMicros > 0n ? [['floored', `${formatAmount(flooredMicros, unit)} of ${limit}, for children`]] : [],
  );
}
