// The price book on the wire: rows, names, units, and how the book stands.
import {
  type PriceAlias as AliasMessage,
  type LeftOut,
  type LeftOutCount,
  PriceAliasForm,
  PriceFlag,
  PriceMark,
  PriceOrigin,
  type PriceStatus,
  type PriceRow as RowMessage,
  type UnitPrice,
} from '../../gen/budgetd/v1/price_pb.ts';
import type { PricesStatus } from '../../lane/prices.ts';
import type { CatalogueNote } from '../../pricing/catalogue.ts';
import type { PriceAlias, Retirement } from '../../pricing/price-book.ts';
import type { HashedPriceRow, PriceMark as Mark, PriceOrigin as Origin, RowFlag } from '../../pricing/price-row.ts';
import type { HashedUnitRow } from '../../pricing/unit-row.ts';
import { durationFromMs, timestampFromMs } from './time.ts';

const MARKS: Readonly<Record<Mark, PriceMark>> = {
  priced: PriceMark.PRICED,
  free: PriceMark.FREE,
  seat: PriceMark.SEAT,
};

const ORIGINS: Readonly<Record<Origin, PriceOrigin>> = {
  operator: PriceOrigin.OPERATOR,
  catalogue: PriceOrigin.CATALOGUE,
};

const FLAGS: Readonly<Record<RowFlag, PriceFlag>> = {
  inherited: PriceFlag.INHERITED,
  rounded: PriceFlag.ROUNDED,
};

const FORMS: Readonly<Record<PriceAlias['form'], PriceAliasForm>> = {
  exact: PriceAliasForm.EXACT,
  dated: PriceAliasForm.DATED,
  dated_compact: PriceAliasForm.DATED_COMPACT,
};

/** A row, and its end where it was retired. */
export function priceRowMessage(row: HashedPriceRow, end: Retirement | undefined): RowMessage {
  const { band, effectiveUntilMs } = row;
  return {
    $typeName: 'budgetd.v1.PriceRow',
    rowHash: row.hash,
    provider: row.provider,
    model: row.model,
    effectiveFromTime: timestampFromMs(row.effectiveFromMs),
    effectiveUntilTime: effectiveUntilMs === undefined ? undefined : timestampFromMs(effectiveUntilMs),
    aboveInputTokens: BigInt(row.aboveInputTokens),
    band: band && {
      $typeName: 'budgetd.v1.TimeBand',
      start: durationFromMs(band.startMs),
      end: durationFromMs(band.endMs),
    },
    rates: { $typeName: 'budgetd.v1.PriceRates', ...row.rates },
    fees: Object.keys(row.fees).length === 0 ? undefined : { $typeName: 'budgetd.v1.PriceFees', ...row.fees },
    mark: MARKS[row.mark],
    source: row.source,
    origin: ORIGINS[row.origin],
    flags: row.flags.map((flag) => FLAGS[flag]),
    addedBy: row.addedBy,
    addTime: timestampFromMs(row.addedMs),
    retireTime: end && timestampFromMs(end.fromMs),
    retiredBy: end?.retiredBy ?? '',
  };
}

/** A name. */
export function priceAliasMessage(alias: PriceAlias): AliasMessage {
  return {
    $typeName: 'budgetd.v1.PriceAlias',
    provider: alias.provider,
    alias: alias.alias,
    form: FORMS[alias.form],
    model: alias.model ?? '',
    targetProvider: alias.model === undefined ? '' : (alias.targetProvider ?? alias.provider),
    withdrawn: alias.model === undefined,
    origin: ORIGINS[alias.origin],
    addedBy: alias.addedBy,
    addTime: timestampFromMs(alias.addedMs),
  };
}

/** What a unit is worth. */
export function unitPriceMessage(row: HashedUnitRow): UnitPrice {
  return {
    $typeName: 'budgetd.v1.UnitPrice',
    rowHash: row.hash,
    unit: row.unit,
    effectiveFromTime: timestampFromMs(row.effectiveFromMs),
    unitMicros: row.unitMicros,
    usdMicros: row.usdMicros,
    source: row.source,
    addedBy: row.addedBy,
    addTime: timestampFromMs(row.addedMs),
  };
}

/** How the book stands; of unknown prices those of budgets that `sees` lets through. */
export function priceStatusMessage(status: PricesStatus, sees: (budget: string) => boolean): PriceStatus {
  const { catalogue } = status;
  return {
    $typeName: 'budgetd.v1.PriceStatus',
    catalogue: catalogue?.name ?? '',
    catalogueVersion: catalogue?.version ?? '',
    importTime: catalogue && timestampFromMs(catalogue.importedMs),
    age: catalogue && durationFromMs(Math.round(status.catalogueAgeMs)),
    stale: status.stale,
    rowCount: BigInt(status.rowCount),
    aliasCount: BigInt(status.aliasCount),
    unitPriceCount: BigInt(status.unitRowCount),
    retirementCount: BigInt(status.retirementCount),
    problem: status.problem ?? '',
    unknownPriceCount: BigInt(status.unknownCount),
    unknownPrices: status.unknown
      .filter(({ budget }) => sees(budget))
      .map(({ budget, provider, model, unit, why, count, lastMs }) => ({
        $typeName: 'budgetd.v1.UnknownPrice',
        budget,
        model: model === '' ? undefined : { $typeName: 'budgetd.v1.ModelName', provider, model },
        unit,
        count: BigInt(count),
        lastTime: timestampFromMs(lastMs),
        why,
      })),
  };
}

/** Something that an import left out. */
export function leftOutMessage(note: CatalogueNote): LeftOut {
  return { $typeName: 'budgetd.v1.LeftOut', ...note };
}

/** How much was left out for each reason, most first. */
export function leftOutCounts(notes: readonly CatalogueNote[]): LeftOutCount[] {
  return [...Map.groupBy(notes, ({ reason }) => reason)]
    .map(([reason, { length }]) => ({ $typeName: 'budgetd.v1.LeftOutCount' as const, reason, count: BigInt(length) }))
    .sort((a, b) => Number(b.count - a.count) || (a.reason < b.reason ? -1 : 1));
}
