// From the data of a catalogue to rows: what is new since the last import, in exact numbers, and a note for everything that is not
// taken. Prices count from the import on, never before; nothing that is there is changed. The catalogue's own matching and
// arithmetic are not used.
import { type CurrentEntry, currentEntries, type EntryFault } from './catalogue-entries.ts';
import { catalogueNames, wouldMatch } from './catalogue-match.ts';
import { type RecordFault, readRecord } from './catalogue-record.ts';
import type { PriceAlias, PriceBookParts, Retirement } from './price-book.ts';
import {
  FEE_NAMES,
  type HashedPriceRow,
  isModelId,
  isProviderId,
  type PriceRow,
  priceRowProblems,
  RATE_NAMES,
  type RowFlag,
} from './price-row.ts';
import { newestFirst, tierAndBand } from './price-timeline.ts';
import { isFields } from './usage/report.ts';

/** What an import is told. */
export interface CatalogueOptions {
  /** Name and version of the catalogue, as the rows' source: "@pydantic/genai-prices 0.1.8". */
  readonly source: string;
  /** The instant of the import, from which its rows count, ms since 1970. */
  readonly importedMs: number;
  /** Who imports. */
  readonly addedBy: string;
  /** What there is already; rows of it that say the same are not added again. */
  readonly known: PriceBookParts;
}

/**
 * Why a record gave no row. `begins_in_future`, `superseded`: not the one that counts now. `incomplete_model`: another record of
 * the model could not be taken. `out_of_bounds`: no valid row. `retired`: an operator retired this very price.
 * `loose_patterns`: names of the model that are no exact ones, `claimed_by_pattern`: a fallback's model that the provider's own
 * patterns would take; both are about names, not about a record.
 */
export type NoteReason =
  | RecordFault
  | EntryFault
  | 'incomplete_model'
  | 'invalid_catalogue'
  | 'out_of_bounds'
  | 'retired'
  | 'loose_patterns'
  | 'claimed_by_pattern';

/** One thing that was not taken. */
export interface CatalogueNote {
  readonly provider: string;
  readonly model: string;
  readonly reason: NoteReason;
  /** The keys, the date or the number that it is about; may be empty. */
  readonly detail: string;
}

/** What an import adds. */
export interface CatalogueImport {
  readonly rows: readonly PriceRow[];
  readonly aliases: readonly PriceAlias[];
  /** Ends of tiers and times of day that listed models no longer have. */
  readonly retirements: readonly Retirement[];
  readonly notes: readonly CatalogueNote[];
  /** Records that are priced by rows now, new or known: with the notes on records it makes every record of the data. */
  readonly recordCount: number;
}

/** A model as listed, with the rows that it has now. */
interface Listed {
  readonly id: string;
  readonly match: unknown;
  readonly rows: readonly PriceRow[];
}

/** A provider as listed. */
interface ListedProvider {
  readonly id: string;
  readonly fallbacks: readonly string[];
  readonly models: readonly Listed[];
}

/** Reads the whole catalogue: a list of providers with their models. */
export function importCatalogue(data: unknown, options: CatalogueOptions): CatalogueImport {
  const notes: CatalogueNote[] = [];
  const counter = { records: 0 };
  const providers = providersOf(data, options, notes, counter);
  const rows: PriceRow[] = [];
  const aliases: PriceAlias[] = [];
  for (const provider of providers) {
    for (const model of [...provider.models, ...inheritedModels(provider, providers, notes)]) {
      if (model.rows.length === 0) continue;
      rows.push(...model.rows);
      aliases.push(...aliasesOf(provider, model, options));
    }
  }
  return {
    ...changesOf(rows, options, notes),
    aliases: newAliases(aliases, options),
    notes,
    recordCount: counter.records,
  };
}

function providersOf(
  data: unknown,
  options: CatalogueOptions,
  notes: CatalogueNote[],
  counter: { records: number },
): readonly ListedProvider[] {
  const providers: ListedProvider[] = [];
  for (const provider of Array.isArray(data) ? data : [undefined]) {
    if (!isFields(provider) || typeof provider['id'] !== 'string' || !Array.isArray(provider['models'])) {
      notes.push({ provider: '', model: '', reason: 'invalid_catalogue', detail: '' });
      continue;
    }
    const id = provider['id'];
    const fallbacks = provider['fallback_model_providers'];
    const models: Listed[] = [];
    for (const model of provider['models']) {
      if (isFields(model) && typeof model['id'] === 'string' && isModelId(model['id']) && isProviderId(id)) {
        models.push(listedModel(id, { ...model, id: model['id'] }, options, notes, counter));
      } else notes.push({ provider: id, model: '', reason: 'invalid_catalogue', detail: '' });
    }
    providers.push({ id, fallbacks: Array.isArray(fallbacks) ? fallbacks : [], models });
  }
  return providers;
}

function listedModel(
  provider: string,
  model: Readonly<Record<string, unknown>> & { readonly id: string },
  options: CatalogueOptions,
  notes: CatalogueNote[],
  counter: { records: number },
): Listed {
  const { id, match, prices } = model;
  const note = (reason: NoteReason, detail: string) => notes.push({ provider, model: id, reason, detail });
  const { current, left } = currentEntries(prices, options.importedMs);
  for (const { fault, detail } of left) note(fault, detail);
  const read = current.map((entry) => rowsOf(provider, id, entry, options));
  const isTaken = read.every(({ fault }) => fault === undefined);
  for (const { fault, detail } of read) {
    if (isTaken) counter.records += 1;
    else note(fault ?? 'incomplete_model', detail);
  }
  const { looseCount } = catalogueNames(match);
  if (isTaken && looseCount > 0) note('loose_patterns', looseCount.toString());
  return { id, match, rows: isTaken ? read.flatMap(({ rows }) => rows) : [] };
}

/** The rows of one record, one for each tier. */
function rowsOf(
  provider: string,
  model: string,
  { record, band }: CurrentEntry,
  { source, importedMs, addedBy }: CatalogueOptions,
): { readonly rows: readonly PriceRow[]; readonly fault?: NoteReason; readonly detail: string } {
  const result = readRecord(record);
  if (result.fault !== undefined) return { rows: [], fault: result.fault, detail: result.keys.join(' ') };
  const rows: PriceRow[] = [];
  for (const { aboveInputTokens, rates, fees, isRounded } of result.tiers) {
    const flags: readonly RowFlag[] = isRounded ? ['rounded'] : [];
    const row: PriceRow = {
      provider,
      model,
      effectiveFromMs: importedMs,
      aboveInputTokens,
      ...(band === undefined ? {} : { band }),
      rates,
      fees,
      mark: 'priced',
      unit: 'USD',
      source,
      addedBy,
      addedMs: importedMs,
      origin: 'catalogue',
      flags,
    };
    const problems = priceRowProblems(row);
    if (problems.length > 0) {
      return { rows: [], fault: 'out_of_bounds', detail: problems.map(({ field }) => field).join(' ') };
    }
    rows.push(row);
  }
  return { rows, detail: '' };
}

/**
 * The models that a provider has from those it falls back to, as rows of its own. An id that it lists itself is its own; one that a
 * pattern of its own would take is left out, since the catalogue prices it by that pattern.
 */
function inheritedModels(
  provider: ListedProvider,
  providers: readonly ListedProvider[],
  notes: CatalogueNote[],
): readonly Listed[] {
  const inherited = new Map<string, Listed>();
  for (const fallback of provider.fallbacks) {
    for (const model of providers.find(({ id }) => id === fallback)?.models ?? []) {
      if (model.rows.length === 0 || inherited.has(model.id)) continue;
      if (provider.models.some(({ id }) => id === model.id)) continue;
      if (provider.models.some(({ match }) => wouldMatch(match, model.id))) {
        notes.push({ provider: provider.id, model: model.id, reason: 'claimed_by_pattern', detail: fallback });
        continue;
      }
      const rows = model.rows.map(
        (row): PriceRow => ({
          ...row,
          provider: provider.id,
          source: `${row.source}, listed for ${fallback}`,
          flags: [...row.flags, 'inherited'],
        }),
      );
      inherited.set(model.id, { id: model.id, match: model.match, rows });
    }
  }
  return [...inherited.values()];
}

/** The other names of a model, but for those that are a model's own id, or that an heir's own patterns would take. */
function aliasesOf(
  provider: ListedProvider,
  model: Listed,
  { importedMs, addedBy }: CatalogueOptions,
): readonly PriceAlias[] {
  const isOwn = provider.models.includes(model);
  const aliases: PriceAlias[] = [];
  for (const { alias, form } of catalogueNames(model.match).names) {
    const example = `${alias}${EXAMPLE_ENDS[form]}`;
    const isTaken = provider.models.some(({ id, match }) => id === example || (!isOwn && wouldMatch(match, example)));
    if (isTaken || !isModelId(alias) || example === model.id) continue;
    aliases.push({
      provider: provider.id,
      alias,
      form,
      model: model.id,
      origin: 'catalogue',
      addedBy,
      addedMs: importedMs,
    });
  }
  return aliases;
}

/** What a name of each form may end in. */
const EXAMPLE_ENDS = { exact: '', dated: '-2026-01-01', dated_compact: '-20260101' } as const;

function newAliases(aliases: readonly PriceAlias[], { known }: CatalogueOptions): readonly PriceAlias[] {
  const nameOf = ({ provider, alias, form }: PriceAlias): string => JSON.stringify([provider, alias, form]);
  // Of several for one name the newest counts, so a name that comes back to a model is said once more.
  const newest = new Map<string, PriceAlias>();
  for (const alias of known.aliases) {
    if (alias.origin === 'catalogue' && alias.addedMs >= (newest.get(nameOf(alias))?.addedMs ?? 0)) {
      newest.set(nameOf(alias), alias);
    }
  }
  return aliases.filter((alias) => newest.get(nameOf(alias))?.model !== alias.model);
}

const modelOf = ({ provider, model }: PriceRow): string => `${provider} ${model}`;

/** What of the rows is new, and which known rows of the same models have no successor. */
function changesOf(
  rows: readonly PriceRow[],
  { known, importedMs, addedBy }: CatalogueOptions,
  notes: CatalogueNote[],
): Pick<CatalogueImport, 'rows' | 'retirements'> {
  const ended = new Map(known.retirements.map(({ rowHash, origin }) => [rowHash, origin]));
  const latest = latestOf(known.rows.filter(({ origin }) => origin === 'catalogue'));
  const added: PriceRow[] = [];
  const retirements: Retirement[] = [];
  for (const [model, listed] of Map.groupBy(rows, modelOf)) {
    const before = latest.get(model) ?? new Map<string, HashedPriceRow>();
    for (const row of listed) {
      const old = before.get(tierAndBand(row));
      before.delete(tierAndBand(row));
      if (old === undefined || !isSamePrice(old, row) || ended.get(old.hash) === 'catalogue') added.push(row);
      else if (ended.has(old.hash)) {
        notes.push({ provider: row.provider, model: row.model, reason: 'retired', detail: old.hash });
      }
    }
    for (const { hash } of before.values()) {
      if (ended.has(hash)) continue;
      retirements.push({
        rowHash: hash,
        fromMs: importedMs,
        origin: 'catalogue',
        retiredBy: addedBy,
        retiredMs: importedMs,
      });
    }
  }
  return { rows: added, retirements };
}

/** The newest row of each key, by model. */
function latestOf(rows: readonly HashedPriceRow[]): ReadonlyMap<string, Map<string, HashedPriceRow>> {
  const latest = new Map<string, Map<string, HashedPriceRow>>();
  for (const [model, ofModel] of Map.groupBy(rows, modelOf)) {
    const keys = new Map<string, HashedPriceRow>();
    for (const row of [...ofModel].sort(newestFirst)) {
      if (!keys.has(tierAndBand(row))) keys.set(tierAndBand(row), row);
    }
    latest.set(model, keys);
  }
  return latest;
}

function isSamePrice(a: PriceRow, b: PriceRow): boolean {
  return (
    a.mark === b.mark &&
    RATE_NAMES.every((name) => a.rates[name] === b.rates[name]) &&
    FEE_NAMES.every((name) => a.fees[name] === b.fees[name])
  );
}
