// The price book: an unchanging snapshot of all rows, aliases, unit rows and retirements, arranged for look-ups by exact name and
// instant, and by hash. Nothing is matched by likeness: a name that is in no row and no alias has no price. Made anew whenever
// a row is added, since look-ups are many and additions few.
import type { ModelName } from './model-call.ts';
import { type FieldProblem, type HashedPriceRow, isModelId, isProviderId, type PriceOrigin } from './price-row.ts';
import type { PriceSet } from './price-set.ts';
import { buildTimeline, type Timeline } from './price-timeline.ts';
import type { HashedUnitRow } from './unit-row.ts';
import { isText, isWhole } from './whole.ts';

/**
 * Another name of a model. `exact`: the name itself. `dated` and `dated_compact`: the name followed by a date, "-2026-09-01" or
 * "-20260901", as anchored patterns of the catalogue declare; the date is the only part that is free.
 */
export interface PriceAlias {
  readonly provider: string;
  /** The other name; of a dated alias the part before the date. */
  readonly alias: string;
  readonly form: 'exact' | 'dated' | 'dated_compact';
  /**
   * The model that has the rows, of the same provider unless `targetProvider` says otherwise. Absent: the operator withdraws the
   * name, so that what an operator said of it before no longer counts; the catalogue's alias does again, if there is one.
   */
  readonly model?: string;
  readonly targetProvider?: string;
  readonly origin: PriceOrigin;
  /** Who added it. */
  readonly addedBy: string;
  /** When, ms since 1970. Of two for one name the operator's wins, unless it is withdrawn, then the newest. */
  readonly addedMs: number;
}

/** Everything that is wrong with an alias; none if it may be added. Whether its model has rows is not looked at. */
export function priceAliasProblems(alias: PriceAlias): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!isProviderId(alias.provider)) problems.push({ field: 'provider', text: 'must be a provider id' });
  if (!isModelId(alias.alias)) problems.push({ field: 'alias', text: 'must be a model id' });
  if (alias.model !== undefined) {
    if (!isModelId(alias.model)) problems.push({ field: 'model', text: 'must be a model id' });
  } else if (alias.origin !== 'operator') problems.push({ field: 'model', text: 'must be there' });
  else if (alias.targetProvider !== undefined) {
    problems.push({ field: 'targetProvider', text: 'must be left out where a name is withdrawn' });
  }
  if (alias.targetProvider !== undefined && !isProviderId(alias.targetProvider)) {
    problems.push({ field: 'targetProvider', text: 'must be a provider id' });
  }
  if (!isText(alias.addedBy, 200)) problems.push({ field: 'addedBy', text: 'must be 1 to 200 characters' });
  if (!isWhole(alias.addedMs)) problems.push({ field: 'addedMs', text: 'must be a time from 1970 on' });
  return problems;
}

/** The end of a row, said after it was added. What it replaced stays replaced. */
export interface Retirement {
  /** Hash of the row. */
  readonly rowHash: string;
  /** First instant at which the row no longer counts, ms since 1970; of several the earliest counts. */
  readonly fromMs: number;
  /** Whether a person retired it or the catalogue no longer lists it. */
  readonly origin: PriceOrigin;
  /** Who retired it. */
  readonly retiredBy: string;
  /** When that was said, ms since 1970. */
  readonly retiredMs: number;
}

/** What a book is made of, in any order: valid rows and aliases. Rows and unit rows of one hash are one. */
export interface PriceBookParts {
  readonly rows: readonly HashedPriceRow[];
  readonly aliases: readonly PriceAlias[];
  readonly unitRows: readonly HashedUnitRow[];
  readonly retirements: readonly Retirement[];
}

/** A snapshot. */
export interface PriceBook {
  /** Every row, as added. */
  readonly rows: readonly HashedPriceRow[];
  readonly aliases: readonly PriceAlias[];
  readonly unitRows: readonly HashedUnitRow[];
  /** The rows of a model that count at an instant, by exact name or alias; undefined: it has no price then. */
  priceSet(provider: string, model: string, atMs: number): PriceSet | undefined;
  /** The rows of a model in time, by its own name only; undefined: it has none. */
  timeline(provider: string, model: string): Timeline | undefined;
  /** The name under which a model has rows: its own, or that of the alias; undefined: it is known by neither. */
  resolve(provider: string, model: string): ModelName | undefined;
  /** A row by its hash. */
  row(hash: string): HashedPriceRow | undefined;
  /** What a unit is worth at an instant; undefined: no row of it has begun. */
  unitRow(unit: string, atMs: number): HashedUnitRow | undefined;
  /** A unit row by its hash. */
  unitRowByHash(hash: string): HashedUnitRow | undefined;
}

/** Arranges the parts. The same book for the same parts in any order. */
export function buildPriceBook(parts: PriceBookParts): PriceBook {
  const rowsByHash = new Map(parts.rows.map((row) => [row.hash, row]));
  const unitRowsByHash = new Map(parts.unitRows.map((row) => [row.hash, row]));
  const rows = [...rowsByHash.values()];
  const unitRows = [...unitRowsByHash.values()];
  const timelines = timelinesOf(rows, endsOf(parts.retirements));
  const aliases = aliasesOf(parts.aliases);
  const units = Map.groupBy([...unitRows].sort(newestUnitFirst), ({ unit }) => unit);
  const resolve = (provider: string, model: string): ModelName | undefined => {
    if (timelines.get(provider)?.has(model)) return { provider, model };
    const target = aliases.exact.get(provider)?.get(model) ?? datedAlias(aliases, provider, model);
    if (target === undefined) return undefined;
    // An alias of an alias has no rows: chains would let one addition change what another name means.
    return timelines.get(target.provider)?.has(target.model) ? target : undefined;
  };
  return {
    rows,
    aliases: parts.aliases,
    unitRows,
    resolve,
    timeline: (provider, model) => timelines.get(provider)?.get(model),
    priceSet: (provider, model, atMs) => {
      const own = timelines.get(provider)?.get(model);
      if (own !== undefined) return own.setAt(atMs);
      const name = resolve(provider, model);
      return name === undefined ? undefined : timelines.get(name.provider)?.get(name.model)?.setAt(atMs);
    },
    row: (hash) => rowsByHash.get(hash),
    unitRow: (unit, atMs) => units.get(unit)?.find(({ effectiveFromMs }) => effectiveFromMs <= atMs),
    unitRowByHash: (hash) => unitRowsByHash.get(hash),
  };
}

/** The instant from which each retired row no longer counts. */
function endsOf(retirements: readonly Retirement[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { rowHash, fromMs } of retirements) {
    const known = ends.get(rowHash);
    if (known === undefined || fromMs < known) ends.set(rowHash, fromMs);
  }
  return ends;
}

function timelinesOf(
  rows: readonly HashedPriceRow[],
  ends: ReadonlyMap<string, number>,
): ReadonlyMap<string, ReadonlyMap<string, Timeline>> {
  const timelines = new Map<string, Map<string, Timeline>>();
  for (const [provider, ofProvider] of Map.groupBy(rows, (row) => row.provider)) {
    const models = new Map<string, Timeline>();
    for (const [model, ofModel] of Map.groupBy(ofProvider, (row) => row.model))
      models.set(model, buildTimeline(ofModel, ends));
    timelines.set(provider, models);
  }
  return timelines;
}

function newestUnitFirst(a: HashedUnitRow, b: HashedUnitRow): number {
  return b.effectiveFromMs - a.effectiveFromMs || b.addedMs - a.addedMs || (a.hash < b.hash ? 1 : -1);
}

/** What names stand for, by provider and name. */
type AliasIndex = ReadonlyMap<string, ReadonlyMap<string, ModelName>>;

function aliasesOf(aliases: readonly PriceAlias[]): Record<PriceAlias['form'], AliasIndex> {
  const empty = () => new Map<string, Map<string, ModelName>>();
  const index = { exact: empty(), dated: empty(), dated_compact: empty() };
  for (const { provider, alias, form, model, targetProvider = provider } of latestOfNames(aliases)) {
    if (model === undefined) continue;
    const ofForm = index[form];
    const ofProvider = ofForm.get(provider) ?? new Map<string, ModelName>();
    ofForm.set(provider, ofProvider);
    ofProvider.set(alias, { provider: targetProvider, model });
  }
  return index;
}

/** The newest of each name and origin, those of the catalogue first. */
function latestOfNames(aliases: readonly PriceAlias[]): readonly PriceAlias[] {
  const latest = { catalogue: new Map<string, PriceAlias>(), operator: new Map<string, PriceAlias>() };
  for (const alias of aliases) {
    const ofOrigin = latest[alias.origin];
    const name = `${alias.provider} ${alias.form} ${alias.alias}`;
    const known = ofOrigin.get(name);
    if (known === undefined || isNewer(alias, known)) ofOrigin.set(name, alias);
  }
  return [...latest.catalogue.values(), ...latest.operator.values()];
}

function isNewer(alias: PriceAlias, other: PriceAlias): boolean {
  if (alias.addedMs !== other.addedMs) return alias.addedMs > other.addedMs;
  return `${alias.targetProvider} ${alias.model}` > `${other.targetProvider} ${other.model}`;
}

const DATE_AT_END = /-20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const COMPACT_DATE_AT_END = /-20\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/;

/** A name without the date that an alias of the form has behind it; undefined where it ends in none. */
export function withoutDate(model: string, form: PriceAlias['form']): string | undefined {
  const match = form === 'exact' ? null : (form === 'dated' ? DATE_AT_END : COMPACT_DATE_AT_END).exec(model);
  return match === null ? undefined : model.slice(0, match.index);
}

function datedAlias(
  aliases: Record<PriceAlias['form'], AliasIndex>,
  provider: string,
  model: string,
): ModelName | undefined {
  for (const form of ['dated', 'dated_compact'] as const) {
    const target = aliases[form].get(provider)?.get(withoutDate(model, form) ?? '');
    if (target !== undefined) return target;
  }
  return undefined;
}
