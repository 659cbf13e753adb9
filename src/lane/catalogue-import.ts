// What a leader adds from the catalogue that the program brings, whenever it starts to lead. Pure. An older catalogue adds nothing
// beside a newer one: while a service is upgraded process by process, prices would go back and forth with the leader.
import { type CatalogueNote, importCatalogue } from '../pricing/catalogue.ts';
import { CATALOGUE_ACTOR, type CatalogueVersion, hashedRow, type PriceRecords } from './price-records.ts';

/** A catalogue, as whoever reads it from its package gives it. */
export interface PriceCatalogue {
  /** Name of the package. */
  readonly name: string;
  readonly version: string;
  /** A list of providers with their models, as the package has it; not looked into by anybody but the import. */
  readonly data: unknown;
}

/** What an import comes to. */
export interface Imported {
  /** Empty where nothing is new. */
  readonly added: Partial<PriceRecords>;
  /** What was not taken, and why. */
  readonly notes: readonly CatalogueNote[];
  /** The newer version that is in the book, where this one was left out for it. */
  readonly leftOutFor?: string;
}

/** Imports additively, at an instant from which new rows count. */
export function importInto(records: PriceRecords, catalogue: PriceCatalogue, nowMs: number): Imported {
  const { name, version, data } = catalogue;
  const latest = latestVersion(records.versions, name);
  if (latest !== undefined && compareVersions(latest.version, version) > 0) {
    return { added: {}, notes: [], leftOutFor: latest.version };
  }
  const { rows, aliases, retirements, notes } = importCatalogue(data, {
    source: `${name} ${version}`,
    importedMs: nowMs,
    addedBy: CATALOGUE_ACTOR,
    known: records,
  });
  const versions = latest?.version === version ? [] : [{ name, version, importedMs: nowMs }];
  return {
    added: { rows: rows.map(hashedRow), aliases, retirements, versions },
    notes,
  };
}

/** The newest version that was imported; of any catalogue where no name is given. */
export function latestVersion(versions: readonly CatalogueVersion[], name?: string): CatalogueVersion | undefined {
  let latest: CatalogueVersion | undefined;
  for (const each of versions) {
    if (name !== undefined && each.name !== name) continue;
    const isNewer =
      latest === undefined ||
      (latest.name === each.name
        ? compareVersions(each.version, latest.version) > 0
        : each.importedMs > latest.importedMs);
    if (isNewer) latest = each;
  }
  return latest;
}

/** Above 0 where `a` is the later one. Numbers by their size; a version with a word behind its numbers comes before the bare one. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split(/[.+-]/));
  for (let at = 0; at < Math.max(left?.length ?? 0, right?.length ?? 0); at += 1) {
    const [one, other] = [left?.[at], right?.[at]];
    if (one === other) continue;
    if (one === undefined) return /^\d/.test(other ?? '') ? -1 : 1;
    if (other === undefined) return /^\d/.test(one) ? 1 : -1;
    const difference = Number(one) - Number(other);
    if (!Number.isNaN(difference)) {
      if (difference !== 0) return difference;
    } else return one < other ? -1 : 1;
  }
  return 0;
}
