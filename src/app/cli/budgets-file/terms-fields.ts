// The fields of a budget's terms in the file: one line each says how it is called there and in a mask, and how it is read, written
// and compared. Its own file because a new field of the contract should be one line here and nothing elsewhere.
import { create } from '@bufbuild/protobuf';
import { PERCENT_MAX as ALERT_PERCENT_MAX } from '../../../api/validate/alert-at.ts';
import { DEPTH_MAX } from '../../../api/validate/shape.ts';
import { PERCENT_MAX, WEIGHT_MAX } from '../../../api/validate/shares.ts';
import { windowName } from '../../../api/validate/window-name.ts';
import { OnExpiry, WindowSchema } from '../../../gen/budgetd/v1/limit_pb.ts';
import {
  type AllowedModels,
  type BudgetTemplate,
  Mode,
  OnExhaustion,
  OverrunPolicy,
  type Priority,
  ServiceTierClass,
} from '../../../gen/budgetd/v1/terms_pb.ts';
import { durationFromMs, durationToMs, parseDurationMs, writeDurationMs } from '../duration.ts';
import { PRIORITIES } from '../enforcement.ts';
import { TIER_CLASSES } from '../models.ts';
import { didYouMean } from '../nearest-word.ts';
import { ON_EXPIRY } from '../options.ts';
import { formatRate, parseRate } from '../rate.ts';
import { formatWindow, parseWindow } from '../window.ts';
import { windowRule } from '../window-rule.ts';
import {
  amountOf,
  type FileValue,
  note,
  parsed,
  partOf,
  type Reading,
  readAmount,
  readFlag,
  readList,
  readMap,
  readText,
  readWhole,
  readWord,
  type WholeRange,
  writeAmount,
} from './file-value.ts';
import type { Located, LocatedEntry } from './located-yaml.ts';

/** What a budget and a template have in common, normalized: every default is said. */
export type Terms = Omit<BudgetTemplate, '$typeName'>;

/** One field. */
export interface TermsField {
  /** In the file: `kind`, or in a group `shape.max_lease`. */
  readonly key: string;
  /** In the contract, as a mask names it. */
  readonly mask: string;
  /** The value for a message; undefined where a problem was noted. `field` is where its parts are noted. */
  readonly read: (reading: Reading, node: Located, field: string) => unknown;
  /** The value for a file; undefined where it is the default. `unit` is the tree's. */
  readonly write: (value: unknown, unit: string) => FileValue | undefined;
}

function field<T>(
  key: string,
  mask: string,
  read: (reading: Reading, node: Located, field: string) => unknown,
  write: (value: T, unit: string) => FileValue | undefined,
): TermsField {
  // What is read back is what the message has at the mask's path: its type is the caller's to know.
  const writeKnown = (value: unknown, unit: string) => (value === undefined ? undefined : write(value as T, unit));
  return { key, mask, read, write: writeKnown };
}

/** Text; default empty. */
export const text = (key: string): TermsField => field(key, key, readText, (value: string) => value || undefined);

const flag = (key: string): TermsField => field(key, key, readFlag, (value: boolean) => value || undefined);

const whole = (key: string, range?: WholeRange): TermsField =>
  field(
    key,
    key,
    (reading, node) => readWhole(reading, node, range),
    (value: number) => BigInt(value),
  );

/** An amount; where unset and 0 are the same to the contract, 0 is not written. */
const amount = (key: string, options: { readonly zeroIsUnset: boolean }): TermsField =>
  field(key, `${key}_micros`, readAmount, (micros: bigint, unit) =>
    micros === 0n && options.zeroIsUnset ? undefined : writeAmount(micros, unit),
  );

const span = (key: string): TermsField =>
  field(key, key, readSpan, (value: Parameters<typeof durationToMs>[0]) => writeDurationMs(durationToMs(value)));

/** One of some words; the default is not written. */
const word = (key: string, words: Readonly<Record<string, number>>, fallback: number): TermsField =>
  field(
    key,
    key,
    (reading, node) => readWord(reading, node, words),
    (value: number) => (value === fallback ? undefined : wordOf(words, value)),
  );

function wordOf(words: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(words).find((each) => words[each] === value) ?? `number ${value}`;
}

const TEMPLATE = 'child_template';

/** Every field, in the order in which they are written. */
export const TERMS_FIELDS: readonly TermsField[] = [
  text('kind'),
  flag('uncapped'),
  field('limits', 'limits', readLimits, writeLimits),
  field('rates', 'rates', readRates, writeRates),
  amount('shape.max_reservation', { zeroIsUnset: false }),
  whole('shape.max_active'),
  whole('shape.max_children'),
  whole('shape.max_depth', { max: DEPTH_MAX }),
  span('shape.max_lease'),
  whole('shape.max_renewals'),
  span('shape.close_after'),
  word('on_expiry', ON_EXPIRY, OnExpiry.RELEASE),
  word('overrun', { record: OverrunPolicy.RECORD, reject: OverrunPolicy.REJECT }, OverrunPolicy.RECORD),
  word(
    'enforcement.mode',
    { observe: Mode.OBSERVE, warn: Mode.WARN, soft: Mode.SOFT, enforce: Mode.ENFORCE },
    Mode.ENFORCE,
  ),
  amount('enforcement.tolerance', { zeroIsUnset: true }),
  word('enforcement.on_exhaustion', { block: OnExhaustion.BLOCK, degrade: OnExhaustion.DEGRADE }, OnExhaustion.BLOCK),
  field('enforcement.kept', 'enforcement.kept', readKept, writeKept),
  field('alert_at', 'alert_at', readPercents, writePercents),
  field(
    'weight',
    'weight',
    // To the contract 0 is nothing said, and would be 1.
    (reading, node) => readWhole(reading, node, { min: 1, max: WEIGHT_MAX }),
    (weight: number) => (weight <= 1 ? undefined : BigInt(weight)),
  ),
  amount('floor', { zeroIsUnset: true }),
  whole('share_percent', { min: 1, max: PERCENT_MAX }),
  field('models.allowed', 'models.allowed_models', readModels, writeModels),
  word('models.max_tier', TIER_CLASSES, ServiceTierClass.UNSPECIFIED),
  field(TEMPLATE, TEMPLATE, readTemplate, writeTemplate),
];

interface ReadOptions {
  /** In front of the paths that positions are noted under. */
  readonly prefix?: string;
  /** Keys that stand beside the fields and are read elsewhere. */
  readonly otherKeys?: readonly string[];
}

/** Reads fields out of the entries of a map into the values of a message. Keys that are none of them are problems. */
export function readFields(
  reading: Reading,
  entries: readonly LocatedEntry[],
  fields: readonly TermsField[],
  { prefix = '', otherKeys = [] }: ReadOptions = {},
): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  const readInto = (group: string, inner: readonly LocatedEntry[]): void => {
    for (const { key, at, value } of inner) {
      const name = group + key;
      // A dot is how groups are named here, not in the file.
      const known = key.includes('.') ? undefined : fields.find((each) => each.key === name);
      if (known !== undefined) {
        const path = prefix + known.mask;
        reading.positions.set(path, at);
        const countBefore = reading.problems.count;
        put(message, known.mask, known.read({ ...reading, subject: prefix + known.key }, value, path));
        // A template says it of each of its fields, a list of limits of each of them.
        const isSaidOfParts = known.key === TEMPLATE || [...reading.unread].some((part) => part.startsWith(`${path}[`));
        if (reading.problems.count > countBefore && !isSaidOfParts) reading.unread.add(path);
      } else if (group === '' && fields.some((each) => each.key.startsWith(`${key}.`))) {
        reading.positions.set(prefix + key, at);
        readInto(`${key}.`, readMap({ ...reading, subject: prefix + key }, value));
      } else if (group !== '' || !otherKeys.includes(key)) {
        reading.problems.add(at, unknownKey(group, key, [...fields, ...otherKeys.map((other) => ({ key: other }))]));
      }
    }
  };
  readInto('', entries);
  return message;
}

/** What is wrong with a key that nobody knows. */
export function unknownKey(group: string, key: string, fields: readonly { readonly key: string }[]): string {
  const inGroup = fields.filter((each) => each.key.startsWith(group)).map((each) => each.key.slice(group.length));
  const names = [...new Set(inGroup.map((name) => name.split('.')[0] ?? ''))];
  const where = group === '' ? '' : ` in ${group.slice(0, -1)}`;
  return `unknown key ${key}${where}${didYouMean(key, names)}; there are: ${names.join(', ')}`;
}

/** One field as it is written to a file; undefined where it is the default. */
export function writeField(known: TermsField, message: object, unit: string): FileValue | undefined {
  return known.write(get(message, known.mask), unit);
}

/** All fields that are not the default, those of a group together. */
export function writeFields(
  fields: readonly TermsField[],
  message: object,
  unit: string,
): Readonly<Record<string, FileValue>> {
  const written: Record<string, FileValue> = {};
  for (const known of fields) {
    const value = writeField(known, message, unit);
    if (value === undefined) continue;
    const [group = '', name] = known.key.split('.');
    if (name === undefined) written[group] = value;
    else written[group] = { ...(written[group] as Record<string, FileValue> | undefined), [name]: value };
  }
  return written;
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function put(message: Record<string, unknown>, mask: string, value: unknown): void {
  const [first = '', second] = mask.split('.').map(camelCase);
  if (second === undefined) message[first] = value;
  else message[first] = { ...(message[first] as object | undefined), [second]: value };
}

function get(message: object, mask: string): unknown {
  let value: unknown = message;
  for (const name of mask.split('.')) value = (value as Record<string, unknown> | undefined)?.[camelCase(name)];
  return value;
}

function readSpan(reading: Reading, node: Located): unknown {
  if (node.kind !== 'scalar' || typeof node.value !== 'string') {
    note(reading, node.at, 'must be a length of time: write 60s, 5m or 1h30m');
    return undefined;
  }
  const typed = node.value;
  const ms = parsed(reading, node.at, () => parseDurationMs(typed));
  return ms === undefined ? undefined : durationFromMs(ms);
}

const LIMIT_KEYS = [{ key: 'name' }, { key: 'amount' }, { key: 'window' }];

function readLimits(all: Reading, node: Located, path: string): unknown {
  const items = readList(all, node);
  const unread = new Set<number>();
  const limits = items.map((item, index) => {
    const countBefore = all.problems.count;
    all.positions.set(`${path}[${index}]`, item.at);
    const limit = readLimit(partOf(all, `[${index}]`), item);
    if (all.problems.count > countBefore) unread.add(index);
    return limit;
  });
  // One that could not be read hides nothing of the others but what came of comparing names with it.
  if (unread.size > 0) {
    for (const index of items.keys()) all.unread.add(`${path}[${index}]${unread.has(index) ? '' : '.name'}`);
  }
  return limits;
}

function readLimit(reading: Reading, item: Located): unknown {
  if (item.kind !== 'map') return limitOfText(reading, item);
  const values = new Map(item.entries.map((entry) => [entry.key, entry.value]));
  for (const { key, at } of item.entries) {
    if (LIMIT_KEYS.every((known) => known.key !== key)) reading.problems.add(at, unknownKey('', key, LIMIT_KEYS));
  }
  const [name, micros, window] = [values.get('name'), values.get('amount'), values.get('window')];
  if (micros === undefined) note(reading, item.at, 'must have an amount');
  return {
    name: name && readText(reading, name),
    amountMicros: micros && readAmount(reading, micros),
    window: window && windowOfText(reading, window),
  };
}

function windowOfText(reading: Reading, node: Located): unknown {
  const typed = readText(reading, node);
  return typed === undefined ? undefined : parsed(reading, node.at, () => parseWindow(typed));
}

// As `--limit` takes it: a name has no "=", an amount no "/"; whatever follows is the window, with the "/" of its zone.
function limitOfText(reading: Reading, node: Located): unknown {
  if (node.kind === 'scalar' && typeof node.value !== 'string') return { amountMicros: readAmount(reading, node) };
  const typed = readText(reading, node);
  if (typed === undefined) return {};
  const equals = typed.indexOf('=');
  const rest = typed.slice(equals + 1);
  const slash = rest.indexOf('/');
  if (equals === 0) note(reading, node.at, 'must be amount, amount/window or name=amount/window');
  return {
    name: typed.slice(0, Math.max(0, equals)),
    amountMicros: amountOf(reading, node.at, slash === -1 ? rest : rest.slice(0, slash)),
    window: slash === -1 ? undefined : parsed(reading, node.at, () => parseWindow(rest.slice(slash + 1))),
  };
}

function writeLimits(limits: Terms['limits'], unit: string): FileValue | undefined {
  const texts = limits.map(({ name, window, amountMicros = 0n }) => {
    const own = windowName(windowRule(window ?? create(WindowSchema)));
    const place = formatWindow(window);
    const named = name === '' || name === own ? '' : `${name}=`;
    return `${named}${writeAmount(amountMicros, unit)}${place === 'lifetime' ? '' : `/${place}`}`;
  });
  return texts.length === 0 ? undefined : texts;
}

function readRates(all: Reading, node: Located, path: string): unknown {
  return readList(all, node).map((item, index) => {
    const reading = partOf(all, `[${index}]`);
    reading.positions.set(`${path}[${index}]`, item.at);
    const typed = readText(reading, item);
    return (typed === undefined ? undefined : parsed(reading, item.at, () => parseRate(typed))) ?? {};
  });
}

function writeRates(rates: Terms['rates']): FileValue | undefined {
  return rates.length === 0 ? undefined : rates.map(formatRate);
}

function readKept(all: Reading, node: Located, path: string): unknown {
  return readMap(all, node).map(({ key, at, value }, index) => {
    const reading = partOf(all, `.${key}`);
    reading.positions.set(`${path}[${index}]`, at);
    const priority = readWord<Priority>(reading, { kind: 'scalar', at, value: key }, PRIORITIES);
    return { priority, micros: readAmount(reading, value) };
  });
}

function writeKept(kept: NonNullable<Terms['enforcement']>['kept'], unit: string): FileValue | undefined {
  const byUrgency = kept.toSorted((a, b) => a.priority - b.priority);
  const entries = byUrgency.map((each) => [wordOf(PRIORITIES, each.priority), writeAmount(each.micros, unit)]);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function readPercents(reading: Reading, node: Located, path: string): unknown {
  const percent = readList(reading, node).map((item, index) => {
    reading.positions.set(`${path}.percent[${index}]`, item.at);
    return readWhole(partOf(reading, `[${index}]`), item, { min: 1, max: ALERT_PERCENT_MAX }) ?? 0;
  });
  return { percent };
}

const PERCENTS_DEFAULT = '80,100';

function writePercents({ percent }: NonNullable<Terms['alertAt']>): FileValue | undefined {
  return percent.join() === PERCENTS_DEFAULT ? undefined : percent.map(BigInt);
}

function readModels(reading: Reading, node: Located, path: string): unknown {
  const models = readList(reading, node).map((item, index) => {
    reading.positions.set(`${path}.models[${index}]`, item.at);
    return readText(partOf(reading, `[${index}]`), item) ?? '';
  });
  return { models };
}

function writeModels({ models }: AllowedModels): FileValue {
  return models;
}

function readTemplate(reading: Reading, node: Located, path: string): unknown {
  return readFields(reading, readMap(reading, node), TERMS_FIELDS, { prefix: `${path}.` });
}

function writeTemplate(template: Terms, unit: string): FileValue | undefined {
  return writeFields(TERMS_FIELDS, template, unit);
}
