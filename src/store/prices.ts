// The price book in PostgreSQL: read whole, added to under the writer's epoch (sql/0008).
import { quote } from './json-text.ts';
import { StoreUnavailableError } from './port.ts';
import type { StoredPrice, StoredPriceKind } from './price-port.ts';
import type { Runs } from './sql-client.ts';
import { asksForRetry, codeOf, SQLSTATE_FENCED } from './sql-errors.ts';

// Each time somebody else got something done.
const TRY_COUNT_MAX = 10;

interface RecordRow {
  readonly kind: StoredPriceKind;
  readonly hash: string;
  readonly body: string;
  readonly origin: StoredPrice['origin'];
  readonly added_by: string;
  readonly added_ms: string;
}

/** See PriceStore.loadPrices. */
export async function loadPrices(client: Runs): Promise<readonly StoredPrice[]> {
  const rows = await client.run(
    (sql) => sql<RecordRow[]>`SELECT kind, hash, body, origin, added_by, added_ms FROM budgetd.price_records`,
  );
  return rows.map(({ kind, hash, body, origin, added_by: addedBy, added_ms: addedMs }) => ({
    kind,
    hash,
    body,
    origin,
    addedBy,
    addedMs: Number(addedMs),
  }));
}

/** See PriceStore.addPrices. */
export async function addPrices(
  client: Runs,
  epoch: number,
  records: readonly StoredPrice[],
): Promise<'added' | 'fenced'> {
  const text = `[${records.map(recordText).join(',')}]`;
  for (let count = 1; ; count++) {
    try {
      await client.run((sql) => sql`SELECT budgetd.add_prices(${epoch}, ${text})`);
      return 'added';
    } catch (error) {
      if (codeOf(error) === SQLSTATE_FENCED) return 'fenced';
      if (!asksForRetry(error)) throw error;
      if (count === TRY_COUNT_MAX) {
        throw new StoreUnavailableError('the store does not say whether prices were added', { cause: error });
      }
    }
  }
}

function recordText({ kind, hash, body, origin, addedBy, addedMs }: StoredPrice): string {
  return (
    `{"kind":"${kind}","hash":${quote(hash)},"body":${quote(body)},"origin":"${origin}",` +
    `"added_by":${quote(addedBy)},"added_ms":${addedMs}}`
  );
}
