// The commands on holds: reserve, extend, renew, settle, release.
import { type Command, Option } from 'commander';
import { UNITS_MAX } from '../../api/validate/rates.ts';
import type { Availability } from '../../gen/budgetd/v1/limit_pb.ts';
import {
  ExtendResponseSchema,
  Outcome,
  ReleaseResponseSchema,
  RenewResponseSchema,
  type Reservation,
  ReservationService,
  ReserveResponseSchema,
  SettleResponseSchema,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import { type Amount, parseAmount } from './amount.ts';
import { readUnit } from './budget-commands.ts';
import {
  addCallOptions,
  addUsageOptions,
  type CallOptions,
  modelCallOf,
  parseModelName,
  type UsageOptions,
  usageOf,
} from './call-options.ts';
import { wordOption } from './closed-word.ts';
import { durationFromMs, parseDurationMs } from './duration.ts';
import { PRIORITIES } from './enforcement.ts';
import {
  amountOf,
  amountOption,
  checkUnits,
  keyOption,
  labelOption,
  OUTCOMES,
  optionalAmountArgument,
  outcomeOption,
  parseBig,
  reasonOption,
  ttlOption,
  withExample,
} from './options.ts';
import { type CommandContext, freshKey, type Session, withSession } from './session.ts';
import { drawReservation } from './show-reservation.ts';
import { UsageError } from './usage-error.ts';

interface TypedAlternative {
  readonly label: string;
  /** Undefined: it is the same call of another model. */
  readonly amount: Amount | undefined;
  readonly model: ReturnType<typeof parseModelName> | undefined;
}

interface ReserveOptions extends CallOptions {
  readonly min?: Amount;
  readonly ttl?: number;
  readonly also?: readonly string[];
  readonly tokens?: bigint;
  readonly toolCalls?: bigint;
  readonly priority?: keyof typeof PRIORITIES;
  readonly alternative?: readonly TypedAlternative[];
  readonly maxWait?: number;
  readonly holder?: string;
  readonly actingFor?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly dryRun?: boolean;
  readonly key?: string;
}

interface ExtendOptions extends CallOptions {
  readonly min?: Amount;
  readonly key?: string;
}

interface SettleOptions extends UsageOptions {
  readonly unknown?: boolean;
  readonly keepOpen?: boolean;
  readonly retain?: Amount;
  readonly confirm?: boolean;
  readonly outcome?: keyof typeof OUTCOMES;
  readonly label?: Readonly<Record<string, string>>;
  readonly key?: string;
}

interface ReservationReply {
  readonly reservation?: Reservation | undefined;
  readonly availability?: Availability | undefined;
}

/** Adds the commands on holds to the program. */
export function addReservationCommands(program: Command, context: CommandContext): void {
  addReserve(program, context);
  addExtend(program, context);
  addRenew(program, context);
  addSettle(program, context);
  addRelease(program, context);
}

function addReserve(program: Command, context: CommandContext): void {
  const command = program
    .command('reserve <budget>')
    .addArgument(optionalAmountArgument('max', 'the most that the work may cost; left out with --model'))
    .description('place a hold on a budget and all budgets above it')
    .addOption(amountOption('--min <amount>', 'the least that is of use (default: all of max)'))
    .addOption(ttlOption())
    .addOption(
      new Option(
        '--also <budget>',
        'one more budget to charge, of the same tree; may be given several times',
      ).argParser((path: string, previous: readonly string[] | undefined) => [...(previous ?? []), path]),
    )
    .addOption(
      new Option(
        '--tokens <n>',
        'tokens that the work will use, for rates (default: 0, which no rate brakes)',
      ).argParser(parseUnits),
    )
    .addOption(
      new Option('--tool-calls <n>', 'tool calls that it will make, for rates (default: 0)').argParser(parseUnits),
    )
    .addOption(wordOption('--priority <class>', 'how urgent it is', Object.keys(PRIORITIES)))
    .addOption(
      new Option(
        '--alternative <label=amount>',
        'a cheaper way, granted where there is no money and the budget degrades, with --model also label=provider/model; may be given several times',
      ).argParser(parseAlternative),
    )
    .addOption(
      new Option('--max-wait <time>', 'wait so long for room instead of being refused, up to 24h').argParser(
        parseDurationMs,
      ),
    )
    .option('--holder <text>', 'who does the work')
    .option('--acting-for <text>', 'for whom it is done')
    .addOption(labelOption())
    .option('--dry-run', 'say what would be granted now; change nothing')
    .addOption(keyOption())
    .action((path: string, words: string[], options: ReserveOptions) =>
      withSession(context, command, (session) => reserve(session, path, words, options)),
    );
  addCallOptions(command);
  withExample(
    command,
    'reserve acme/triage 0.25 USD --ttl 5m --holder worker-7',
    'reserve acme/triage/run-42 0.25 --also acme/people/maya --also acme/models/big --tokens 4000',
    'reserve acme/triage 0.60 --priority interactive --alternative small-model=0.08 --alternative tiny-model=0.02',
    'reserve acme/triage 0.25 --max-wait 30s --priority critical',
    'reserve acme 10 --min 2 --dry-run',
    'reserve acme/triage --model openai/gpt-4o --bytes 12000 --max-output 1000',
    'reserve acme/triage --model openai/gpt-4o --model anthropic/claude-sonnet-4-5 --bytes 12000 --alternative small=openai/gpt-4o-mini',
  );
}

async function reserve(
  session: Session,
  path: string,
  words: readonly string[],
  options: ReserveOptions,
): Promise<void> {
  const modelCall = modelCallOf(options);
  const max = amountOrCall(words, modelCall);
  const alternatives = options.alternative ?? [];
  await checkUnits([max, options.min, ...alternatives.map(({ amount }) => amount)], () => readUnit(session, path));
  const isDryRun = options.dryRun === true;
  const key = options.key ?? (isDryRun ? '' : freshKey());
  const request = {
    budget: path,
    idempotencyKey: key,
    ...(max === undefined ? { modelCall } : { maxMicros: max.micros }),
    ...(options.min === undefined ? {} : { minMicros: options.min.micros }),
    ...(options.ttl === undefined ? {} : { ttl: durationFromMs(options.ttl) }),
    also: [...(options.also ?? [])],
    ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
    ...(options.toolCalls === undefined ? {} : { toolCalls: options.toolCalls }),
    ...(options.priority === undefined ? {} : { priority: PRIORITIES[options.priority] }),
    alternatives: alternatives.map((alternative) => alternativeOf(alternative, modelCall)),
    ...(options.maxWait === undefined ? {} : { maxWait: durationFromMs(options.maxWait) }),
    holder: options.holder ?? '',
    actingFor: options.actingFor ?? '',
    labels: { ...options.label },
    validateOnly: isDryRun,
  };
  const repeatOptions = isDryRun ? [] : ['--key', key];
  const reply = await session.change(ReservationService.method.reserve, request, repeatOptions, options.maxWait);
  session.show(ReserveResponseSchema, reply, () => drawReply(reply, session));
}

// The amount that was typed; undefined: a call is priced instead.
function amountOrCall(words: readonly string[], modelCall: ReturnType<typeof modelCallOf>): Amount | undefined {
  if (modelCall === undefined && words.length === 0) throw new UsageError('give an amount, or --model');
  if (modelCall === undefined) return amountOf(words);
  if (words.length > 0) throw new UsageError('give either an amount or --model');
  return undefined;
}

function parseUnits(text: string): bigint {
  return parseBig(text, UNITS_MAX);
}

function parseAlternative(
  text: string,
  previous: readonly TypedAlternative[] | undefined,
): readonly TypedAlternative[] {
  const equals = text.lastIndexOf('=');
  if (equals < 1) throw new UsageError(`"${text}" is not label=amount`);
  const label = text.slice(0, equals);
  const value = text.slice(equals + 1);
  const isModel = value.includes('/');
  const amount = isModel ? undefined : parseAmount(value);
  return [...(previous ?? []), { label, amount, model: isModel ? parseModelName(value) : undefined }];
}

function alternativeOf({ label, amount, model }: TypedAlternative, modelCall: ReturnType<typeof modelCallOf>) {
  if (model === undefined) return { label, maxMicros: amount?.micros ?? 0n };
  if (modelCall === undefined) throw new UsageError(`the alternative ${label} names a model: it goes with --model`);
  return { label, modelCall: { ...modelCall, candidates: [model] } };
}

function addExtend(program: Command, context: CommandContext): void {
  const command = program
    .command('extend <reservation>')
    .addArgument(optionalAmountArgument('add', 'how much to add at the most; left out with --model'))
    .description('add to a live hold')
    .addOption(amountOption('--min <amount>', 'the least that is of use (default: all of it)'))
    .addOption(keyOption())
    .action((reservationId: string, words: string[], options: ExtendOptions) =>
      withSession(context, command, async (session) => {
        const modelCall = modelCallOf(options);
        const add = amountOrCall(words, modelCall);
        await checkUnits([add, options.min], () => readUnitOf(session, reservationId));
        const key = options.key ?? freshKey();
        const min = options.min === undefined ? {} : { minMicros: options.min.micros };
        const asked = add === undefined ? { modelCall } : { addMicros: add.micros };
        const request = { reservationId, idempotencyKey: key, ...asked, ...min };
        const reply = await session.change(ReservationService.method.extend, request, ['--key', key]);
        session.show(ExtendResponseSchema, reply, () => drawReply(reply, session));
      }),
    );
  addCallOptions(command);
  withExample(
    command,
    'extend acme:06fk2xw8q4h1v0t7m3r9ca 0.10',
    'extend acme:06fk2xw8q4h1v0t7m3r9ca --model openai/gpt-4o --bytes 9000 --max-output 500',
  );
}

function addRenew(program: Command, context: CommandContext): void {
  const command = program
    .command('renew <reservation>')
    .description('move the end of the lease to now + ttl, never backwards')
    .addOption(ttlOption())
    .option('--started', 'mark that work has begun')
    .option('--key <key>', 'idempotency key; not needed, since renewing twice does no harm')
    .action(
      (reservationId: string, options: { readonly ttl?: number; readonly started?: boolean; readonly key?: string }) =>
        withSession(context, command, async (session) => {
          const ttl = options.ttl === undefined ? {} : { ttl: durationFromMs(options.ttl) };
          const key = options.key ?? '';
          const request = { reservationId, started: options.started === true, idempotencyKey: key, ...ttl };
          const repeatOptions = key === '' ? [] : ['--key', key];
          const reply = await session.change(ReservationService.method.renew, request, repeatOptions);
          session.show(RenewResponseSchema, reply, () => drawReply(reply, session));
        }),
    );
  withExample(command, 'renew acme:06fk2xw8q4h1v0t7m3r9ca --ttl 5m');
}

function addSettle(program: Command, context: CommandContext): void {
  const command = program
    .command('settle <reservation> [actual...]')
    .description('record what the work cost; the rest of the hold goes back')
    .option('--unknown', 'the cost is not known: settle the whole hold as an estimate')
    .option('--keep-open', 'record so much now and hold the rest')
    .addOption(amountOption('--retain <amount>', 'with --keep-open: hold at most so much from now on'))
    .option('--confirm', 'it really cost so much, however far above the hold that is')
    .addOption(outcomeOption())
    .addOption(labelOption())
    .addOption(keyOption())
    .action((reservationId: string, words: string[], options: SettleOptions) =>
      withSession(context, command, (session) => settle(session, reservationId, words, options)),
    );
  addUsageOptions(command);
  withExample(
    command,
    'settle acme:06fk2xw8q4h1v0t7m3r9ca 0.17 USD --outcome succeeded',
    'settle acme:06fk2xw8q4h1v0t7m3r9ca --unknown',
    'settle acme:06fk2xw8q4h1v0t7m3r9ca 512 USD --confirm',
    'settle acme:06fk2xw8q4h1v0t7m3r9ca --usage-file usage.json --kind openai_chat --served openai/gpt-4o',
    'settle acme:06fk2xw8q4h1v0t7m3r9ca --count uncached_input=1576 --count output=310 --count web_searches=2',
  );
}

async function settle(
  session: Session,
  reservationId: string,
  words: readonly string[],
  options: SettleOptions,
): Promise<void> {
  const isReported = options.usageFile !== undefined || options.count !== undefined;
  const stated = [options.unknown === true, words.length > 0, isReported].filter(Boolean).length;
  if (stated !== 1) throw new UsageError('give either the actual cost, --usage-file, --count or --unknown');
  const usage = usageOf(options);
  if (options.retain !== undefined && options.keepOpen !== true) throw new UsageError('--retain goes with --keep-open');
  const actual = words.length === 0 ? undefined : parseAmount(words.join(' '));
  await checkUnits([actual, options.retain], () => readUnitOf(session, reservationId));
  const key = options.key ?? freshKey();
  const request = {
    reservationId,
    idempotencyKey: key,
    cost: costOf(actual, usage),
    keepOpen: options.keepOpen === true,
    ...(options.retain === undefined ? {} : { retainMicros: options.retain.micros }),
    confirmAmount: options.confirm === true,
    outcome: options.outcome === undefined ? Outcome.UNSPECIFIED : OUTCOMES[options.outcome],
    labels: { ...options.label },
  };
  const reply = await session.change(ReservationService.method.settle, request, ['--key', key]);
  session.show(SettleResponseSchema, reply, () => drawReply(reply, session));
}

function costOf(actual: Amount | undefined, usage: ReturnType<typeof usageOf>) {
  if (actual !== undefined) return { case: 'actualMicros', value: actual.micros } as const;
  return usage === undefined
    ? ({ case: 'usageUnknown', value: {} } as const)
    : ({ case: 'usage', value: usage } as const);
}

function addRelease(program: Command, context: CommandContext): void {
  const command = program
    .command('release <reservation>')
    .description('give the whole hold back; nothing was spent')
    .addOption(reasonOption())
    .addOption(keyOption())
    .action((reservationId: string, options: { readonly reason?: string; readonly key?: string }) =>
      withSession(context, command, async (session) => {
        const key = options.key ?? freshKey();
        const request = { reservationId, reason: options.reason ?? '', idempotencyKey: key };
        const reply = await session.change(ReservationService.method.release, request, ['--key', key]);
        session.show(ReleaseResponseSchema, reply, () => drawReply(reply, session));
      }),
    );
  withExample(command, 'release acme:06fk2xw8q4h1v0t7m3r9ca --reason "not needed"');
}

async function readUnitOf(session: Session, reservationId: string): Promise<string> {
  const reply = await session.connection.call(ReservationService.method.getReservation, { reservationId });
  return reply.reservation?.unit ?? '';
}

function drawReply(reply: ReservationReply, session: Session): string {
  if (reply.reservation === undefined) throw new TypeError('the service answered without a reservation');
  return drawReservation(reply.reservation, reply.availability, session.terminal);
}
