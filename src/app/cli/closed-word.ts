// Options and parts of options that take one of some words: all of them say in one way that a word is none of these, and which one was
// most likely meant.
import { Option } from 'commander';
import { didYouMean } from './nearest-word.ts';
import { UsageError } from './usage-error.ts';

/** An option that takes one of some words; its help lists them. */
export function wordOption(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices(words).argParser((typed: string) => knownWord(typed, words));
}

/** The word, if it is one of some. Throws UsageError. */
export function knownWord<Word extends string>(typed: string, words: readonly Word[]): Word {
  const known = words.find((word) => word === typed);
  if (known === undefined) throw new UsageError(noneOf(typed, words));
  return known;
}

/** The same of the keys of a table, which gives what the word stands for. Throws UsageError. */
export function meaningOf<T>(typed: string, meanings: Readonly<Record<string, T>>): T {
  return meanings[knownWord(typed, Object.keys(meanings))] as T;
}

function noneOf(typed: string, words: readonly string[]): string {
  return `"${typed}" is none of ${words.join(', ')}${didYouMean(typed, words)}`;
}
