// The bundled catalogue as a book, for tests: imported at one instant, with what the import said.
import { waitForUpdate } from '@pydantic/genai-prices';
import { type CatalogueImport, importCatalogue } from '../../src/pricing/catalogue.ts';
import { buildPriceBook, type PriceBook } from '../../src/pricing/price-book.ts';
import { hashPriceRow } from '../../src/pricing/price-row.ts';
import { hashOf, START_MS } from './price-rows.ts';

/** One price record of the package, walked by hand. */
export interface PackageRecord {
  readonly provider: string;
  readonly model: string;
  readonly constraint: Readonly<Record<string, string>> | undefined;
  readonly prices: Readonly<Record<string, unknown>>;
}

/** The package's own data, its imported rows as a book, and every record of it. */
export interface BundledCatalogue {
  readonly data: unknown;
  readonly imported: CatalogueImport;
  readonly book: PriceBook;
  readonly records: readonly PackageRecord[];
}

export async function bundledCatalogue(): Promise<BundledCatalogue> {
  const data = structuredClone(await waitForUpdate()) ?? [];
  const imported = importCatalogue(data, {
    source: '@pydantic/genai-prices 0.1.8',
    importedMs: START_MS,
    addedBy: 'test',
    known: { rows: [], aliases: [], unitRows: [], retirements: [] },
  });
  const rows = imported.rows.map((row) => hashPriceRow(row, hashOf));
  const book = buildPriceBook({ rows, aliases: imported.aliases, unitRows: [], retirements: imported.retirements });
  const records = data.flatMap(({ id: provider, models }) =>
    models.flatMap(({ id: model, prices }) =>
      (Array.isArray(prices) ? prices : [{ prices, constraint: undefined }]).map((entry) => ({
        provider,
        model,
        constraint: entry.constraint === undefined ? undefined : { ...entry.constraint },
        prices: entry.prices,
      })),
    ),
  );
  return { data, imported, book, records };
}
