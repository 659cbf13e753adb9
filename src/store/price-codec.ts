// What a reservation keeps of prices as JSON: the rows that a model call was priced by, what that pays for, and what usage was
// charged at. The same text in the journal and in projected rows. What is rare is left out.
import type { PinnedAlias, PricedModel, PricedUsage, PricePins, PriceRecord, UsageBuckets } from '../kernel/price.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, objectOf, quote, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

type Raw = Readonly<Record<string, unknown>>;

/** The counts of UsageBuckets in the order of the text. */
const BUCKETS = [
  'uncachedInput',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'audioCacheRead',
  'output',
  'audioOutput',
  'webSearches',
  'fileSearches',
] as const satisfies readonly (keyof UsageBuckets)[];

/** Names: rows and unitRow hashes, aliases (name, then what it stood for), tier, geo and ttl as asked, searches, in and out tokens. */
export function priceText({ pins, inputTokensMax, outputTokensMax, outputIsDefault, choices }: PriceRecord): string {
  return (
    `{${pinsText(pins)},"in":${amountText(inputTokensMax)},"out":${integerText(outputTokensMax)}` +
    (outputIsDefault ? ',"default":true' : '') +
    (choices === 1 ? '}' : `,"choices":${integerText(choices)}}`)
  );
}

// Most reservations of a model share their pins.
const pinsTexts = new WeakMap<PricePins, string>();

function pinsText(pins: PricePins): string {
  const known = pinsTexts.get(pins);
  if (known !== undefined) return known;
  const { rowHashes, aliases = [], unitRowHash, serviceTier, inferenceGeo, cacheTtl, searches } = pins;
  const text =
    `"rows":[${rowHashes.map(quote).join(',')}]` +
    (aliases.length === 0 ? '' : `,"aliases":[${aliases.map(aliasText).join(',')}]`) +
    (unitRowHash === undefined ? '' : `,"unitRow":${quote(unitRowHash)}`) +
    (serviceTier === undefined ? '' : `,"tier":${quote(serviceTier)}`) +
    (inferenceGeo === undefined ? '' : `,"geo":${quote(inferenceGeo)}`) +
    (cacheTtl === undefined ? '' : `,"ttl":${quote(cacheTtl)}`) +
    (searches === undefined ? '' : `,"searches":[${searches.map(quote).join(',')}]`);
  pinsTexts.set(pins, text);
  return text;
}

/** Reads what priceText wrote. Throws CorruptJournalError for anything else. */
export function priceOf(value: unknown): PriceRecord {
  const raw = objectOf(value);
  return {
    pins: pinsOf(raw),
    inputTokensMax: amountOf(raw['in']),
    outputTokensMax: integerOf(raw['out']),
    outputIsDefault: raw['default'] === true,
    choices: raw['choices'] === undefined ? 1 : integerOf(raw['choices']),
  };
}

/** Names: model and row that served, source, counts in the order of BUCKETS. */
export function pricedText({ provider, model, rowHash, source, buckets: b, micros }: PricedUsage): string {
  // Count by count, without a list of them in between.
  return (
    `${servedText(rowHash, provider, model)},"source":"${source}",` +
    `"counts":[${amountText(b.uncachedInput)},${amountText(b.cacheRead)},` +
    `${fourTexts(b.cacheWrite5m, b.cacheWrite1h, b.audioInput, b.audioCacheRead)},${amountText(b.output)},` +
    `${amountText(b.audioOutput)},${amountText(b.webSearches)},${amountText(b.fileSearches)}],` +
    `"micros":${amountText(micros)}}`
  );
}

// Nearly all calls have none of these.
function fourTexts(a: bigint, b: bigint, c: bigint, d: bigint): string {
  if (a === 0n && b === 0n && c === 0n && d === 0n) return '0,0,0,0';
  return `${amountText(a)},${amountText(b)},${amountText(c)},${amountText(d)}`;
}

function servedText(rowHash: string, provider: string, model: string): string {
  return `{"model":[${quote(provider)},${quote(model)}],"row":${quote(rowHash)}`;
}

/** Reads what pricedText wrote. Throws CorruptJournalError for anything else. */
export function pricedOf(value: unknown): PricedUsage {
  const raw = objectOf(value);
  const [provider, model] = arrayOf(raw['model'], 2);
  const counts = arrayOf(raw['counts'], BUCKETS.length).map(amountOf);
  return {
    ...modelOf(provider, model),
    rowHash: stringOf(raw['row']),
    source: sourceOf(raw['source']),
    buckets: Object.fromEntries(BUCKETS.map((name, at) => [name, counts[at]])) as unknown as UsageBuckets,
    micros: amountOf(raw['micros']),
  };
}

function pinsOf(raw: Raw): PricePins {
  return {
    rowHashes: arrayOf(raw['rows']).map(stringOf),
    ...(raw['aliases'] !== undefined && { aliases: arrayOf(raw['aliases']).map(aliasOf) }),
    ...(raw['unitRow'] !== undefined && { unitRowHash: stringOf(raw['unitRow']) }),
    ...(raw['tier'] !== undefined && { serviceTier: stringOf(raw['tier']) }),
    ...(raw['geo'] !== undefined && { inferenceGeo: stringOf(raw['geo']) }),
    ...(raw['ttl'] !== undefined && { cacheTtl: stringOf(raw['ttl']) }),
    ...(raw['searches'] !== undefined && { searches: arrayOf(raw['searches']).map(searchOf) }),
  };
}

const aliasText = ({ provider, model, target }: PinnedAlias): string =>
  `[${quote(provider)},${quote(model)},${quote(target.provider)},${quote(target.model)}]`;

function aliasOf(value: unknown): PinnedAlias {
  const [provider, model, targetProvider, targetModel] = arrayOf(value, 4);
  return { ...modelOf(provider, model), target: modelOf(targetProvider, targetModel) };
}

const modelOf = (provider: unknown, model: unknown): PricedModel => ({
  provider: stringOf(provider),
  model: stringOf(model),
});

function searchOf(value: unknown): NonNullable<PricePins['searches']>[number] {
  if (value === 'web_search' || value === 'file_search') return value;
  throw new CorruptJournalError(`not a kind of search: ${JSON.stringify(value)}`);
}

function sourceOf(value: unknown): PricedUsage['source'] {
  if (value === 'row' || value === 'reported') return value;
  throw new CorruptJournalError(`not a source of a cost: ${JSON.stringify(value)}`);
}
