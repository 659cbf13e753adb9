// Words of a command line that begin with a dash and are no options: names of budgets and hashes of rows may, and nobody who puts "$ROW" there
// looks at it first. Its own file because it is done before the words are parsed, for all commands at once.
import type { Command, Option } from 'commander';

/** What an option looks like, or the typing error in one: it is told of as such, and not taken for a name. */
const OPTION_SHAPE = /^(?:-.|--[a-z][a-z0-9-]*(?:=.*)?)$/s;

/**
 * The words with such names behind "--", where a parser takes nothing for an option, together with the operands around them; and with
 * values that begin with a dash tied to their options. A name that looks like an option has to be put behind "--" by whoever types it.
 */
export function dashedWords(program: Command, words: readonly string[]): string[] {
  const path: Command[] = [program];
  // All in their order, and the same apart.
  const all: string[] = [];
  const others: string[] = [];
  const operands: string[] = [];
  const dashes = words.indexOf('--');
  const end = dashes === -1 ? words.length : dashes;
  for (let at = 0; at < end; at += 1) {
    const word = words[at] ?? '';
    const command = path.at(-1) ?? program;
    const below = operands.length === 0 ? commandOf(command, word) : undefined;
    const option = optionOf(path, word);
    if (below === undefined && option === undefined && !isLeftToParser(command, word)) {
      all.push(word);
      operands.push(word);
      continue;
    }
    if (below !== undefined) path.push(below);
    const value = option?.required === true && at + 1 < end ? words[at + 1] : undefined;
    if (value !== undefined) at += 1;
    const taken = value === undefined ? [word] : withValue(word, value);
    all.push(...taken);
    others.push(...taken);
  }
  const isDashed = operands.some((word) => word.startsWith('-'));
  return isDashed ? [...others, '--', ...operands, ...words.slice(end + 1)] : [...all, ...words.slice(end)];
}

// Otherwise it may be taken for an option of the program before the command that it belongs to is looked at.
function withValue(word: string, value: string): string[] {
  return value.startsWith('-') && word.startsWith('--') ? [`${word}=${value}`] : [word, value];
}

function isLeftToParser(command: Command, word: string): boolean {
  if (word.length < 2 || !word.startsWith('-')) return false;
  // "-fbudgets.yaml": an option with its value.
  const isOptionWithValue = command.options.some(({ short }) => short !== undefined && word.startsWith(short));
  return OPTION_SHAPE.test(word) || isOptionWithValue || command.registeredArguments.length === 0;
}

function optionOf(path: readonly Command[], word: string): Option | undefined {
  return path.flatMap(({ options }) => options).find(({ short, long }) => word === short || word === long);
}

function commandOf(command: Command, word: string): Command | undefined {
  return command.commands.find((each) => each.name() === word || each.aliases().includes(word));
}
