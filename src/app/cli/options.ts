// The options and arguments that several commands share, with the parsers of their values. Stands alone so that the same
// option means the same in every command.
import { Argument, type Command, Option } from 'commander';
import { OnExpiry } from '../../gen/budgetd/v1/limit_pb.ts';
import { Outcome } from '../../gen/budgetd/v1/reservation_pb.ts';
import { type Amount, parseAmount, unitDifference } from './amount.ts';
import { wordOption } from './closed-word.ts';
import { parseDurationMs } from './duration.ts';
import { UsageError } from './usage-error.ts';

const INT32_MAX = 2_147_483_647;
const COUNT_MAX = 999_999_999;

/** `--key`; the command makes a fresh one where it is left out. */
export function keyOption(): Option {
  return new Option(
    '--key <key>',
    'idempotency key; default: a fresh one, printed if the call may have to be repeated',
  );
}

/** An option whose value is an amount. */
export function amountOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseAmount);
}

/** An amount as the last argument; it may be two words (`0.25 USD`). */
export function amountArgument(name: string, description: string): Argument {
  return new Argument(`<${name}...>`, description);
}

/** The same where it may be left out. */
export function optionalAmountArgument(name: string, description: string): Argument {
  return new Argument(`[${name}...]`, description);
}

/** The amount of an `amountArgument`. */
export function amountOf(words: readonly string[]): Amount {
  return parseAmount(words.join(' '));
}

/** `--ttl`. */
export function ttlOption(): Option {
  return new Option(
    '--ttl <time>',
    'length of the lease, 1s to 24h (default: 60s, or the longest there may be if that is less)',
  ).argParser(parseDurationMs);
}

/** `--label`, which may be given several times. */
export function labelOption(): Option {
  return new Option('--label <key=value>', 'a label; may be given several times').argParser(
    (text: string, previous: Readonly<Record<string, string>> | undefined) => {
      const equals = text.indexOf('=');
      if (equals < 1) throw new UsageError(`"${text}" is not key=value`);
      const key = text.slice(0, equals);
      if (previous !== undefined && Object.hasOwn(previous, key)) throw new UsageError(`label ${key} is given twice`);
      return { ...previous, [key]: text.slice(equals + 1) };
    },
  );
}

/** `--reason`. */
export function reasonOption(): Option {
  return new Option('--reason <text>', 'why, for the journal');
}

/** `--max-rows`. */
export function rowsMaxOption(rowsMax: number): Option {
  return new Option('--max-rows <n>', 'read at most so many rows').default(rowsMax).argParser(parseCount);
}

/** `--outcome`. */
export function outcomeOption(): Option {
  return wordOption('--outcome <outcome>', 'how the work ended', Object.keys(OUTCOMES));
}

/** Outcomes by the word of `--outcome`. */
export const OUTCOMES = {
  succeeded: Outcome.SUCCEEDED,
  failed: Outcome.FAILED,
  cancelled: Outcome.CANCELLED,
} as const;

/** `--on-expiry`. */
export function onExpiryOption(): Option {
  return wordOption('--on-expiry <rule>', 'what becomes of lapsed holds', Object.keys(ON_EXPIRY));
}

/** Rules by the word of `--on-expiry`. */
export const ON_EXPIRY = {
  release: OnExpiry.RELEASE,
  charge: OnExpiry.CHARGE,
  charge_started: OnExpiry.CHARGE_STARTED,
} as const;

/** Adds the example of a command to its help. */
export function withExample(command: Command, ...examples: readonly string[]): Command {
  const title = examples.length === 1 ? 'Example' : 'Examples';
  return command.addHelpText(
    'after',
    `\n${title}:\n${examples.map((example) => `  $ budgetctl ${example}`).join('\n')}`,
  );
}

/**
 * Checks the units that were typed against the tree's, which `readUnit` fetches; it is not asked where none was typed.
 * Throws UsageError on a difference, before anything has been changed.
 */
export async function checkUnits(
  amounts: readonly (Amount | undefined)[],
  readUnit: () => Promise<string>,
): Promise<void> {
  const typed = amounts.filter((amount) => amount?.unit !== undefined);
  if (typed.length === 0) return;
  const unit = await readUnit();
  const wrong = typed.find((amount) => amount?.unit !== unit);
  if (wrong !== undefined) throw new UsageError(`${unitDifference(wrong, unit)}; nothing was changed`);
}

/** Reads a whole number from 1 to 999999999. Throws UsageError. */
export function parseCount(text: string): number {
  return parseWhole(text, 1, COUNT_MAX);
}

/** Reads a whole number in a range, by default from 0 up to int32. Throws UsageError. */
export function parseWhole(text: string, min = 0, max = INT32_MAX): number {
  const count = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= min && count <= max)) throw new UsageError(`"${text}" is not a whole number from ${min} to ${max}`);
  return count;
}

/** Reads a share in percent, with or without its sign. Throws UsageError. */
export function parsePercent(text: string, max: number): number {
  const percent = /^[0-9]{1,4}%?$/.test(text) ? Number(text.replace('%', '')) : 0;
  if (percent >= 1 && percent <= max) return percent;
  throw new UsageError(`"${text}" is not a percentage: write a whole number from 1 to ${max}, such as 25%`);
}

/** Reads a count that may pass int32, such as one of tokens, up to `max`. Throws UsageError. */
export function parseBig(text: string, max: bigint): bigint {
  const count = /^[0-9]{1,20}$/.test(text) ? BigInt(text) : -1n;
  if (count < 0n || count > max) throw new UsageError(`"${text}" is not a whole number from 0 to ${max}`);
  return count;
}
