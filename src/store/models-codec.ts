// Which models a budget lets calls name, as JSON with named fields. Its own file because definitions and templates share it.
import { ANY_MODEL, MODEL_TIERS, type ModelRules, type ModelTier } from '../kernel/price.ts';
import { arrayOf, objectOf, quote, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

const TIERS: ReadonlySet<string> = new Set(MODEL_TIERS);

/** The member of an object that holds them: nothing where every model is allowed. */
export function modelsMember({ allowed, maxTier }: ModelRules): string {
  const members = [
    ...(allowed === undefined ? [] : [`"allowed":[${allowed.map(quote).join(',')}]`]),
    ...(maxTier === undefined ? [] : [`"maxTier":"${maxTier}"`]),
  ];
  return members.length === 0 ? '' : `,"models":{${members.join(',')}}`;
}

/** Reads the value of that member; ANY_MODEL where there is none. Throws CorruptJournalError. */
export function modelsOf(value: unknown): ModelRules {
  if (value === undefined) return ANY_MODEL;
  const { allowed, maxTier } = objectOf(value);
  return {
    allowed: allowed === undefined ? undefined : arrayOf(allowed).map(stringOf),
    maxTier: maxTier === undefined ? undefined : tierOf(maxTier),
  };
}

function tierOf(value: unknown): ModelTier {
  if (typeof value === 'string' && TIERS.has(value)) return value as ModelTier;
  throw new CorruptJournalError(`unknown tier: ${JSON.stringify(value)}`);
}
