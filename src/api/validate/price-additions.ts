// Additions to the price book as requests state them. What makes a row valid is pricing's to say; this file only gives its problems
// the names that the request's fields have.
import {
  type PriceAlias as AliasMessage,
  PriceMark as MarkValue,
  PriceAliasForm,
  type RetirePriceRequest,
  type PriceRow as RowMessage,
  type UnitPrice,
} from '../../gen/budgetd/v1/price_pb.ts';
import { type PriceAlias, priceAliasProblems, type Retirement } from '../../pricing/price-book.ts';
import {
  FEE_NAMES,
  type Fees,
  type FieldProblem,
  type PriceMark,
  type PriceRow,
  priceRowProblems,
  RATE_NAMES,
  type Rates,
  type TimeBand,
} from '../../pricing/price-row.ts';
import { type UnitRow, unitRowProblems } from '../../pricing/unit-row.ts';
import { unitProblem } from './budget-fields.ts';
import { checkDuration, type DurationRange } from './durations.ts';
import { checkInstant } from './instants.ts';
import { wireName } from './model-call.ts';
import type { Problems } from './problems.ts';
import { textProblem } from './text.ts';

/** Longest source, in bytes, as pricing has it in characters. */
const SOURCE_BYTES_MAX = 500;
const DAY_MS = 86_400_000;
const TIME_OF_DAY: DurationRange = { minMs: 0, maxMs: DAY_MS - 1, stepMs: 1, range: '0 s to below 24 h' };

const MARKS: ReadonlyMap<number, PriceMark> = new Map([
  [MarkValue.UNSPECIFIED, 'priced'],
  [MarkValue.PRICED, 'priced'],
  [MarkValue.FREE, 'free'],
  [MarkValue.SEAT, 'seat'],
]);

const FORMS: ReadonlyMap<number, PriceAlias['form']> = new Map([
  [PriceAliasForm.UNSPECIFIED, 'exact'],
  [PriceAliasForm.EXACT, 'exact'],
  [PriceAliasForm.DATED, 'dated'],
  [PriceAliasForm.DATED_COMPACT, 'dated_compact'],
]);

/** Who adds, and when. */
export interface Addition {
  readonly actor: string;
  readonly nowMs: number;
}

/** A row, counting from now on where it says no time. */
export function checkPriceRow(problems: Problems, stated: RowMessage, { actor, nowMs }: Addition): PriceRow {
  const field = 'row';
  refuseOutputOnly(problems, field, {
    row_hash: stated.rowHash !== '',
    origin: stated.origin !== 0,
    flags: stated.flags.length > 0,
    added_by: stated.addedBy !== '',
    add_time: stated.addTime !== undefined,
    retire_time: stated.retireTime !== undefined,
    retired_by: stated.retiredBy !== '',
  });
  const mark = MARKS.get(stated.mark);
  if (mark === undefined) problems.push({ field: `${field}.mark`, description: `has no value ${stated.mark}` });
  if (stated.rates?.input === undefined) {
    problems.push({ field: `${field}.rates.input`, description: 'is required' });
  }
  const untilMs = checkInstant(problems, `${field}.effective_until_time`, stated.effectiveUntilTime);
  const band = stated.band && bandOf(problems, `${field}.band`, stated.band);
  const row: PriceRow = {
    provider: stated.provider,
    model: stated.model,
    effectiveFromMs: checkInstant(problems, `${field}.effective_from_time`, stated.effectiveFromTime) ?? nowMs,
    ...(untilMs === undefined ? {} : { effectiveUntilMs: untilMs }),
    aboveInputTokens: Number(stated.aboveInputTokens),
    ...(band === undefined ? {} : { band }),
    rates: { input: 0n, ...(given(RATE_NAMES, stated.rates) as Partial<Rates>) },
    fees: given(FEE_NAMES, stated.fees) as Fees,
    mark: mark ?? 'priced',
    unit: 'USD',
    source: stated.source,
    addedBy: actor,
    addedMs: nowMs,
    origin: 'operator',
    flags: [],
  };
  note(problems, field, priceRowProblems(row), stated.source);
  return row;
}

/** A name. Whether its model has rows is not looked at. */
export function checkPriceAlias(problems: Problems, stated: AliasMessage, { actor, nowMs }: Addition): PriceAlias {
  const field = 'alias';
  refuseOutputOnly(problems, field, {
    origin: stated.origin !== 0,
    added_by: stated.addedBy !== '',
    add_time: stated.addTime !== undefined,
  });
  const form = FORMS.get(stated.form);
  if (form === undefined) problems.push({ field: `${field}.form`, description: `has no value ${stated.form}` });
  const { provider, alias: name, model, targetProvider, withdrawn } = stated;
  if (withdrawn && model !== '')
    problems.push({ field: `${field}.model`, description: 'must be unset in a withdrawal' });
  if (withdrawn && targetProvider !== '') {
    problems.push({ field: `${field}.target_provider`, description: 'must be unset in a withdrawal' });
  }
  const isElsewhere = targetProvider !== '' && targetProvider !== provider;
  const alias: PriceAlias = {
    provider,
    alias: name,
    form: form ?? 'exact',
    ...(withdrawn ? {} : { model }),
    ...(isElsewhere && !withdrawn ? { targetProvider } : {}),
    origin: 'operator',
    addedBy: actor,
    addedMs: nowMs,
  };
  note(problems, field, priceAliasProblems(alias), undefined);
  return alias;
}

/** What a unit is worth, from now on where it says no time. Whether it is another by case alone is not looked at. */
export function checkUnitPrice(problems: Problems, stated: UnitPrice, { actor, nowMs }: Addition): UnitRow {
  const field = 'unit_price';
  refuseOutputOnly(problems, field, {
    row_hash: stated.rowHash !== '',
    added_by: stated.addedBy !== '',
    add_time: stated.addTime !== undefined,
  });
  const isUnit = unitProblem(stated.unit) === undefined && stated.unit !== 'USD';
  if (!isUnit) {
    const description = 'must have 1 to 16 letters of [A-Za-z], and not be USD, in whatever case';
    problems.push({ field: `${field}.unit`, description });
  }
  const row: UnitRow = {
    unit: isUnit ? stated.unit : 'INR',
    effectiveFromMs: checkInstant(problems, `${field}.effective_from_time`, stated.effectiveFromTime) ?? nowMs,
    unitMicros: stated.unitMicros,
    usdMicros: stated.usdMicros,
    source: stated.source,
    addedBy: actor,
    addedMs: nowMs,
  };
  note(problems, field, unitRowProblems(row), stated.source);
  return row;
}

/** The end of a row, which is looked for in the book later. */
export function checkRetirement(
  problems: Problems,
  request: RetirePriceRequest,
  { actor, nowMs }: Addition,
): Omit<Retirement, 'rowHash'> {
  if (request.rowHash === '') problems.push({ field: 'row_hash', description: 'is required' });
  const fromMs = checkInstant(problems, 'from_time', request.fromTime) ?? nowMs;
  return { fromMs, origin: 'operator', retiredBy: actor, retiredMs: nowMs };
}

function bandOf(problems: Problems, field: string, stated: NonNullable<RowMessage['band']>): TimeBand {
  const timeOf = (name: 'start' | 'end'): number => {
    const time = stated[name];
    if (time !== undefined) return checkDuration(problems, `${field}.${name}`, time, TIME_OF_DAY);
    problems.push({ field: `${field}.${name}`, description: 'is required' });
    return name === 'start' ? 0 : 1;
  };
  return { startMs: timeOf('start'), endMs: timeOf('end') };
}

function given(names: readonly string[], message: object | undefined): Readonly<Record<string, bigint>> {
  const amounts: Record<string, bigint> = {};
  for (const name of names) {
    const value = (message as Readonly<Record<string, unknown>> | undefined)?.[name];
    if (typeof value === 'bigint') amounts[name] = value;
  }
  return amounts;
}

function refuseOutputOnly(problems: Problems, field: string, set: Readonly<Record<string, boolean>>): void {
  for (const [name, isSet] of Object.entries(set)) {
    if (isSet) problems.push({ field: `${field}.${name}`, description: 'is output only' });
  }
}

// Pricing measures a source in characters and knows nothing of control characters; who may add was authenticated.
function note(problems: Problems, field: string, found: readonly FieldProblem[], source: string | undefined): void {
  for (const problem of found) {
    if (problem.field === 'source') continue;
    const name = wireName(problem.field).replace(/_ms$/, '_time');
    problems.push({
      field: `${field}.${name}`,
      description: problem.text.replace('effectiveFromMs', 'effective_from_time'),
    });
  }
  const description = source === undefined ? undefined : textProblem(source, 1, SOURCE_BYTES_MAX);
  if (description !== undefined) problems.push({ field: `${field}.source`, description });
}
