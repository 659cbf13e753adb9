// What a reservation keeps of prices straight to bytes, as write-reply writes the rest of it: the same messages as
// encode/price-message makes. Kept equal by the same property test.
import type { PricedModel, PricedUsage, PricePins, PriceRecord, UsageBuckets } from '../../kernel/price.ts';
import { COST_SOURCES, SEARCH_KINDS } from '../encode/price-message.ts';
import { ReverseWriter } from './reverse-writer.ts';

const varint = (field: number): number => field << 3;
const bytes = (field: number): number => (field << 3) | 2;

/** Field numbers of CallPrice. */
const PRICE = {
  pins: bytes(1),
  maxInputTokens: varint(2),
  maxOutputTokens: varint(3),
  outputIsDefault: varint(4),
  choices: varint(5),
};

/** Field numbers of PricePins. */
const PINS = {
  rowHashes: bytes(1),
  aliases: bytes(2),
  unitRowHash: bytes(3),
  serviceTier: bytes(4),
  inferenceGeo: bytes(5),
  cacheTtl: bytes(6),
  searches: bytes(7),
};

/** Field numbers of PinnedAlias. */
const ALIAS = { name: bytes(1), target: bytes(2) };

/** Field numbers of ModelName. */
const NAME = { provider: bytes(1), model: bytes(2) };

/** Field numbers of PricedUsage. */
const PRICED = { served: bytes(1), rowHash: bytes(2), source: varint(3), micros: varint(4), counts: bytes(5) };

/** Field numbers of UsageCounts. */
const COUNTS = {
  uncachedInput: varint(1),
  cacheRead: varint(2),
  cacheWrite5m: varint(3),
  cacheWrite1h: varint(4),
  audioInput: varint(5),
  audioCacheRead: varint(6),
  output: varint(7),
  audioOutput: varint(8),
  webSearches: varint(9),
  fileSearches: varint(10),
};

/** Of the pins of a model in a few tiers; more grow. */
const PINS_BYTES = 256;

/** Writes a CallPrice as a field. */
export function writePrice(writer: ReverseWriter, tag: number, price: PriceRecord): void {
  const end = writer.length;
  writer.number(PRICE.choices, price.choices);
  writer.flag(PRICE.outputIsDefault, price.outputIsDefault);
  writer.number(PRICE.maxOutputTokens, price.outputTokensMax);
  writer.micros(PRICE.maxInputTokens, price.inputTokensMax);
  const pinsEnd = writer.length;
  writer.raw(pinsBytes(price.pins));
  writer.close(PRICE.pins, pinsEnd);
  writer.close(tag, end);
}

// Most reservations of a model share their pins.
const knownPins = new WeakMap<PricePins, Buffer>();

function pinsBytes(pins: PricePins): Buffer {
  const known = knownPins.get(pins);
  if (known !== undefined) return known;
  const writer = new ReverseWriter(PINS_BYTES);
  writePins(writer, pins);
  const bytes = writer.take();
  knownPins.set(pins, bytes);
  return bytes;
}

/** Writes a PricedUsage as a field. */
export function writePriced(writer: ReverseWriter, tag: number, priced: PricedUsage): void {
  const end = writer.length;
  writeCounts(writer, priced.buckets);
  writer.close(PRICED.counts, end);
  writer.micros(PRICED.micros, priced.micros);
  writer.number(PRICED.source, COST_SOURCES[priced.source]);
  writer.text(PRICED.rowHash, priced.rowHash);
  writeName(writer, PRICED.served, priced);
  writer.close(tag, end);
}

function writeCounts(writer: ReverseWriter, counts: UsageBuckets): void {
  writer.micros(COUNTS.fileSearches, counts.fileSearches);
  writer.micros(COUNTS.webSearches, counts.webSearches);
  writer.micros(COUNTS.audioOutput, counts.audioOutput);
  writer.micros(COUNTS.output, counts.output);
  writer.micros(COUNTS.audioCacheRead, counts.audioCacheRead);
  writer.micros(COUNTS.audioInput, counts.audioInput);
  writer.micros(COUNTS.cacheWrite1h, counts.cacheWrite1h);
  writer.micros(COUNTS.cacheWrite5m, counts.cacheWrite5m);
  writer.micros(COUNTS.cacheRead, counts.cacheRead);
  writer.micros(COUNTS.uncachedInput, counts.uncachedInput);
}

function writePins(writer: ReverseWriter, pins: PricePins): void {
  if (pins.searches !== undefined) {
    const end = writer.length;
    // Packed; each kind is one byte.
    writer.raw(Uint8Array.from(pins.searches, (kind) => SEARCH_KINDS[kind]));
    writer.close(PINS.searches, end);
  }
  writer.text(PINS.cacheTtl, pins.cacheTtl ?? '');
  writer.text(PINS.inferenceGeo, pins.inferenceGeo ?? '');
  writer.text(PINS.serviceTier, pins.serviceTier ?? '');
  writer.text(PINS.unitRowHash, pins.unitRowHash ?? '');
  for (const alias of pins.aliases?.toReversed() ?? []) {
    const aliasEnd = writer.length;
    writeName(writer, ALIAS.target, alias.target);
    writeName(writer, ALIAS.name, alias);
    writer.close(PINS.aliases, aliasEnd);
  }
  for (let i = pins.rowHashes.length - 1; i >= 0; i--) writer.textSet(PINS.rowHashes, pins.rowHashes[i] ?? '');
}

function writeName(writer: ReverseWriter, tag: number, { provider, model }: PricedModel): void {
  const end = writer.length;
  writer.text(NAME.model, model);
  writer.text(NAME.provider, provider);
  writer.close(tag, end);
}
