// PriceService: lists the price book, adds to it, quotes by it. What is asked is answered from the leader's book; what is added is
// answered once it is durable and in force.
import {
  type PriceAlias as AliasMessage,
  LeftOutSchema,
  PriceAliasSchema,
  PriceRowSchema,
  type PriceService,
  type PriceRow as RowMessage,
  type UnitPrice,
  UnitPriceSchema,
} from '../../gen/budgetd/v1/price_pb.ts';
import type { BudgetPath } from '../../kernel/names.ts';
import { aliasAddition, retirementAddition, rowAddition, unitRowAddition } from '../../lane/price-additions.ts';
import type { PriceSnapshot, Prices } from '../../lane/prices.ts';
import type { HashedPriceRow } from '../../pricing/price-row.ts';
import { invalidFields, isRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { judgePrices, seesBudget } from '../auth/permissions.ts';
import {
  leftOutCounts,
  leftOutMessage,
  priceAliasMessage,
  priceRowMessage,
  priceStatusMessage,
  unitPriceMessage,
} from '../encode/price-book-message.ts';
import { checkInstant } from '../validate/instants.ts';
import { checkPriceAlias, checkPriceRow, checkUnitPrice } from '../validate/price-additions.ts';
import type { Problems } from '../validate/problems.ts';
import type { Handler, UnaryHandlers } from './handler.ts';
import { pageOf } from './key-page.ts';
import { quote } from './quote.ts';
import type { ServiceDeps } from './service-deps.ts';

type Handlers = UnaryHandlers<typeof PriceService>;

/** The handlers of PriceService. */
export function createPriceService({ coordinator }: ServiceDeps): Handlers {
  const { prices } = coordinator;
  return {
    ...lists(prices),
    ...additions(prices),
    quote: guarded('read', async (request) => quote(prices, request, coordinator.nowMs())),
    getCatalogue: guarded('read', async (request, { actor }) => {
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
    }),
  };
}

/** Asks for permission first. */
function guarded<I extends object, O extends object>(access: 'read' | 'steer', handler: Handler<I, O>): Handler<I, O> {
  return async (request, context) => judgePrices(context.actor, access) ?? handler(request, context);
}

function lists(prices: Prices): Pick<Handlers, 'listPrices' | 'listPriceAliases' | 'listUnitPrices'> {
  return {
    listPrices: guarded('read', async (request) => {
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
    }),
    listPriceAliases: guarded('read', async (request) => {
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
    }),
    listUnitPrices: guarded('read', async (request) => {
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
    }),
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
  return rows.filter((row) => book.priceSet(row.provider, row.model, atMs)?.hashes.includes(row.hash));
}

const digits = (value: number): string => String(value).padStart(16, '0');

const rowKey = ({ provider, model, aboveInputTokens, effectiveFromMs, hash }: HashedPriceRow): string =>
  [provider, model, digits(aboveInputTokens), digits(effectiveFromMs), hash].join('\0');

type AdditionHandlers = Pick<Handlers, 'addPrice' | 'addPriceAlias' | 'addUnitPrice' | 'retirePrice'>;

function additions(prices: Prices): AdditionHandlers {
  return {
    addPrice: guarded('steer', async ({ row: stated }, { actor }) => {
      if (stated === undefined) return required('row');
      const row = await addRow(prices, stated, actor);
      return isRefusal(row) ? row : { $typeName: 'budgetd.v1.AddPriceResponse', row };
    }),
    addPriceAlias: guarded('steer', async ({ alias: stated }, { actor }) => {
      if (stated === undefined) return required('alias');
      const alias = await addAlias(prices, stated, actor);
      return isRefusal(alias) ? alias : { $typeName: 'budgetd.v1.AddPriceAliasResponse', alias };
    }),
    addUnitPrice: guarded('steer', async ({ unitPrice: stated }, { actor }) => {
      if (stated === undefined) return required('unit_price');
      const unitPrice = await addUnitPrice(prices, stated, actor);
      return isRefusal(unitPrice) ? unitPrice : { $typeName: 'budgetd.v1.AddUnitPriceResponse', unitPrice };
    }),
    retirePrice: guarded('steer', async (request, { actor }) => {
      const retired = await prices.change((now, nowMs) => {
        const problems: Problems = [];
        const fromMs = checkInstant(problems, 'from_time', request.fromTime) ?? nowMs;
        const row = now.book.row(request.rowHash);
        if (row === undefined) problems.push({ field: 'row_hash', description: 'must be of a row in the book' });
        if (row === undefined || problems.length > 0) return invalidFields(problems);
        const end = { fromMs, origin: 'operator', retiredBy: actor.name, retiredMs: nowMs } as const;
        return retirementAddition(now, row, end);
      });
      if (isRefusal(retired)) return retired;
      const row = priceRowMessage(retired.row, retired.end);
      return { $typeName: 'budgetd.v1.RetirePriceResponse', row };
    }),
  };
}

const required = (field: string) => invalidFields([{ field, description: 'is required' }]);

async function addRow(prices: Prices, stated: RowMessage, actor: Actor) {
  const added = await prices.change((now, nowMs) => {
    const problems: Problems = [];
    const row = checkPriceRow(problems, stated, { actor: actor.name, nowMs });
    if (problems.length > 0) return invalidFields(problems);
    const { added: parts, answer } = rowAddition(now, row, stated.effectiveFromTime === undefined);
    return { added: parts, answer: priceRowMessage(answer, now.ends.get(answer.hash)) };
  });
  return added;
}

async function addAlias(prices: Prices, stated: AliasMessage, actor: Actor) {
  return prices.change((now, nowMs) => {
    const problems: Problems = [];
    const alias = checkPriceAlias(problems, stated, { actor: actor.name, nowMs });
    if (problems.length === 0) noteUnfit(problems, now, alias);
    if (problems.length > 0) return invalidFields(problems);
    const { added, answer } = aliasAddition(now, alias);
    return { added, answer: priceAliasMessage(answer) };
  });
}

function noteUnfit(problems: Problems, { book }: PriceSnapshot, alias: ReturnType<typeof checkPriceAlias>): void {
  const { provider, model, targetProvider = provider, form } = alias;
  const target = book.resolve(targetProvider, model);
  if (target === undefined) problems.push({ field: 'alias.model', description: 'has no rows in the book' });
  else if (target.provider !== targetProvider || target.model !== model) {
    const { provider: at, model: name } = target;
    problems.push({ field: 'alias.model', description: `is itself another name: of ${at}/${name}` });
  }
  const own = form === 'exact' ? book.resolve(provider, alias.alias) : undefined;
  if (own?.provider === provider && own.model === alias.alias) {
    problems.push({ field: 'alias.alias', description: 'has rows of its own, which would count all the same' });
  }
}

async function addUnitPrice(prices: Prices, stated: UnitPrice, actor: Actor) {
  return prices.change((now, nowMs) => {
    const problems: Problems = [];
    const row = checkUnitPrice(problems, stated, { actor: actor.name, nowMs });
    if (problems.length > 0) return invalidFields(problems);
    const { added, answer } = unitRowAddition(now, row, stated.effectiveFromTime === undefined);
    return { added, answer: unitPriceMessage(answer) };
  });
}
