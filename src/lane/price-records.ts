// Between the records that a store keeps of the price book and what they mean. A record's body is the text that its hash is over,
// so reading one means to get back exactly what was hashed, or to refuse the whole book: half a price list is nobody's.
import { createHash } from 'node:crypto';
import { type PriceAlias, type PriceBookParts, priceAliasProblems, type Retirement } from '../pricing/price-book.ts';
import {
  FEE_NAMES,
  type Fees,
  type HashedPriceRow,
  hashPriceRow,
  type PriceMark,
  type PriceOrigin,
  type PriceRow,
  priceRowProblems,
  priceRowText,
  RATE_NAMES,
  type Rates,
  type RowFlag,
} from '../pricing/price-row.ts';
import { type HashedUnitRow, hashUnitRow, type UnitRow, unitRowProblems, unitRowText } from '../pricing/unit-row.ts';
import type { StoredPrice, StoredPriceKind } from '../store/price-port.ts';

/** The first import of one version of a catalogue. */
export interface CatalogueVersion {
  readonly name: string;
  readonly version: string;
  /** By the coordinator's clock. */
  readonly importedMs: number;
}

/** Everything that is kept. */
export interface PriceRecords extends PriceBookParts {
  readonly versions: readonly CatalogueVersion[];
}

// Words that a later program may have more of: what one of them means this one can't know.
const ORIGINS: ReadonlySet<string> = new Set<PriceOrigin>(['operator', 'catalogue']);
const MARKS: ReadonlySet<string> = new Set<PriceMark>(['priced', 'free', 'seat']);
const FLAGS: ReadonlySet<string> = new Set<RowFlag>(['inherited', 'rounded']);
const FORMS: ReadonlySet<string> = new Set<PriceAlias['form']>(['exact', 'dated', 'dated_compact']);

/** Nothing. */
export const NO_PRICE_RECORDS: PriceRecords = { rows: [], aliases: [], unitRows: [], retirements: [], versions: [] };

/** Thrown where a record can't be read as what it was written as. */
export class CorruptPriceError extends Error {
  override readonly name = 'CorruptPriceError';
}

/** SHA-256 in base64url, as the store computes it too. */
export function priceHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** A row with the hash that it is kept and pinned by. */
export function hashedRow(row: PriceRow): HashedPriceRow {
  return hashPriceRow(row, priceHash);
}

/** A unit row, likewise. */
export function hashedUnitRow(row: UnitRow): HashedUnitRow {
  return hashUnitRow(row, priceHash);
}

/** Who adds what no person does. */
export const CATALOGUE_ACTOR = 'catalogue';

/** Records of everything given, for the store. */
export function encodePrices(added: Partial<PriceRecords>): StoredPrice[] {
  const record = (
    kind: StoredPriceKind,
    body: string,
    origin: PriceOrigin,
    by: string,
    addedMs: number,
  ): StoredPrice => ({
    kind,
    hash: priceHash(body),
    body,
    origin,
    addedBy: by,
    addedMs,
  });
  return [
    ...(added.rows ?? []).map((row) => record('row', priceRowText(row), row.origin, row.addedBy, row.addedMs)),
    ...(added.aliases ?? []).map((alias) =>
      record('alias', aliasText(alias), alias.origin, alias.addedBy, alias.addedMs),
    ),
    ...(added.unitRows ?? []).map((row) => record('unit_row', unitRowText(row), 'operator', row.addedBy, row.addedMs)),
    ...(added.retirements ?? []).map((end) =>
      record('retirement', retirementText(end), end.origin, end.retiredBy, end.retiredMs),
    ),
    ...(added.versions ?? []).map((version) =>
      record('import', versionText(version), 'catalogue', CATALOGUE_ACTOR, version.importedMs),
    ),
  ];
}

/** What records mean. Throws CorruptPriceError. */
export function decodePrices(records: readonly StoredPrice[]): PriceRecords {
  const rows: HashedPriceRow[] = [];
  const aliases: PriceAlias[] = [];
  const unitRows: HashedUnitRow[] = [];
  const retirements: Retirement[] = [];
  const versions: CatalogueVersion[] = [];
  for (const record of records) {
    const fields = fieldsOf(record);
    switch (record.kind) {
      case 'row': {
        const row = rowOf(fields, record);
        check(record, priceRowText(row), isKnown(row) && priceRowProblems(row).length === 0);
        rows.push({ ...row, hash: record.hash });
        break;
      }
      case 'alias': {
        const alias = aliasOf(fields, record);
        check(
          record,
          aliasText(alias),
          ORIGINS.has(alias.origin) && FORMS.has(alias.form) && priceAliasProblems(alias).length === 0,
        );
        aliases.push(alias);
        break;
      }
      case 'unit_row': {
        const row = unitRowOf(fields, record);
        check(record, unitRowText(row), unitRowProblems(row).length === 0);
        unitRows.push({ ...row, hash: record.hash });
        break;
      }
      case 'retirement': {
        const end = retirementOf(fields, record);
        check(record, retirementText(end), ORIGINS.has(end.origin));
        retirements.push(end);
        break;
      }
      case 'import': {
        const version = { name: String(fields[1]), version: String(fields[2]), importedMs: record.addedMs };
        check(record, versionText(version));
        versions.push(version);
        break;
      }
    }
  }
  return { rows, aliases, unitRows, retirements, versions };
}

function fieldsOf({ kind, hash, body }: StoredPrice): readonly unknown[] {
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch (cause) {
    throw new CorruptPriceError(`${kind} ${hash} is no JSON`, { cause });
  }
  if (!Array.isArray(fields)) throw new CorruptPriceError(`${kind} ${hash} is no list`);
  return fields;
}

// Whatever a field was read as, it must be written back as it stood: a type or a version that is not understood shows here.
function check({ kind, hash, body }: StoredPrice, text: string, isValid = true): void {
  if (text === body && isValid && priceHash(body) === hash) return;
  throw new CorruptPriceError(`${kind} ${hash} does not say what this program wrote`);
}

function isKnown({ origin, mark, flags, unit }: PriceRow): boolean {
  return ORIGINS.has(origin) && MARKS.has(mark) && unit === 'USD' && flags.every((flag) => FLAGS.has(flag));
}

function rowOf(fields: readonly unknown[], { kind, hash, addedBy, addedMs }: StoredPrice): PriceRow {
  const [, origin, provider, model, fromMs, untilMs, above, band, rates, fees, mark, unit, source, flags] = fields;
  if (!Array.isArray(rates) || !Array.isArray(fees) || !Array.isArray(flags)) {
    throw new CorruptPriceError(`${kind} ${hash} lacks fields`);
  }
  return {
    origin: origin as PriceOrigin,
    provider: String(provider),
    model: String(model),
    effectiveFromMs: Number(fromMs),
    ...(untilMs === null ? {} : { effectiveUntilMs: Number(untilMs) }),
    aboveInputTokens: Number(above),
    ...(Array.isArray(band) ? { band: { startMs: Number(band[0]), endMs: Number(band[1]) } } : {}),
    rates: amountsOf(RATE_NAMES, rates) as unknown as Rates,
    fees: amountsOf(FEE_NAMES, fees) as Fees,
    mark: mark as PriceMark,
    unit: unit as 'USD',
    source: String(source),
    addedBy,
    addedMs,
    flags: flags as readonly RowFlag[],
  };
}

const AMOUNT = /^\d{1,19}$/;

function amountsOf(names: readonly string[], values: readonly unknown[]): Readonly<Record<string, bigint>> {
  const amounts: Record<string, bigint> = {};
  for (const [index, name] of names.entries()) {
    const value = values[index];
    if (typeof value === 'string' && AMOUNT.test(value)) amounts[name] = BigInt(value);
  }
  return amounts;
}

function aliasText(alias: PriceAlias): string {
  const { origin, provider, form, model = null, targetProvider = null, addedMs } = alias;
  // With its time: a name that went to another model and comes back is said once more, and the newest counts.
  return JSON.stringify(['price-alias-1', origin, provider, alias.alias, form, model, targetProvider, addedMs]);
}

function aliasOf(fields: readonly unknown[], { addedBy, addedMs }: StoredPrice): PriceAlias {
  const [, origin, provider, alias, form, model, targetProvider] = fields;
  return {
    origin: origin as PriceOrigin,
    provider: String(provider),
    alias: String(alias),
    form: form as PriceAlias['form'],
    ...(model === null ? {} : { model: String(model) }),
    ...(targetProvider === null ? {} : { targetProvider: String(targetProvider) }),
    addedBy,
    addedMs,
  };
}

function unitRowOf(fields: readonly unknown[], { kind, hash, addedBy, addedMs }: StoredPrice): UnitRow {
  const [, unit, fromMs, unitMicros, usdMicros, source] = fields.map(String);
  if (!AMOUNT.test(unitMicros ?? '') || !AMOUNT.test(usdMicros ?? '')) {
    throw new CorruptPriceError(`${kind} ${hash} has no amounts`);
  }
  return {
    unit: unit ?? '',
    effectiveFromMs: Number(fromMs),
    unitMicros: BigInt(unitMicros ?? ''),
    usdMicros: BigInt(usdMicros ?? ''),
    source: source ?? '',
    addedBy,
    addedMs,
  };
}

function retirementText({ origin, rowHash, fromMs }: Retirement): string {
  return JSON.stringify(['price-retirement-1', origin, rowHash, fromMs]);
}

function retirementOf(fields: readonly unknown[], { addedBy, addedMs }: StoredPrice): Retirement {
  const [, origin, rowHash, fromMs] = fields;
  return {
    origin: origin as PriceOrigin,
    rowHash: String(rowHash),
    fromMs: Number(fromMs),
    retiredBy: addedBy,
    retiredMs: addedMs,
  };
}

function versionText({ name, version }: CatalogueVersion): string {
  return JSON.stringify(['price-import-1', name, version]);
}
