// Whether anything in the price book is of a provider. Its own file because lists that are empty mean one thing for a provider that
// there is, and another for one that was mistyped.
import { PriceService } from '../../../gen/budgetd/v1/price_pb.ts';
import { NotFoundError } from '../not-found-error.ts';
import type { Session } from '../session.ts';

/** Throws NotFoundError where the book has neither a row nor another name of the provider. */
export async function requireProvider({ connection }: Session, provider: string): Promise<void> {
  const request = { provider, pageSize: 1 };
  const { rows } = await connection.call(PriceService.method.listPrices, request);
  if (rows.length > 0) return;
  const { aliases } = await connection.call(PriceService.method.listPriceAliases, request);
  if (aliases.length === 0) throw new NotFoundError(`nothing in the price book is of provider ${provider}`);
}
