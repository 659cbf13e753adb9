// Prices as decisions see them: what a model call can cost at the most, and what reported usage did cost. How that is found out is
// the business of whoever implements `Pricing`; what a reservation keeps of it is written down, so that nothing that is decided has to
// be priced again.

/** A model call as a request states it and the api has checked it; what is in it only the one who prices knows. */
export interface CallToPrice {
  readonly kind: 'call';
  readonly call: object;
}

/** A usage report as a request states it and the api has checked it. */
export interface UsageToPrice {
  readonly kind: 'usage';
  readonly report: object;
}

/** One model at one provider. */
export interface PricedModel {
  readonly provider: string;
  readonly model: string;
}

/** A candidate that was named by an alias, and the model that the alias stood for then. */
export interface PinnedAlias extends PricedModel {
  readonly target: PricedModel;
}

/** What a reservation keeps of the price book: whatever is added to it later, its usage is priced by these. */
export interface PricePins {
  /** Hashes of every row that could price the call. */
  readonly rowHashes: readonly string[];
  /** Left out where no candidate was named by an alias. */
  readonly aliases?: readonly PinnedAlias[];
  /** Hash of the row of the tree's unit; left out in trees that count in USD. */
  readonly unitRowHash?: string;
  /** What the call asked for; left out where it said nothing. */
  readonly serviceTier?: string;
  readonly inferenceGeo?: string;
  readonly cacheTtl?: string;
  /** Searches that the call may run, in which usage has to tell their number; left out where it may run none. */
  readonly searches?: readonly ('web_search' | 'file_search')[];
}

/** What a grant by a model call paid for. */
export interface PriceRecord {
  readonly pins: PricePins;
  /** Input tokens, at the most. Pricing lets no call pass 2^53-1, nor the sum of all that a reservation is extended by. */
  readonly inputTokensMax: bigint;
  /** Output tokens of each choice, at the most: what the caller has to send as the maximum. */
  readonly outputTokensMax: number;
  /** Whether the call named no maximum, so that it is the configured default. */
  readonly outputIsDefault: boolean;
  readonly choices: number;
}

/** Counts of usage by what is billed alike; every token is in one of them. */
export interface UsageBuckets {
  readonly uncachedInput: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite5m: bigint;
  readonly cacheWrite1h: bigint;
  readonly audioInput: bigint;
  readonly audioCacheRead: bigint;
  readonly output: bigint;
  readonly audioOutput: bigint;
  readonly webSearches: bigint;
  readonly fileSearches: bigint;
}

/** What reported usage came to. */
export interface PricedUsage extends PricedModel {
  /** The pinned row of the model that served. */
  readonly rowHash: string;
  /** `row`: computed from it. `reported`: as the provider says what the call cost. */
  readonly source: 'row' | 'reported';
  readonly buckets: UsageBuckets;
  /** In micro-units of the tree's unit, rounded up once. */
  readonly micros: bigint;
}

/** How dear and how fast service tiers are, the cheapest class first. */
export const MODEL_TIERS = ['flex', 'standard', 'priority'] as const;

/** A class of service tiers. */
export type ModelTier = (typeof MODEL_TIERS)[number];

/** What a budget lets calls reach. */
export interface ModelRules {
  /** "provider/model" each, no two the same; undefined: every model; none: no model at all. */
  readonly allowed: readonly string[] | undefined;
  /** The dearest class of service tiers; undefined: every tier. */
  readonly maxTier: ModelTier | undefined;
}

/** Of a budget that says nothing. One object, so that the usual case is known by it. */
export const ANY_MODEL: ModelRules = { allowed: undefined, maxTier: undefined };

/** Rules after an edit; a field that is there and undefined is taken away. */
export function modelsAfter(before: ModelRules, edit: Partial<ModelRules>): ModelRules {
  if (Object.keys(edit).length === 0) return before;
  const { allowed, maxTier } = { ...before, ...edit };
  return allowed === undefined && maxTier === undefined ? ANY_MODEL : { allowed, maxTier };
}

/** Why there is no price. */
export interface Unpriced {
  readonly kind: 'unpriced';
  /** STORE_UNAVAILABLE: there is no price book yet. */
  readonly reason: 'PRICE_UNKNOWN' | 'USAGE_INVALID' | 'INVALID_FIELD' | 'STORE_UNAVAILABLE';
  /** One sentence for people. */
  readonly message: string;
  /** The model, or the unit, that the reason is about. */
  readonly provider?: string;
  readonly model?: string;
  readonly unit?: string;
  /** Candidates beside that one that have no price either. */
  readonly moreCount?: number;
  /** The reason's own word. */
  readonly why?: string;
  /** The field that the reason is about, as a path in the call or the report. */
  readonly field?: string;
  /** When to try again, where waiting helps. */
  readonly retryAfterMs?: number;
}

/** A call that a budget does not let through. */
export interface ModelRefused extends PricedModel {
  readonly rule: 'allowed_models' | 'max_tier';
}

/** Prices calls and usage. The same answers for the same book, which does not change while a batch is decided. */
export interface Pricing {
  /**
   * The most that a call can cost at an instant, in a unit. `before`: what the reservation has that the call is added to; then the
   * call is priced by its pins where they have a price for it, and unpriced where usage of either could not be told apart.
   */
  price(
    call: CallToPrice,
    unit: string,
    atMs: number,
    before?: PriceRecord,
  ): { readonly kind: 'price'; readonly maxMicros: bigint; readonly record: PriceRecord } | Unpriced;
  /** The first model of a call that rules refuse, or why that is not known; undefined where all are allowed. */
  refused(call: CallToPrice, rules: ModelRules): ModelRefused | Unpriced | undefined;
  /** What usage cost, by what was pinned for it. `atMs`: the end of the call, as near as it is known. */
  cost(
    record: PriceRecord,
    usage: UsageToPrice,
    atMs: number,
  ): { readonly kind: 'cost'; readonly priced: PricedUsage } | Unpriced;
}

/**
 * What a reservation keeps once it is extended by another call, which was priced with `before`: rows and aliases of both, bounds of
 * both together, the last maximum to send. The unit's row and the way the calls are served are the same in both.
 */
export function mergedPrices(before: PriceRecord | undefined, added: PriceRecord): PriceRecord {
  if (before === undefined) return added;
  return {
    ...added,
    pins: mergedPins(before.pins, added.pins),
    inputTokensMax: before.inputTokensMax + added.inputTokensMax,
  };
}

// Mostly a call is of the models of the one before it: then it is the same object, which is written and sent from what was kept of it.
function mergedPins(before: PricePins, added: PricePins): PricePins {
  const rows = added.rowHashes.filter((hash) => !before.rowHashes.includes(hash));
  const known = before.aliases ?? [];
  const fresh = (added.aliases ?? []).filter(
    ({ provider, model }) => !known.some((each) => each.provider === provider && each.model === model),
  );
  const searches = (added.searches ?? []).filter((kind) => before.searches?.includes(kind) !== true);
  if (rows.length + fresh.length + searches.length === 0) return before;
  return {
    ...before,
    rowHashes: [...before.rowHashes, ...rows],
    ...(known.length + fresh.length > 0 && { aliases: [...known, ...fresh] }),
    ...((before.searches?.length ?? 0) + searches.length > 0 && {
      searches: [...(before.searches ?? []), ...searches],
    }),
  };
}
