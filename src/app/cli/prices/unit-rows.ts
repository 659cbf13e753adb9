// What a unit lacks to price model calls, told while a tree in it is made and where a call has no price for want of it. Its own file
// because case tells units apart, which nobody sees who has typed one: the row that differs by case alone has to be named.
import { PriceService } from '../../../gen/budgetd/v1/price_pb.ts';
import { UNIT_DEFAULT } from '../../../kernel/unit.ts';
import { CallError } from '../call-error.ts';
import type { Connection } from '../connection.ts';
import { readPages } from '../pages.ts';

/** Of a unit: whether it has a row, and the one that has and is the same but for its case; undefined: none is. */
export async function unitRows(
  connection: Connection,
  unit: string,
): Promise<{ readonly hasRow: boolean; readonly inAnotherCase: string | undefined }> {
  const { rows } = await readPages(Number.MAX_SAFE_INTEGER, '', async (pageSize, pageToken) => {
    const page = await connection.call(PriceService.method.listUnitPrices, { pageSize, pageToken });
    return { rows: page.unitPrices.map((row) => row.unit), nextPageToken: page.nextPageToken };
  });
  const known = [UNIT_DEFAULT, ...rows];
  return {
    hasRow: known.includes(unit),
    inAnotherCase: known.find((each) => each !== unit && each.toLowerCase() === unit.toLowerCase()),
  };
}

/** What to know of a new tree in a unit; undefined: nothing. What can't be read is said to be so: the tree does not need it. */
export async function newUnitWarning(connection: Connection, unit: string): Promise<string | undefined> {
  if (unit === UNIT_DEFAULT) return undefined;
  try {
    const { hasRow, inAnotherCase } = await unitRows(connection, unit);
    if (hasRow) return undefined;
    const cure =
      inAnotherCase === undefined
        ? `say what it is worth (budgetctl prices unit ${unit})`
        : `${inAnotherCase} has one, and differs by case alone`;
    return `the unit ${unit} has no row in the price book, so model calls can not be priced in it: ${cure}`;
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return `whether model calls can be priced in the unit ${unit} is not known: ${error.failure.message}`;
  }
}
