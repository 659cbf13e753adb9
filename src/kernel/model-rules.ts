// Which models a budget lets priced calls name, as terms that are kept and edited. Its own file because the kernel only carries
// them: what a name stands for, and which tier is dearer, is judged with the prices.

/** How dear and how fast a service tier is, the cheapest first. */
export const MODEL_TIERS = ['flex', 'standard', 'priority'] as const;

/** One of them. */
export type ModelTier = (typeof MODEL_TIERS)[number];

/** What a budget allows. Each budget of a path is judged for itself. */
export interface ModelRules {
  /** "provider/model" each, no two the same; undefined: every model, empty: none. */
  readonly allowed: readonly string[] | undefined;
  /** The dearest tier; undefined: every tier. */
  readonly maxTier: ModelTier | undefined;
}

/** Every model in every tier. One object for all budgets that say nothing, so that the usual case is known by identity. */
export const ANY_MODEL: ModelRules = { allowed: undefined, maxTier: undefined };

/** Rules after an edit; a field that is there and undefined is taken away. */
export function modelsAfter(before: ModelRules, edit: Partial<ModelRules>): ModelRules {
  const { allowed, maxTier } = { ...before, ...edit };
  return allowed === undefined && maxTier === undefined ? ANY_MODEL : { allowed, maxTier };
}
