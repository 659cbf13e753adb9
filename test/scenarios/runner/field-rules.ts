// Field rules: a table of the keys that a map of the case format may have, from which both the reading and the type
// follow. A key that no rule names is an error, so that a misspelt expectation can never pass unnoticed.
import { CaseFormatError, type Located } from './located-yaml.ts';

/** Turns a located value into a T. Throws CaseFormatError where it is none. */
export type Read<T> = (value: Located) => T;

/** How one key is read. `required` decides what an absent key means: an error, or undefined. */
export interface FieldRule<T> {
  readonly key: string;
  readonly required: boolean;
  readonly read: Read<T>;
}

/** The object that a table of rules reads. */
export type FieldsOf<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends FieldRule<infer T> ? T : never;
};

/** A key that must be there. */
export function required<T>(key: string, read: Read<T>): FieldRule<T> {
  return { key, required: true, read };
}

/** A key that may be left out: undefined then. */
export function optional<T>(key: string, read: Read<T>): FieldRule<T | undefined> {
  return { key, required: false, read };
}

/** Reads a map by its rules. `what` names the thing in errors, for example "a budget". */
export function readFields<Rules extends Readonly<Record<string, FieldRule<unknown>>>>(
  value: Located,
  what: string,
  rules: Rules,
): FieldsOf<Rules> {
  if (value.kind !== 'map') throw new CaseFormatError(value.line, `${what} must be a map`);
  const known = new Map(Object.values(rules).map((rule) => [rule.key, rule]));
  for (const [key, entry] of value.entries) {
    if (known.has(key)) continue;
    throw new CaseFormatError(entry.line, `${what} has no key "${key}" (it has: ${[...known.keys()].join(', ')})`);
  }
  const fields: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const entry = value.entries.get(rule.key);
    if (entry === undefined && rule.required) {
      throw new CaseFormatError(value.line, `${what} needs the key "${rule.key}"`);
    }
    fields[name] = entry === undefined ? undefined : naming(rule.key, () => rule.read(entry.value));
  }
  // The mapped type says of each name what its own rule read; the compiler can't follow the loop.
  return fields as FieldsOf<Rules>;
}

/** Reads a list, item by item. */
export function listOf<T>(read: Read<T>): Read<readonly T[]> {
  return (value) => {
    if (value.kind !== 'list') throw new CaseFormatError(value.line, 'must be a list');
    return value.items.map(read);
  };
}

/** Reads a map whose keys are free names. */
export function mapOf<T>(read: Read<T>): Read<ReadonlyMap<string, T>> {
  return (value) => {
    if (value.kind !== 'map') throw new CaseFormatError(value.line, 'must be a map');
    return new Map([...value.entries].map(([name, entry]) => [name, naming(name, () => read(entry.value))]));
  };
}

/** Reads one of several words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Read<Word> {
  return (value) => {
    const word = words.find((candidate) => value.kind === 'scalar' && value.value === candidate);
    if (word === undefined) throw new CaseFormatError(value.line, `must be one of: ${words.join(', ')}`);
    return word;
  };
}

/** Runs a reading and puts the key in front of its complaint. */
function naming<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CaseFormatError) throw new CaseFormatError(error.line, `${key}: ${error.message}`);
    throw error;
  }
}
