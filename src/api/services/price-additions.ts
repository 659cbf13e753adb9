// The methods of PriceService that add to the book. Each is idempotent by what it adds, and judged in the order of every call: fields,
// permission, then what is in the book. Only what adds to it is judged by the book: a repeat is answered with what is there.
import type { PriceService } from '../../gen/budgetd/v1/price_pb.ts';
import type { FieldProblem } from '../../kernel/refusal.ts';
import type { Coordinator } from '../../lane/coordinator.ts';
import {
  aliasAddition,
  aliasesOfName,
  gapOfAddition,
  gapOfRetirement,
  isDollars,
  type PriceGap,
  retirementAddition,
  rowAddition,
  unitRowAddition,
} from '../../lane/price-additions.ts';
import type { PriceChange, PriceSnapshot } from '../../lane/prices.ts';
import { ratesOnTop } from '../../pricing/cost.ts';
import type { PriceAlias } from '../../pricing/price-book.ts';
import type { HashedPriceRow } from '../../pricing/price-row.ts';
import type { SetFlaw } from '../../pricing/price-set.ts';
import type { UnitRow } from '../../pricing/unit-row.ts';
import { type ApiRefusal, invalidFields, isRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { judgePrices } from '../auth/permissions.ts';
import { priceAliasMessage, priceRowMessage, unitPriceMessage } from '../encode/price-book-message.ts';
import {
  type Addition,
  checkPriceAlias,
  checkPriceRow,
  checkRetirement,
  checkUnitPrice,
} from '../validate/price-additions.ts';
import type { Problems } from '../validate/problems.ts';
import type { UnaryHandlers } from './handler.ts';

type Handlers = Pick<UnaryHandlers<typeof PriceService>, 'addPrice' | 'addPriceAlias' | 'addUnitPrice' | 'retirePrice'>;

/** Their handlers. */
export function createPriceAdditions({ prices, nowMs }: Pick<Coordinator, 'prices' | 'nowMs'>): Handlers {
  /** Fields first, then permission; the fields once more by the very time that the addition has. */
  const add = async <M, C, T>(
    actor: Actor,
    [field, stated]: readonly [string, M | undefined],
    check: (problems: Problems, stated: M, addition: Addition) => C,
    make: (now: PriceSnapshot, checked: C) => PriceChange<T> | ApiRefusal,
  ): Promise<T | ApiRefusal> => {
    const checked = (at: number): C | ApiRefusal => {
      const problems: Problems = [];
      if (stated === undefined) return invalidFields([{ field, description: 'is required' }]);
      const value = check(problems, stated, { actor: actor.name, nowMs: at });
      return problems.length > 0 ? invalidFields(problems) : value;
    };
    const early = checked(nowMs());
    if (isRefused(early)) return early;
    const forbidden = judgePrices(actor);
    if (forbidden !== undefined) return forbidden;
    return prices.change((now, at) => {
      const value = checked(at);
      return isRefused(value) ? value : make(now, value);
    });
  };
  return {
    addPrice: async ({ row: stated }, { actor }) => {
      const added = await add(actor, ['row', stated], checkPriceRow, (now, checked) => {
        const { added, answer } = rowAddition(now, checked, stated?.effectiveFromTime === undefined);
        const unfit = added.rows === undefined ? undefined : rowProblem(now, answer);
        if (unfit !== undefined) return invalidFields([unfit]);
        const row = priceRowMessage(answer, now.ends.get(answer.hash));
        return { added, answer: { row, warnings: warningsOf(answer) } };
      });
      return isRefusal(added) ? added : { $typeName: 'budgetd.v1.AddPriceResponse', ...added };
    },
    addPriceAlias: async ({ alias: stated }, { actor }) => {
      const alias = await add(actor, ['alias', stated], checkPriceAlias, (now, checked) => {
        const { added, answer } = aliasAddition(now, checked);
        const unfit = added.aliases === undefined ? undefined : aliasProblem(now, checked);
        if (unfit !== undefined) return invalidFields([unfit]);
        return { added, answer: priceAliasMessage(answer) };
      });
      return isRefusal(alias) ? alias : { $typeName: 'budgetd.v1.AddPriceAliasResponse', alias };
    },
    addUnitPrice: async ({ unitPrice: stated }, { actor }) => {
      const unitPrice = await add(actor, ['unit_price', stated], checkUnitPrice, (now, checked) => {
        const { added, answer } = unitRowAddition(now, checked, stated?.effectiveFromTime === undefined);
        const unfit = added.unitRows === undefined ? undefined : unitRowProblem(now, checked);
        if (unfit !== undefined) return invalidFields([unfit]);
        return { added, answer: unitPriceMessage(answer) };
      });
      return isRefusal(unitPrice) ? unitPrice : { $typeName: 'budgetd.v1.AddUnitPriceResponse', unitPrice };
    },
    retirePrice: async (request, { actor }) => {
      const row = await add(actor, ['', request], checkRetirement, (now, end) => {
        const named = now.book.row(request.rowHash);
        if (named === undefined) return invalidFields([{ field: 'row_hash', description: 'is of no row in the book' }]);
        const { added, answer } = retirementAddition(now, named, end);
        const gap =
          added.retirements === undefined ? undefined : gapOfRetirement(now, named, { ...end, rowHash: named.hash });
        if (gap !== undefined) return invalidFields([stillNeeded(gap, end.fromMs)]);
        return { added, answer: priceRowMessage(answer.row, answer.end) };
      });
      return isRefusal(row) ? row : { $typeName: 'budgetd.v1.RetirePriceResponse', row };
    },
  };
}

function warningsOf(row: HashedPriceRow): string[] {
  if (row.mark !== 'priced') return [];
  return ratesOnTop(row).map(
    (name) =>
      `${WRITES[name]} is below input, so it counts as what storing costs: a token that is written costs input and this on top. Where that is not meant, state what a written token costs in all, at least the rate of input`,
  );
}

const WRITES = { cacheWrite5m: 'cache_write_5m', cacheWrite1h: 'cache_write_1h' } as const;

// What a check makes may be of any type, so that isRefusal would not narrow it.
function isRefused(value: unknown): value is ApiRefusal {
  return typeof value === 'object' && value !== null && isRefusal(value);
}

const FLAWS: Readonly<Record<SetFlaw, (when: string) => FieldProblem>> = {
  no_base_tier: (when) => ({
    field: 'row.above_input_tokens',
    description: `needs a row of the operator's for all sizes (0) that counts ${when}, else the model would have no price: add that first`,
  }),
  no_row_outside_bands: (when) => ({
    field: 'row.band',
    description: `needs a row of the operator's without a band, of the same above_input_tokens, that counts ${when}, else the model would have no price: add that first`,
  }),
  bands_overlap: (when) => ({
    field: 'row.band',
    description: `overlaps that of another row of the same above_input_tokens that counts ${when}: retire that first`,
  }),
};

const instantText = (ms: number): string => new Date(ms).toISOString();

// The operator's rows replace the catalogue's of the model, and what is replaced stays so: a row that is not enough by itself, or
// after which nothing comes, would take its price away, or put the catalogue's in the place of the operator's.
function rowProblem(now: PriceSnapshot, row: HashedPriceRow): FieldProblem | undefined {
  const gap = gapOfAddition(now, row);
  if (gap === undefined) return undefined;
  const { fromMs, why, isOfRow } = gap;
  if (why === 'no_row' || !isOfRow) {
    const description = `leaves the model without a price of the operator's from ${instantText(fromMs)} on, since what the row replaces stays replaced: add first what counts then`;
    return { field: 'row.effective_until_time', description };
  }
  return FLAWS[why](fromMs === row.effectiveFromMs ? 'by then' : `at ${instantText(fromMs)} too`);
}

function stillNeeded({ fromMs }: PriceGap, endMs: number): FieldProblem {
  const when = fromMs === endMs ? '' : ` from ${instantText(fromMs)} on`;
  return {
    field: 'row_hash',
    description: `is of the row that others of the model need, for all sizes or all times of day: without it the model would have no price${when}; retire those first, or add its successor`,
  };
}

// A unit row is never taken back, and a tree that counts in the one has no price by the other. One that is known already is let be.
function unitRowProblem({ records }: PriceSnapshot, { unit }: UnitRow): FieldProblem | undefined {
  const field = 'unit_price.unit';
  const known = records.unitRows.map((row) => row.unit);
  if (known.includes(unit)) return undefined;
  if (isDollars(unit)) return { field, description: 'must not be USD, in whatever case' };
  const alike = known.find((each) => each.toUpperCase() === unit.toUpperCase());
  if (alike === undefined) return undefined;
  return { field, description: `differs by case alone from ${alike}, which has a price: write ${alike}` };
}

function aliasProblem(now: PriceSnapshot, alias: PriceAlias): FieldProblem | undefined {
  const { provider, model, targetProvider = provider, form } = alias;
  if (model === undefined) {
    const description = 'is no name that an operator has added in this form: there is nothing to withdraw';
    return aliasesOfName(now, alias).length > 0 ? undefined : { field: 'alias.alias', description };
  }
  const target = now.book.resolve(targetProvider, model);
  if (target === undefined) return { field: 'alias.model', description: 'has no rows in the book' };
  if (target.provider !== targetProvider || target.model !== model) {
    const description = `is itself another name, of ${target.provider}/${target.model}`;
    return { field: 'alias.model', description };
  }
  const own = form === 'exact' ? now.book.resolve(provider, alias.alias) : undefined;
  const hasRows = own?.provider === provider && own.model === alias.alias;
  return hasRows
    ? { field: 'alias.alias', description: 'has rows of its own, which would count all the same' }
    : undefined;
}
