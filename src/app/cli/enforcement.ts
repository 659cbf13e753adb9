// How limits are applied and what is told of them, as options of `create` and `update`, and how it is shown. Its own file
// because both commands and the pictures of a budget and of a reservation must speak of it in the same words.
import { type Command, Option } from 'commander';
import { PERCENT_MAX } from '../../api/validate/alert-at.ts';
import type { Reservation } from '../../gen/budgetd/v1/reservation_pb.ts';
import { type AlertAt, type BudgetTemplate, Mode, OnExhaustion, Priority } from '../../gen/budgetd/v1/terms_pb.ts';
import { type Amount, formatAmount, parseAmount } from './amount.ts';
import { meaningOf, wordOption } from './closed-word.ts';
import type { Fact } from './facts.ts';
import { parsePercent } from './options.ts';
import { UsageError } from './usage-error.ts';

const NONE = 'none';
const DEFAULT = 'default';

const MODES = { observe: Mode.OBSERVE, warn: Mode.WARN, soft: Mode.SOFT, enforce: Mode.ENFORCE } as const;
const EXHAUSTIONS = { block: OnExhaustion.BLOCK, degrade: OnExhaustion.DEGRADE } as const;

/** Classes of urgency by their words. */
export const PRIORITIES = {
  background: Priority.BACKGROUND,
  normal: Priority.NORMAL,
  interactive: Priority.INTERACTIVE,
  critical: Priority.CRITICAL,
} as const;

interface TypedKept {
  readonly priority: Priority;
  readonly amount: Amount;
}

/** Values of the options, as parsed. */
export interface EnforcementOptions {
  readonly mode?: keyof typeof MODES;
  readonly tolerance?: Amount;
  readonly onExhaustion?: keyof typeof EXHAUSTIONS;
  readonly keep?: readonly TypedKept[] | typeof NONE;
  readonly alertAt?: readonly number[] | typeof NONE | typeof DEFAULT;
}

/** Adds the options. */
export function addEnforcementOptions(command: Command): Command {
  return command
    .addOption(wordOption('--mode <mode>', 'how far its word binds', Object.keys(MODES)))
    .addOption(new Option('--tolerance <amount>', 'how far past an amount soft goes').argParser(parseAmount))
    .addOption(wordOption('--on-exhaustion <rule>', 'what becomes of a reserve without room', Object.keys(EXHAUSTIONS)))
    .addOption(
      new Option(
        '--keep <class=amount>',
        'so much of every limit is for this class and those above it; may be given several times, or "none"',
      ).argParser(parseKept),
    )
    .addOption(
      new Option(
        '--alert-at <percents>',
        'shares that are told of: "50,80,100", "none", or "default" for 80,100',
      ).argParser(parseAlertAt),
    );
}

function parseKept(text: string, previous: EnforcementOptions['keep']): EnforcementOptions['keep'] {
  if (text === NONE && previous === undefined) return NONE;
  if (text === NONE || previous === NONE) throw new UsageError('--keep none goes with no other --keep');
  const equals = text.indexOf('=');
  if (equals < 1)
    throw new UsageError(`"${text}" is not class=amount; classes are ${Object.keys(PRIORITIES).join(', ')}`);
  const priority = meaningOf(text.slice(0, equals), PRIORITIES);
  return [...(previous ?? []), { priority, amount: parseAmount(text.slice(equals + 1)) }];
}

function parseAlertAt(text: string): EnforcementOptions['alertAt'] {
  if (text === NONE || text === DEFAULT) return text;
  return text.split(',').map((percent) => parsePercent(percent.trim(), PERCENT_MAX));
}

/** The fields of a budget that the options set, and the paths that a mask names for them. */
export function enforcementFields({ mode, tolerance, onExhaustion, keep, alertAt }: EnforcementOptions) {
  const enforcement = {
    ...(mode === undefined ? {} : { mode: MODES[mode] }),
    ...(tolerance === undefined ? {} : { toleranceMicros: tolerance.micros }),
    ...(onExhaustion === undefined ? {} : { onExhaustion: EXHAUSTIONS[onExhaustion] }),
    ...(keep === undefined || keep === NONE
      ? {}
      : { kept: keep.map(({ priority, amount }) => ({ priority, micros: amount.micros })) }),
  };
  const paths = [
    ...(mode === undefined ? [] : ['enforcement.mode']),
    ...(tolerance === undefined ? [] : ['enforcement.tolerance_micros']),
    ...(onExhaustion === undefined ? [] : ['enforcement.on_exhaustion']),
    ...(keep === undefined ? [] : ['enforcement.kept']),
    ...(alertAt === undefined ? [] : ['alert_at']),
  ];
  const isTold = alertAt !== undefined && alertAt !== DEFAULT;
  const fields = {
    ...(Object.keys(enforcement).length === 0 ? {} : { enforcement }),
    ...(isTold ? { alertAt: { percent: alertAt === NONE ? [] : [...alertAt] } } : {}),
  };
  return { fields, paths };
}

/** Amounts of the options whose unit is checked against the tree's. */
export function enforcementAmounts({ tolerance, keep }: EnforcementOptions): (Amount | undefined)[] {
  return [tolerance, ...(keep === undefined || keep === NONE ? [] : keep.map(({ amount }) => amount))];
}

/** What is another than the default, in the order of the options; `unit` is the tree's. */
export function enforcementFacts(
  { enforcement, alertAt }: Pick<BudgetTemplate, 'enforcement' | 'alertAt'>,
  unit: string,
): Fact[] {
  const { mode = Mode.ENFORCE, toleranceMicros = 0n, onExhaustion, kept = [] } = enforcement ?? {};
  const isPlain = mode === Mode.ENFORCE || mode === Mode.UNSPECIFIED;
  const tolerance = toleranceMicros === 0n ? '' : `${formatAmount(toleranceMicros, unit)} past an amount`;
  return [
    ['mode', isPlain ? undefined : wordOf(MODES, mode)],
    ['tolerance', tolerance],
    ['exhausted', onExhaustion === OnExhaustion.DEGRADE ? 'degrade' : undefined],
    [
      'kept',
      kept.map((each) => `${formatAmount(each.micros, unit)} for ${wordOf(PRIORITIES, each.priority)}`).join(', '),
    ],
    ['alerts', formatAlertAt(alertAt)],
  ];
}

function formatAlertAt(alertAt: AlertAt | undefined): string | undefined {
  if (alertAt === undefined || alertAt.percent.join() === '80,100') return undefined;
  return alertAt.percent.length === 0 ? 'none' : `at ${alertAt.percent.map((percent) => `${percent}%`).join(', ')}`;
}

/** What the request said of urgency, which of its ways was granted, and what enforcement would have said. */
export function grantFacts({ priority, alternative, shadow }: Reservation): Fact[] {
  const isNormal = priority === Priority.NORMAL || priority === Priority.UNSPECIFIED;
  return [
    ['priority', isNormal ? undefined : wordOf(PRIORITIES, priority)],
    ['instead', alternative],
    ['shadow', shadow && `${shadow.reason} by ${shadow.budget}, which is in mode ${wordOf(MODES, shadow.mode)}`],
  ];
}

/** A class of urgency by its word. */
export function priorityWord(priority: Priority): string {
  return wordOf(PRIORITIES, priority);
}

function wordOf(words: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(words).find(([, each]) => each === value)?.[0] ?? `number ${value}`;
}
