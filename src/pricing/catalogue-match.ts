// The names that a catalogue gives a model: exact ones and anchored ones with a date become aliases, the rest is only counted,
// since a likeness is no price. Also which names a provider's looser patterns would take, so that nobody else's price is
// put in their place.
import { type PriceAlias, withoutDate } from './price-book.ts';
import { isFields } from './usage/report.ts';

/** The names of one model. */
export interface CatalogueNames {
  readonly names: readonly { readonly alias: string; readonly form: PriceAlias['form'] }[];
  /** How many patterns were left out. */
  readonly looseCount: number;
}

const DATED = '-\\d{4}-\\d{2}-\\d{2}$';
const DATED_COMPACT = '-\\d{8}$';

/** Characters that stand for something else in a pattern; an escaped one stands for itself. */
const SPECIAL = /[\\^$.*+?()[\]{}|]/;

/** Reads the `match` of a model. Only alternatives count: what is one of several conditions is no name. */
export function catalogueNames(match: unknown): CatalogueNames {
  const names: { alias: string; form: PriceAlias['form'] }[] = [];
  let looseCount = 0;
  for (const { kind, text } of alternatives(match)) {
    const name =
      kind === 'equals' ? { alias: text, form: 'exact' as const } : kind === 'regex' ? datedName(text) : undefined;
    if (name === undefined) looseCount += 1;
    else names.push(name);
  }
  return { names, looseCount };
}

/** Whether a `match` would take a name, as far as can be told without running its expressions; in doubt it would. */
export function wouldMatch(match: unknown, name: string): boolean {
  if (!isFields(match)) return true;
  const { or, and } = match;
  if (Array.isArray(or)) return or.some((part) => wouldMatch(part, name));
  if (Array.isArray(and)) return and.every((part) => wouldMatch(part, name));
  const lower = name.toLowerCase();
  const has = (kind: string, test: (text: string) => boolean): boolean | undefined => {
    const text = match[kind];
    return typeof text === 'string' ? test(text.toLowerCase()) : undefined;
  };
  return (
    has('equals', (text) => lower === text) ??
    has('starts_with', (text) => lower.startsWith(text)) ??
    has('ends_with', (text) => lower.endsWith(text)) ??
    has('contains', (text) => lower.includes(text)) ??
    has('regex', (pattern) => mayMatch(pattern, lower)) ??
    true
  );
}

/** Whether an expression may match a name: exactly so for a dated one, else by the text that it must begin with. */
function mayMatch(pattern: string, name: string): boolean {
  const dated = datedName(pattern);
  if (dated !== undefined) return withoutDate(name, dated.form) === dated.alias;
  return !pattern.startsWith('^') || name.startsWith(literalStart(pattern.slice(1)).text);
}

/** The alternatives of a match, each one condition; `and` is one that is neither. */
function alternatives(match: unknown): readonly { readonly kind: string; readonly text: string }[] {
  if (!isFields(match)) return [];
  const { or } = match;
  if (Array.isArray(or)) return or.flatMap(alternatives);
  return Object.entries(match).map(([kind, text]) => ({ kind, text: typeof text === 'string' ? text : '' }));
}

/** The name before the date of an anchored pattern; undefined for all other patterns. */
function datedName(pattern: string): { readonly alias: string; readonly form: PriceAlias['form'] } | undefined {
  for (const [end, form] of [
    [DATED, 'dated'],
    [DATED_COMPACT, 'dated_compact'],
  ] as const) {
    if (!pattern.startsWith('^') || !pattern.endsWith(end)) continue;
    const { text, isWhole } = literalStart(pattern.slice(1, -end.length));
    return isWhole && text !== '' ? { alias: text, form } : undefined;
  }
  return undefined;
}

/** The text that a pattern begins with, and whether it is the whole pattern. */
function literalStart(pattern: string): { readonly text: string; readonly isWhole: boolean } {
  let text = '';
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    const next = pattern.charAt(index + 1);
    if (character === '\\' && next !== '' && SPECIAL.test(next)) {
      text += next;
      index += 1;
    } else if (SPECIAL.test(character)) return { text: withoutOptional(text, character), isWhole: false };
    else text += character;
  }
  return { text, isWhole: true };
}

/** A text without the character that what follows it makes optional. */
const withoutOptional = (text: string, next: string): string => ('*?{|'.includes(next) ? text.slice(0, -1) : text);
