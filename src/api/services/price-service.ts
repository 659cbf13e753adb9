// PriceService: lists the price book, adds to it, quotes by it. What is asked is answered from the leader's book; what is added is
// answered once it is durable and in force.
import {
  LeftOutSchema,
  PriceAliasSchema,
  PriceRowSchema,
  type PriceService,
  UnitPriceSchema,
} from '../../gen/budgetd/v1/price_pb.ts';
import type { BudgetPath } from '../../kernel/names.ts';
import type { PriceSnapshot, Prices } from '../../lane/prices.ts';
import type { HashedPriceRow } from '../../pricing/price-row.ts';
import { invalidFields, isRefusal } from '../api-refusal.ts';
import { seesBudget } from '../auth/permissions.ts';
import {
  leftOutCounts,
  leftOutMessage,
  priceAliasMessage,
  priceRowMessage,
  priceStatusMessage,
  unitPriceMessage,
} from '../encode/price-book-message.ts';
import { checkInstant } from '../validate/instants.ts';
import type { Problems } from '../validate/problems.ts';
import type { UnaryHandlers } from './handler.ts';
import { pageOf } from './key-page.ts';
import { createPriceAdditions } from './price-additions.ts';
import { quote } from './quote.ts';
import type { ServiceDeps } from './service-deps.ts';

type Handlers = UnaryHandlers<typeof PriceService>;

/** The handlers of PriceService. */
export function createPriceService({ coordinator }: ServiceDeps): Handlers {
  const { prices } = coordinator;
  return {
    ...lists(prices),
    ...createPriceAdditions(coordinator),
    quote: async (request) => quote(prices, request, coordinator.nowMs()),
    getCatalogue: async (request, { actor }) => {
      const read = prices.read();
      if (isRefusal(read)) return read;
      const status = prices.status();
      const notes = status.notes.filter(({ provider }) => request.provider === '' || provider === request.provider);
      const keyed = notes.map((note, index) => ({
        key: String(index).padStart(9, '0'),
        message: leftOutMessage(note),
      }));
      const page = pageOf(LeftOutSchema, keyed, 'GetCatalogue', [request.provider], request);
      if (isRefusal(page)) return page;
      const { messages: leftOut, nextPageToken } = page;
      return {
        $typeName: 'budgetd.v1.GetCatalogueResponse',
        status: priceStatusMessage(status, (budget) => seesBudget(actor, budget as BudgetPath)),
        leftOutCounts: leftOutCounts(status.notes),
        leftOut,
        nextPageToken,
      };
    },
  };
}

// Every role may read, and all trees are priced by the one book: no caller has to be kept from it.
function lists(prices: Prices): Pick<Handlers, 'listPrices' | 'listPriceAliases' | 'listUnitPrices'> {
  return {
    listPrices: async (request) => {
      const problems: Problems = [];
      const atMs = checkInstant(problems, 'at_time', request.atTime);
      if (request.model !== '' && request.provider === '') {
        problems.push({ field: 'provider', description: 'is required beside model' });
      }
      if (problems.length > 0) return invalidFields(problems);
      const now = prices.read();
      if (isRefusal(now)) return now;
      const { provider, model } = request;
      const keyed = rowsOf(now, provider, model, atMs).map((row) => ({
        key: rowKey(row),
        message: priceRowMessage(row, now.ends.get(row.hash)),
      }));
      const page = pageOf(PriceRowSchema, keyed, 'ListPrices', [provider, model, String(atMs)], request);
      if (isRefusal(page)) return page;
      const { messages: rows, nextPageToken } = page;
      return { $typeName: 'budgetd.v1.ListPricesResponse', rows, nextPageToken };
    },
    listPriceAliases: async (request) => {
      const now = prices.read();
      if (isRefusal(now)) return now;
      const keyed = now.records.aliases
        .filter(({ provider }) => request.provider === '' || provider === request.provider)
        .map((alias) => ({
          key: [alias.provider, alias.alias, alias.form, digits(alias.addedMs), alias.origin, alias.model].join('\0'),
          message: priceAliasMessage(alias),
        }));
      const page = pageOf(PriceAliasSchema, keyed, 'ListPriceAliases', [request.provider], request);
      if (isRefusal(page)) return page;
      const { messages: aliases, nextPageToken } = page;
      return { $typeName: 'budgetd.v1.ListPriceAliasesResponse', aliases, nextPageToken };
    },
    listUnitPrices: async (request) => {
      const now = prices.read();
      if (isRefusal(now)) return now;
      const keyed = now.records.unitRows.map((row) => ({
        key: [row.unit, digits(row.effectiveFromMs), row.hash].join('\0'),
        message: unitPriceMessage(row),
      }));
      const page = pageOf(UnitPriceSchema, keyed, 'ListUnitPrices', [], request);
      if (isRefusal(page)) return page;
      const { messages: unitPrices, nextPageToken } = page;
      return { $typeName: 'budgetd.v1.ListUnitPricesResponse', unitPrices, nextPageToken };
    },
  };
}

function rowsOf(
  { book, records }: PriceSnapshot,
  provider: string,
  model: string,
  atMs: number | undefined,
): readonly HashedPriceRow[] {
  const name = model === '' ? undefined : book.resolve(provider, model);
  if (model !== '' && name === undefined) return [];
  const rows = records.rows.filter(
    (row) =>
      (name === undefined || (row.provider === name.provider && row.model === name.model)) &&
      (name !== undefined || provider === '' || row.provider === provider),
  );
  if (atMs === undefined) return rows;
  const sets = new Set(rows.map((row) => book.priceSet(row.provider, row.model, atMs)));
  const counting = new Set([...sets].flatMap((set) => set?.hashes ?? []));
  return rows.filter(({ hash }) => counting.has(hash));
}

const digits = (value: number): string => String(value).padStart(16, '0');

const rowKey = ({ provider, model, aboveInputTokens, effectiveFromMs, hash }: HashedPriceRow): string =>
  [provider, model, digits(aboveInputTokens), digits(effectiveFromMs), hash].join('\0');
