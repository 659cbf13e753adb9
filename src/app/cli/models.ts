// Which models a budget lets calls name, as options of `create` and `update`, and how it is shown. Its own file because both
// commands, the picture of a budget and its file must speak of it in the same words.
import { type Command, Option } from 'commander';
import { type BudgetTemplate, ServiceTierClass } from '../../gen/budgetd/v1/terms_pb.ts';
import { wordOption } from './closed-word.ts';
import type { Fact } from './facts.ts';

const ANY = 'any';
const NONE = 'none';

/** Tiers by their words. */
export const TIER_CLASSES = {
  flex: ServiceTierClass.FLEX,
  standard: ServiceTierClass.STANDARD,
  priority: ServiceTierClass.PRIORITY,
} as const;

/** Values of the options, as parsed. */
export interface ModelOptions {
  readonly models?: readonly string[] | typeof ANY;
  readonly maxTier?: keyof typeof TIER_CLASSES | typeof ANY;
}

/** Adds the options. */
export function addModelOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--models <list>',
        'models that calls may name, with commas: "openai/gpt-4o,anthropic/claude-haiku-4-5"; "any", or "none" at all',
      ).argParser((text: string) => (text === ANY ? ANY : parseModels(text))),
    )
    .addOption(
      wordOption('--max-tier <tier>', 'the dearest service tier that calls may ask for', [
        ...Object.keys(TIER_CLASSES),
        ANY,
      ]),
    );
}

function parseModels(text: string): readonly string[] {
  return text === NONE ? [] : text.split(',').map((model) => model.trim());
}

/** The fields of a budget that the options set, and the paths that a mask names for them. */
export function modelFields({ models, maxTier }: ModelOptions) {
  const rules = {
    ...(models === undefined || models === ANY ? {} : { allowedModels: { models: [...models] } }),
    ...(maxTier === undefined || maxTier === ANY ? {} : { maxTier: TIER_CLASSES[maxTier] }),
  };
  const paths = [
    ...(models === undefined ? [] : ['models.allowed_models']),
    ...(maxTier === undefined ? [] : ['models.max_tier']),
  ];
  return { fields: Object.keys(rules).length === 0 ? {} : { models: rules }, paths };
}

/** What is another than the default, in the order of the options. */
export function modelFacts({ models }: Pick<BudgetTemplate, 'models'>): Fact[] {
  if (models === undefined) return [];
  const { allowedModels, maxTier } = models;
  const tier = Object.entries(TIER_CLASSES).find(([, each]) => each === maxTier)?.[0] ?? `number ${maxTier}`;
  return [
    ['models', allowedModels && (allowedModels.models.length === 0 ? NONE : allowedModels.models.join(', '))],
    ['max tier', maxTier === ServiceTierClass.UNSPECIFIED ? undefined : tier],
  ];
}
