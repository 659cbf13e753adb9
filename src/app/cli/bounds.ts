// Bounds on form, overrun policy, rates and templates as options of `create` and `update`, and how they are shown. Its own
// file because both commands and the picture of a budget must speak of them in the same words.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import { OverrunPolicy, type Shape, type ShapeSchema } from '../../gen/budgetd/v1/terms_pb.ts';
import { type Amount, formatAmount, parseAmount } from './amount.ts';
import { wordOption } from './closed-word.ts';
import { durationFromMs, durationToMs, parseDurationMs, writeDurationMs } from './duration.ts';
import { parseWhole } from './options.ts';
import { parseRate } from './rate.ts';
import { parseTemplate, TEMPLATE_EXAMPLE } from './template-json.ts';
import { UsageError } from './usage-error.ts';

/** The word that takes a bound, the rates or a template away. */
export const NONE = 'none';

/** Values of the options, as parsed. */
export interface BoundOptions {
  readonly maxReservation?: Amount | typeof NONE;
  readonly maxActive?: number | typeof NONE;
  readonly maxChildren?: number | typeof NONE;
  readonly maxDepth?: number | typeof NONE;
  readonly maxLease?: number | typeof NONE;
  readonly maxRenewals?: number | typeof NONE;
  readonly closeAfter?: number | typeof NONE;
  readonly rate?: readonly ReturnType<typeof parseRate>[] | typeof NONE;
  readonly overrun?: keyof typeof OVERRUN;
  readonly childTemplate?: ReturnType<typeof parseTemplate> | typeof NONE;
}

const OVERRUN = { record: OverrunPolicy.RECORD, reject: OverrunPolicy.REJECT } as const;

const OVERRUN_WORDS: Readonly<Record<number, string>> = { [OverrunPolicy.REJECT]: 'reject' };

/** Adds the options. */
export function addBoundOptions(command: Command): Command {
  const orNone =
    <T>(parse: (text: string) => T) =>
    (text: string): T | typeof NONE =>
      text === NONE ? NONE : parse(text);
  const option = <T>(flags: string, description: string, parse: (text: string) => T): void => {
    command.addOption(new Option(flags, description).argParser(orNone(parse)));
  };
  command.addOption(
    new Option(
      '--rate <rate>',
      'a brake: "60 requests/1m", also tokens and tool_calls, as far as callers declare them; may be given several times; an update replaces all rates: name each to keep it',
    ).argParser((text: string, previous: BoundOptions['rate']) => {
      if (text === NONE && previous === undefined) return NONE;
      if (text === NONE || previous === NONE) throw new UsageError('--rate none goes with no other --rate');
      return [...(previous ?? []), parseRate(text)];
    }),
  );
  option('--max-reservation <amount>', 'largest single reservation', parseAmount);
  option('--max-active <n>', 'most live reservations here and below', parseWhole);
  option('--max-children <n>', 'most open budgets right below', parseWhole);
  option('--max-depth <n>', 'deepest level of budgets below: 0 none, 1 children', parseWhole);
  option('--max-lease <time>', 'longest lease; who asks for none gets no longer one', parseDurationMs);
  option('--max-renewals <n>', 'most renewals of one reservation', parseWhole);
  option(
    '--close-after <time>',
    'close it for good once it has been idle for so long; a name that is closed is never made again',
    parseDurationMs,
  );
  command.addOption(
    wordOption('--overrun <policy>', 'what becomes of cost that no ceiling covers', Object.keys(OVERRUN)),
  );
  option(
    '--child-template <json>',
    'terms of budgets made below by their first use: JSON, or a file with it',
    parseTemplate,
  );
  command.addHelpText('after', `\nA template with windows, a rate, bounds and a template in it:\n${TEMPLATE_EXAMPLE}`);
  return command;
}

/** The fields of a budget that the options set, and the paths that a mask names for them. */
export function boundFields(options: BoundOptions) {
  const shape: ShapeInit = {};
  const paths: string[] = [];
  const bound = <T>(path: string, value: T | typeof NONE | undefined, set: (value: T) => void): void => {
    if (value === undefined) return;
    paths.push(path);
    if (value !== NONE) set(value as T);
  };
  bound('shape.max_reservation_micros', options.maxReservation, ({ micros }) => (shape.maxReservationMicros = micros));
  bound('shape.max_active', options.maxActive, (count) => (shape.maxActive = count));
  bound('shape.max_children', options.maxChildren, (count) => (shape.maxChildren = count));
  bound('shape.max_depth', options.maxDepth, (count) => (shape.maxDepth = count));
  bound('shape.max_lease', options.maxLease, (ms) => (shape.maxLease = durationFromMs(ms)));
  bound('shape.max_renewals', options.maxRenewals, (count) => (shape.maxRenewals = count));
  bound('shape.close_after', options.closeAfter, (ms) => (shape.closeAfter = durationFromMs(ms)));
  const { rate, overrun, childTemplate } = options;
  if (rate !== undefined) paths.push('rates');
  if (overrun !== undefined) paths.push('overrun');
  if (childTemplate !== undefined) paths.push('child_template');
  const fields = {
    ...(rate === undefined || rate === NONE ? {} : { rates: [...rate] }),
    ...(Object.keys(shape).length === 0 ? {} : { shape }),
    ...(overrun === undefined ? {} : { overrun: OVERRUN[overrun] }),
    ...(childTemplate === undefined || childTemplate === NONE ? {} : { childTemplate }),
  };
  return { fields, paths };
}

type ShapeInit = Exclude<MessageInitShape<typeof ShapeSchema>, { $typeName: string }>;

/** Amounts of the options whose unit is checked against the tree's. */
export function boundAmounts({ maxReservation }: BoundOptions): (Amount | undefined)[] {
  return [maxReservation === NONE ? undefined : maxReservation];
}

/** Bounds in the order of the options; `unit` is the tree's. */
export function formatBounds(shape: Shape | undefined, unit: string): string[] {
  if (shape === undefined) return [];
  const { maxReservationMicros, maxActive, maxChildren, maxDepth, maxLease, maxRenewals, closeAfter } = shape;
  const parts: (string | undefined)[] = [
    maxReservationMicros === undefined ? undefined : `reservation ≤ ${formatAmount(maxReservationMicros, unit)}`,
    maxActive === undefined ? undefined : `active ≤ ${maxActive}`,
    maxChildren === undefined ? undefined : `children ≤ ${maxChildren}`,
    maxDepth === undefined ? undefined : `depth ≤ ${maxDepth}`,
    maxLease && `lease ≤ ${writeDurationMs(durationToMs(maxLease))}`,
    maxRenewals === undefined ? undefined : `renewals ≤ ${maxRenewals}`,
    closeAfter && `closes after ${writeDurationMs(durationToMs(closeAfter))} idle`,
  ];
  return parts.filter((part) => part !== undefined);
}

/** The overrun policy where it is another than the default. */
export function formatOverrun(policy: OverrunPolicy): string | undefined {
  return OVERRUN_WORDS[policy];
}
