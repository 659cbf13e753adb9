// What was most likely meant by a name that the price book does not have: whoever types a model alone, or a provider with a slip, is told
// how it is written. Its own file because it reads the whole book, which only a name that is not there is worth.
import { PriceService } from '../../../gen/budgetd/v1/price_pb.ts';
import type { Connection } from '../connection.ts';
import { didYouMean } from '../nearest-word.ts';
import { NotFoundError } from '../not-found-error.ts';
import { readPages } from '../pages.ts';

/** As many providers of one model are named: the others are as good. */
const SHOWN_MAX = 5;

interface Name {
  readonly provider: string;
  readonly model: string;
}

/** The error for a provider, or a provider/model, without a price; `elsewhere` says where else to look. */
export async function noPrice(connection: Connection, typed: string, elsewhere: string): Promise<NotFoundError> {
  const names = await readNames(connection);
  const text = `no price for ${typed}`;
  const [first, ...others] = namesOf(names.filter(({ model }) => model === typed));
  if (first !== undefined) {
    const list = [first, ...others].slice(0, SHOWN_MAX).join(' or ');
    return new NotFoundError(`${text}: a model is written with its provider, ${list}`);
  }
  if (typed.includes('/')) return new NotFoundError(`${text}${didYouMean(typed, namesOf(names))} ${elsewhere}`);
  const near = didYouMean(typed, [...providersOf(names), ...names.map(({ model }) => model)]);
  const form = 'it is no provider of the book, and a model is written as provider/model';
  return new NotFoundError(`${text}: ${form}${near} ${elsewhere}`);
}

/** Throws NotFoundError where the book has neither a row nor another name of the provider: an empty list would say that it has nothing. */
export async function requireProvider(connection: Connection, provider: string): Promise<void> {
  const providers = providersOf(await readNames(connection));
  if (providers.includes(provider)) return;
  const near = didYouMean(provider, providers);
  throw new NotFoundError(`nothing in the price book is of provider ${provider}${near}`);
}

const namesOf = (names: readonly Name[]): string[] => [
  ...new Set(names.map(({ provider, model }) => `${provider}/${model}`)),
];

const providersOf = (names: readonly Name[]): string[] => [...new Set(names.map(({ provider }) => provider))];

/** All names of the book, of all times: what counts later or did once is a name all the same. */
export async function readNames(connection: Connection): Promise<readonly Name[]> {
  const { listPrices, listPriceAliases } = PriceService.method;
  const rows = await readPages<Name>(Number.MAX_SAFE_INTEGER, '', async (pageSize, pageToken) =>
    connection.call(listPrices, { pageSize, pageToken }),
  );
  const aliases = await readPages<Name>(Number.MAX_SAFE_INTEGER, '', async (pageSize, pageToken) => {
    const page = await connection.call(listPriceAliases, { pageSize, pageToken });
    const names = page.aliases.map(({ provider, alias }) => ({ provider, model: alias }));
    return { rows: names, nextPageToken: page.nextPageToken };
  });
  return [...rows.rows, ...aliases.rows];
}
