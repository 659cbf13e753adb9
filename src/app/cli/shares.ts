// What a budget is to its siblings, as options of `create` and `update`, and how it is shown. Its own file because both commands
// and the picture of a budget must speak of it in the same words.
import { type Command, Option } from 'commander';
import type { BudgetTemplate } from '../../gen/budgetd/v1/terms_pb.ts';
import type { Fact } from './facts.ts';
import { parseWhole } from './options.ts';

/** Values of the options, as parsed. */
export interface ShareOptions {
  readonly weight?: number;
}

/** Adds the options. */
export function addShareOptions(command: Command): Command {
  return command.addOption(
    new Option(
      '--weight <n>',
      'how large a part of what comes free it gets beside its siblings while several wait; 1 by default',
    ).argParser(parseWhole),
  );
}

/** The fields of a budget that the options set, and the paths that a mask names for them. */
export function shareFields({ weight }: ShareOptions) {
  return {
    fields: weight === undefined ? {} : { weight },
    paths: weight === undefined ? [] : ['weight'],
  };
}

/** What is another than the default, in the order of the options. */
export function shareFacts({ weight }: Pick<BudgetTemplate, 'weight'>): Fact[] {
  return [['weight', weight > 1 ? `${weight}` : undefined]];
}
