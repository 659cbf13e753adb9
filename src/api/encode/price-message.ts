// What a reservation keeps of prices on the wire: rows, what they pay for, and what usage was charged at.
import {
  type CallPrice,
  CostSource,
  type ModelName,
  type PricedUsage,
  type PricePins,
  ServerToolKind,
} from '../../gen/budgetd/v1/model_call_pb.ts';
import type {
  PricePins as KernelPins,
  PriceRecord as KernelPrice,
  PricedUsage as KernelPriced,
  PricedModel,
} from '../../kernel/price.ts';

/** Where costs come from, on the wire. */
export const COST_SOURCES: Readonly<Record<KernelPriced['source'], CostSource>> = {
  row: CostSource.ROW,
  reported: CostSource.REPORTED,
};

/** Kinds of searches, on the wire. */
export const SEARCH_KINDS: Readonly<Record<NonNullable<KernelPins['searches']>[number], ServerToolKind>> = {
  web_search: ServerToolKind.WEB_SEARCH,
  file_search: ServerToolKind.FILE_SEARCH,
};

/** What a model call was priced by. */
export function priceMessage(price: KernelPrice): CallPrice {
  return {
    $typeName: 'budgetd.v1.CallPrice',
    pins: pinsMessage(price.pins),
    maxInputTokens: price.inputTokensMax,
    maxOutputTokens: BigInt(price.outputTokensMax),
    outputIsDefault: price.outputIsDefault,
    choices: price.choices,
  };
}

/** What usage was charged at. */
export function pricedMessage(priced: KernelPriced): PricedUsage {
  return {
    $typeName: 'budgetd.v1.PricedUsage',
    served: nameMessage(priced),
    rowHash: priced.rowHash,
    source: COST_SOURCES[priced.source],
    micros: priced.micros,
    counts: { $typeName: 'budgetd.v1.UsageCounts', ...priced.buckets, inferenceGeo: '' },
  };
}

function pinsMessage(pins: KernelPins): PricePins {
  return {
    $typeName: 'budgetd.v1.PricePins',
    rowHashes: [...pins.rowHashes],
    aliases: (pins.aliases ?? []).map((alias) => ({
      $typeName: 'budgetd.v1.PinnedAlias',
      name: nameMessage(alias),
      target: nameMessage(alias.target),
    })),
    unitRowHash: pins.unitRowHash ?? '',
    serviceTier: pins.serviceTier ?? '',
    inferenceGeo: pins.inferenceGeo ?? '',
    cacheTtl: pins.cacheTtl ?? '',
    searches: (pins.searches ?? []).map((kind) => SEARCH_KINDS[kind]),
  };
}

function nameMessage({ provider, model }: PricedModel): ModelName {
  return { $typeName: 'budgetd.v1.ModelName', provider, model };
}
