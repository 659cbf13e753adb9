// Which models a budget lets calls name, as requests state it: whole or, in an edit, single fields. Its own file because budgets
// and templates say it in the same words.
import type { ModelRules as ModelRulesMessage } from '../../gen/budgetd/v1/terms_pb.ts';
import type { ModelRules } from '../../kernel/price.ts';
import { allowedModelProblem } from '../../pricing/allowed-models.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkTierClass } from './enums.ts';
import type { Problems } from './problems.ts';

// A definition is journaled whole with every edit: with names of the greatest length this is some 20 KB of it.
const COUNT_MAX = 64;

// One for all: most budgets say nothing.
const ANY: ModelRules = { allowed: undefined, maxTier: undefined };

type Check = (problems: Problems, field: string, stated: ModelRulesMessage | undefined) => Partial<ModelRules>;

const CHECKS: Readonly<Record<string, Check>> = {
  allowed_models: (problems, field, stated) => ({
    allowed: checkAllowed(problems, field, stated?.allowedModels?.models),
  }),
  max_tier: (problems, field, stated) => ({ maxTier: checkTierClass(problems, field, stated?.maxTier ?? 0) }),
};

/** Names of its fields, as a mask names them behind "models.". */
export const MODELS_FIELDS: readonly string[] = Object.keys(CHECKS);

function checkAllowed(
  problems: Problems,
  field: string,
  models: readonly string[] | undefined,
): readonly string[] | undefined {
  if (models === undefined) return undefined;
  if (models.length > COUNT_MAX) {
    problems.push({ field: `${field}.models`, description: `must have at most ${COUNT_MAX} entries` });
    return [];
  }
  for (const [index, entry] of models.entries()) {
    const problem = allowedModelProblem(entry, `${field}.models[${index}]`);
    if (problem !== undefined) problems.push({ field: problem.field, description: problem.text });
    else if (models.indexOf(entry) < index) {
      problems.push({ field: `${field}.models[${index}]`, description: 'must be named once' });
    }
  }
  return models;
}

/** The named fields; one that is unset is taken away. */
export function checkModelsFields(
  problems: Problems,
  field: string,
  stated: ModelRulesMessage | undefined,
  names: readonly string[],
): Partial<ModelRules> {
  const checked: Partial<ModelRules> = {};
  for (const name of names) {
    const check = CHECKS[name];
    if (check === undefined) throw new TypeError(`rules for models have no field ${name}`);
    Object.assign(checked, check(problems, `${field}.${name}`, stated));
  }
  return checked;
}

/** All of it; every model where nothing is said. */
export function checkModels(problems: Problems, field: string, stated: ModelRulesMessage | undefined): ModelRules {
  if (stated === undefined) return ANY;
  return { ...ANY, ...checkModelsFields(problems, field, stated, MODELS_FIELDS) };
}

/** Frames it as the client set it: an empty one is not unset. */
export function frameModels(stated: ModelRulesMessage | undefined): string {
  if (stated === undefined) return '';
  const { allowedModels, maxTier } = stated;
  const allowed =
    allowedModels === undefined
      ? ''
      : frameText('allowed', `${allowedModels.models.map((model) => frameText('model', model)).join('')}.`);
  return frameText('models', `${allowed}${frameValue('tier', maxTier === 0 ? undefined : maxTier)}.`);
}
