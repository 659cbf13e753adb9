// Names what is wrong with a request in JSON, field by field, as the checks of its values do. Stands before the reader,
// which stops at the first fault, does not say where it is, takes any spelling of a 64-bit number that JavaScript does, and
// is handed JSON numbers that have already been rounded.
import {
  type DescField,
  type DescMessage,
  fromJson,
  fromJsonString,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import type { FieldProblem } from '../../kernel/refusal.ts';
import { clipText } from '../errors/clip-text.ts';

/** How requests in JSON are read. For people with curl: a misspelt field is an error, not a silent default. */
export const JSON_READ_OPTIONS = { ignoreUnknownFields: false };

/** What to call a fault that belongs to no field. */
const BODY = 'body';
// As in the check of labels: enough of a map's key to recognise it.
const SHOWN_KEY_BYTES = 64;
// No more fit a status, and each costs an exception: a body of 1 MiB could have 100,000.
const PROBLEMS_MAX = 64;

const SIGNED_64: readonly (ScalarType | undefined)[] = [ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64];
const UNSIGNED_64: readonly (ScalarType | undefined)[] = [ScalarType.UINT64, ScalarType.FIXED64];
const ALL_64 = [...SIGNED_64, ...UNSIGNED_64];
// Zeros may lead, as in every reader; what follows them is bounded, so that it is cheap to take.
const DECIMAL = /^-?0*[0-9]{1,20}$/;
const JSON_NUMBER = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

// What well-known types look like in JSON.
const FORMS: Readonly<Record<string, string>> = {
  'google.protobuf.Duration': 'must be a duration in seconds, as "1.5s"',
  'google.protobuf.Timestamp': 'must be a time of RFC 3339, as "2026-03-02T09:00:00Z"',
  'google.protobuf.FieldMask': 'must be names of fields, parted by commas',
};

/** What is wrong with a request's text, at most 64 things; empty: it can be read. Fields are named by their path in the proto. */
export function jsonProblems(desc: DescMessage, text: string): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  let json: JsonValue;
  try {
    json = parseExactly(text);
  } catch {
    // What its parser stumbled over is a place in the text, and often a part of it.
    return [{ field: BODY, description: 'must be JSON' }];
  }
  checkMessage(problems, '', desc, json);
  if (problems.length > 0) return problems;
  try {
    fromJsonString(desc, text, JSON_READ_OPTIONS);
  } catch (cause) {
    // What only the text shows, such as a key that comes twice.
    const words = cause instanceof Error ? cause.message : 'cannot be read';
    return [{ field: BODY, description: words.toWellFormed() }];
  }
  return problems;
}

type Reviver = (key: string, value: JsonValue, context: { readonly source?: string }) => JsonValue;
// The compiler's declarations do not know yet that a reviver is shown how a value was written.
const parseJson = JSON.parse as (text: string, reviver: Reviver) => JsonValue;

// A fraction so close to a whole number that it was rounded to it becomes NaN, which JSON has no other use for.
function parseExactly(text: string): JsonValue {
  return parseJson(text, (_key, value, { source }) =>
    typeof value === 'number' && Number.isInteger(value) && source !== undefined && !isWhole(source) ? NaN : value,
  );
}

function isWhole(source: string): boolean {
  const [, whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(source) ?? [];
  // How far the exponent moves the point beyond the last digit; negative: that many digits stay behind it.
  const shift = Number(exponent) - fraction.length;
  return shift >= 0 || /^0*$/.test((whole + fraction).slice(shift));
}

function isObject(json: JsonValue): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function checkMessage(problems: FieldProblem[], path: string, desc: DescMessage, json: JsonValue): void {
  if (!isObject(json)) {
    problems.push({ field: path === '' ? BODY : path, description: 'must be an object' });
    return;
  }
  const under = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const seen = new Set<unknown>();
  for (const [key, value] of Object.entries(json)) {
    if (problems.length >= PROBLEMS_MAX) return;
    const field = desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
    if (field === undefined) {
      problems.push({ field: under(key.toWellFormed()), description: 'is no field of this method' });
      continue;
    }
    const { oneof } = field;
    if (seen.has(field)) problems.push({ field: under(field.name), description: 'must be set once' });
    seen.add(field);
    // How JSON says that a field is not set.
    if (value === null) continue;
    if (oneof !== undefined && seen.has(oneof)) {
      const members = oneof.fields.map(({ name }) => name).join(', ');
      problems.push({ field: under(oneof.name), description: `must have only one of ${members}` });
    }
    if (oneof !== undefined) seen.add(oneof);
    checkField(problems, under(field.name), field, value);
  }
}

function checkField(problems: FieldProblem[], path: string, field: DescField, value: JsonValue): void {
  const isPlain = field.message === undefined && !ALL_64.includes(field.scalar);
  // Entry by entry only to find the one at fault: there can be many.
  if ((field.fieldKind === 'list' || field.fieldKind === 'map') && isPlain && isReadable(field, value)) return;
  if (field.fieldKind === 'list') {
    if (!Array.isArray(value)) problems.push({ field: path, description: 'must be a list' });
    else value.forEach((item, index) => void checkValue(problems, `${path}[${index}]`, field, item, [item]));
  } else if (field.fieldKind === 'map') {
    if (!isObject(value)) problems.push({ field: path, description: 'must be an object' });
    else
      for (const [key, item] of Object.entries(value)) {
        const shown = JSON.stringify(clipText(key.toWellFormed(), SHOWN_KEY_BYTES));
        checkValue(problems, `${path}[${shown}]`, field, item, { [key]: item });
      }
  } else checkValue(problems, path, field, value, value);
}

// `whole` is the field's value with nothing else in it.
function checkValue(
  problems: FieldProblem[],
  path: string,
  field: DescField,
  value: JsonValue,
  whole: JsonValue,
): void {
  if (problems.length >= PROBLEMS_MAX) return;
  const { message, scalar } = field;
  if (message !== undefined && !message.typeName.startsWith('google.protobuf.')) {
    checkMessage(problems, path, message, value);
    return;
  }
  const passes = ALL_64.includes(scalar) ? isInteger64(value, UNSIGNED_64.includes(scalar)) : isReadable(field, whole);
  if (!passes) problems.push({ field: path, description: expectation(field, value) });
}

function isInteger64(value: JsonValue, unsigned: boolean): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value) && (!unsigned || value >= 0);
  if (typeof value !== 'string' || !DECIMAL.test(value)) return false;
  const integer = BigInt(value);
  return integer === (unsigned ? BigInt.asUintN(64, integer) : BigInt.asIntN(64, integer));
}

function isReadable(field: DescField, whole: JsonValue): boolean {
  try {
    fromJson(field.parent, { [field.name]: whole }, JSON_READ_OPTIONS);
    return true;
  } catch {
    // What the reader would say names its own types; `expectation` says the same in the caller's words.
    return false;
  }
}

function expectation(field: DescField, value: JsonValue): string {
  const { message, scalar } = field;
  if (message !== undefined) return FORMS[message.typeName] ?? 'cannot be read';
  if (field.enum !== undefined) return `must be one of ${field.enum.values.map(({ name }) => name).join(', ')}`;
  if (scalar === ScalarType.STRING) return typeof value === 'string' ? 'must be valid Unicode' : 'must be a string';
  if (scalar === ScalarType.BOOL) return 'must be true or false';
  if (scalar === ScalarType.BYTES) return 'must be base64';
  if (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT) return 'must be a number';
  if (!ALL_64.includes(scalar)) return 'must be a whole number of 32 bits';
  // Of a number past this nobody can tell any more what was written.
  const isRounded = typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return isRounded ? 'is more than a JSON number holds: write it as a string' : 'must be a whole number of 64 bits';
}
