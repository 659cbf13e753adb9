// Which models and service tiers a budget lets its calls reach. Pure and apart from prices: a call may be priced and still not
// be allowed.
import type { ModelCall, ModelName } from './model-call.ts';
import type { PriceBook } from './price-book.ts';
import { type FieldProblem, isModelId, isProviderId } from './price-row.ts';
import { isWithinTier, type TierClass, tierClassOf } from './service-tier.ts';

/** What a budget allows. */
export interface ModelRules {
  /** "provider/model" each, exact or an alias of the book; the model may itself hold slashes. Absent: every model; empty: none. */
  readonly allowedModels?: readonly string[];
  /** The dearest class of service tiers. Absent: every tier. */
  readonly maxTier?: TierClass;
}

/** What of a call a budget does not allow. */
export type ModelRefusal =
  | { readonly rule: 'allowed_models'; readonly name: ModelName }
  | { readonly rule: 'max_tier'; readonly name: ModelName; readonly tierClass: TierClass | undefined };

/** What is wrong with an entry of allowedModels; undefined if nothing. */
export function allowedModelProblem(entry: string, field: string): FieldProblem | undefined {
  const name = nameOf(entry);
  if (name !== undefined && isProviderId(name.provider) && isModelId(name.model)) return undefined;
  return { field, text: 'must be a provider id, a slash and a model id' };
}

/**
 * The first candidate that the rules refuse; undefined if all are allowed. A candidate is allowed by its own name, and by any
 * name of the same model. Its tier is one of the provider whose rows price it: of an alias's target. One that is not known counts as
 * dearer than any maximum. Without a book it is not known which names are of one model: 'unknown' where nothing is refused, and a
 * candidate not allowed, or of a tier that a provider has to be known for, for all that is known.
 */
export function refuseModels(
  book: PriceBook | undefined,
  rules: ModelRules,
  call: ModelCall,
): ModelRefusal | 'unknown' | undefined {
  const { allowedModels, maxTier } = rules;
  let isUnknown = false;
  for (const name of call.candidates) {
    const allowed = allowedModels === undefined || isAllowed(book, allowedModels, name);
    if (allowed === false) return { rule: 'allowed_models', name };
    if (allowed === 'unknown') isUnknown = true;
    if (maxTier === undefined) continue;
    if (book === undefined && call.serviceTier !== undefined) {
      isUnknown = true;
      continue;
    }
    const { provider } = book?.resolve(name.provider, name.model) ?? name;
    const tierClass = tierClassOf(provider, call.serviceTier);
    if (tierClass === undefined || !isWithinTier(tierClass, maxTier)) return { rule: 'max_tier', name, tierClass };
  }
  return isUnknown ? 'unknown' : undefined;
}

function isAllowed(
  book: PriceBook | undefined,
  allowedModels: readonly string[],
  name: ModelName,
): boolean | 'unknown' {
  if (allowedModels.includes(`${name.provider}/${name.model}`)) return true;
  if (allowedModels.length === 0) return false;
  if (book === undefined) return 'unknown';
  const own = book.resolve(name.provider, name.model);
  if (own === undefined) return false;
  return allowedModels.some((entry) => {
    const allowed = nameOf(entry);
    const target = allowed === undefined ? undefined : book.resolve(allowed.provider, allowed.model);
    return target?.provider === own.provider && target.model === own.model;
  });
}

function nameOf(entry: string): ModelName | undefined {
  const slash = entry.indexOf('/');
  return slash < 0 ? undefined : { provider: entry.slice(0, slash), model: entry.slice(slash + 1) };
}
