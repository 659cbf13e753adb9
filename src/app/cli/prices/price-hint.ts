// What the price book has beside what a refused call named: the name that was most likely meant, or the model whose rows an alias
// stands for. Its own file because a refusal names what was asked for alone, and only one that is shown to a person is worth a look.
import { PriceService } from '../../../gen/budgetd/v1/price_pb.ts';
import { CallError, type PriceHint } from '../call-error.ts';
import type { Connection } from '../connection.ts';
import { nearestWord } from '../nearest-word.ts';
import { readNames } from './known-names.ts';
import { unitRows } from './unit-rows.ts';

/** The error with what the book says of it; of anything but a call without a price the error as it is. */
export async function withPriceHint(connection: Connection, error: unknown): Promise<unknown> {
  // A settlement is priced by what its reservation has pinned.
  if (!(error instanceof CallError) || error.failure.reason !== 'PRICE_UNKNOWN' || error.method === 'Settle')
    return error;
  try {
    return error.with({ priceHint: await priceHint(connection, error.failure.metadata) });
  } catch (unread) {
    // The refusal is what there is to tell; without the book it is told as it came.
    if (unread instanceof CallError) return error;
    throw unread;
  }
}

async function priceHint(connection: Connection, metadata: Readonly<Record<string, string>>): Promise<PriceHint> {
  const { provider = '', model = '', unit, why } = metadata;
  if (unit !== undefined) return { meant: (await unitRows(connection, unit)).inAnotherCase };
  if (model === '' || why === 'book_unreadable') return {};
  const name = `${provider}/${model}`;
  if (why === 'no_row') {
    return {
      meant: nearestWord(
        name,
        (await readNames(connection)).map((each) => `${each.provider}/${each.model}`),
      ),
    };
  }
  const { rows } = await connection.call(PriceService.method.listPrices, { provider, model, pageSize: 1 });
  return { rowsOf: rows[0] && `${rows[0].provider}/${rows[0].model}` };
}
