// Reads lists that come in pages, up to a bound, and says whether there was more. Stands alone because no list may be
// cut off silently.

/** Rows asked for in one call: the most that the contract allows, since each call costs a round trip. */
const PAGE_SIZE = 1000;

/** One page of a listing call. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** What was read. */
export interface Listing<Row> {
  readonly rows: readonly Row[];
  /** Where the rows that did not fit begin; empty if there are none. */
  readonly nextPageToken: string;
}

/** Reads pages until the last one or `rowsMax` rows. `read` is given the page size and the token. */
export async function readPages<Row>(
  rowsMax: number,
  firstPageToken: string,
  read: (pageSize: number, pageToken: string) => Promise<Page<Row>>,
): Promise<Listing<Row>> {
  const rows: Row[] = [];
  let nextPageToken = firstPageToken;
  do {
    const page = await read(Math.min(PAGE_SIZE, rowsMax - rows.length), nextPageToken);
    rows.push(...page.rows);
    nextPageToken = page.nextPageToken;
  } while (nextPageToken !== '' && rows.length < rowsMax);
  return { rows, nextPageToken };
}
