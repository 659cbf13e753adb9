// The commands that make, read and fill up budgets: create, get and top-up.
import { type Command, Option } from 'commander';
import {
  type Budget,
  BudgetService,
  CreateBudgetResponseSchema,
  GetBudgetResponseSchema,
  TopUpResponseSchema,
} from '../../gen/budgetd/v1/budget_pb.ts';
import { OnExpiry } from '../../gen/budgetd/v1/limit_pb.ts';
import { GetReservationResponseSchema, ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import { type Amount, formatAmount, isMultiplier, parseAmount } from './amount.ts';
import { addBoundOptions, type BoundOptions, boundAmounts, boundFields } from './bounds.ts';
import { CallError } from './call-error.ts';
import { unitOf } from './draw-tree.ts';
import {
  addEnforcementOptions,
  type EnforcementOptions,
  enforcementAmounts,
  enforcementFields,
} from './enforcement.ts';
import { formatInstant } from './instant.ts';
import { limitName } from './limit-name.ts';
import { addModelOptions, type ModelOptions, modelFields } from './models.ts';
import {
  amountArgument,
  amountOf,
  checkUnits,
  keyOption,
  labelOption,
  ON_EXPIRY,
  onExpiryOption,
  withExample,
} from './options.ts';
import { newUnitWarning } from './prices/unit-rows.ts';
import { printable } from './printable-text.ts';
import { type CommandContext, freshKey, type Session, withSession } from './session.ts';
import { addShareOptions, type ShareOptions, shareAmounts, shareFields } from './shares.ts';
import { drawBudget } from './show-budget.ts';
import { drawReservation } from './show-reservation.ts';
import { UsageError } from './usage-error.ts';
import { parseWindow, type WindowInit } from './window.ts';

interface TypedLimit {
  readonly name: string;
  readonly amount: Amount;
  /** Undefined: lifetime. */
  readonly window: WindowInit | undefined;
}

interface CreateOptions extends BoundOptions, EnforcementOptions, ShareOptions, ModelOptions {
  readonly limit?: readonly TypedLimit[];
  readonly uncapped?: boolean;
  readonly kind?: string;
  readonly owner?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly unit?: string;
  readonly onExpiry?: keyof typeof ON_EXPIRY;
  readonly key?: string;
}

/** Adds `create`, `get` and `top-up` to the program. */
export function addBudgetCommands(program: Command, context: CommandContext): void {
  addCreate(program, context);
  addGet(program, context);
  addTopUp(program, context);
}

/**
 * Unit of the tree that a budget belongs to, read from the service. A budget that its first Reserve will make is not there yet:
 * then the nearest one above it says, and where none is there the service's answer about the budget itself is thrown.
 */
export async function readUnit(session: Session, path: string): Promise<string> {
  let notFound: CallError | undefined;
  for (let at = path; ; at = at.slice(0, at.lastIndexOf('/'))) {
    try {
      const { budget } = await session.connection.call(BudgetService.method.getBudget, { budget: at });
      return budget === undefined ? '' : unitOf(budget);
    } catch (error) {
      if (!(error instanceof CallError) || error.failure.reason !== 'BUDGET_NOT_FOUND') throw notFound ?? error;
      notFound ??= error;
      if (!at.includes('/')) throw notFound;
    }
  }
}

/** The budget of a reply. The contract always sends one; a reply without it is a fault of the service. */
export function requireBudget(budget: Budget | undefined): Budget {
  if (budget === undefined) throw new TypeError('the service answered without a budget');
  return budget;
}

function addCreate(program: Command, context: CommandContext): void {
  const command = program
    .command('create <budget>')
    .description('create a budget; a path of one segment makes a new tree')
    .addOption(
      new Option(
        '--limit <[name=]amount[/window]>',
        'a limit; may be given several times; windows: lifetime, hour, day, week, month (@ZONE), rolling:TIME, range:START..END',
      ).argParser(parseLimit),
    )
    .option('--uncapped', 'it is meant to have no limit on itself or above')
    .option('--kind <kind>', 'what it stands for: tenant, team, agent, run ...')
    .option('--owner <text>', 'who answers for it')
    .addOption(labelOption())
    .option('--unit <unit>', 'unit of a new tree (default: that of the limits, else USD)')
    .addOption(onExpiryOption());
  addModelOptions(addShareOptions(addEnforcementOptions(addBoundOptions(command))))
    .addOption(keyOption())
    .action((path: string, options: CreateOptions) =>
      withSession(context, command, (session) => create(session, path, options)),
    );
  withExample(
    command,
    'create acme --limit "1000 USD/month@Europe/Amsterdam" --limit "80 USD/day@Europe/Amsterdam"',
    'create acme/triage --limit 50 --limit 5/rolling:1h --rate "60 requests/1m" --max-active 10 --kind agent',
    'create acme/launch --limit 200/range:2026-03-01..2026-04-01 --max-reservation 2 --overrun reject',
    'create acme/support --limit 50 --floor 20 --share 60% --weight 2',
    'create acme/drafts --limit 20 --models openai/gpt-4o-mini,google/gemini-2.5-flash --max-tier standard',
    'create acme/pilot --limit 100 --mode warn --keep critical=20 --alert-at 50,80,100',
    `create acme/chat --child-template '{"kind": "run", "limits": [{"amountMicros": "2000000"}]}' --max-children 100`,
  );
}

async function create(session: Session, path: string, options: CreateOptions): Promise<void> {
  const limits = options.limit ?? [];
  const amounts = [
    ...limits.map((limit) => limit.amount),
    ...boundAmounts(options),
    ...enforcementAmounts(options),
    ...shareAmounts(options),
  ];
  const slash = path.lastIndexOf('/');
  const typed = amounts.flatMap((amount) => amount?.unit ?? []);
  const typedUnit = options.unit ?? typed.find((unit) => !isMultiplier(unit)) ?? '';
  await checkUnits(amounts, async () => (slash === -1 ? typedUnit : readUnit(session, path.slice(0, slash))));
  const key = options.key ?? freshKey();
  const request = {
    budget: {
      budget: path,
      kind: options.kind ?? '',
      owner: options.owner ?? '',
      labels: { ...options.label },
      unit: slash === -1 ? typedUnit : (options.unit ?? ''),
      uncapped: options.uncapped === true,
      limits: limits.map(({ name, amount, window }) => ({
        name,
        amountMicros: amount.micros,
        ...(window === undefined ? {} : { window }),
      })),
      ...boundFields(options).fields,
      ...enforcementFields(options).fields,
      ...shareFields(options).fields,
      ...modelFields(options).fields,
      onExpiry: options.onExpiry === undefined ? OnExpiry.UNSPECIFIED : ON_EXPIRY[options.onExpiry],
    },
    idempotencyKey: key,
  };
  const { terminal } = session;
  const reply = await session.change(BudgetService.method.createBudget, request, ['--key', key]);
  session.show(CreateBudgetResponseSchema, reply, () => drawBudget(requireBudget(reply.budget), terminal));
  const warning =
    slash === -1 ? await newUnitWarning(session.connection, unitOf(requireBudget(reply.budget))) : undefined;
  if (warning !== undefined) terminal.err(terminal.paint('warning', printable(`warning: ${warning}`)));
}

function addGet(program: Command, context: CommandContext): void {
  const command = program
    .command('get <budget-or-reservation>')
    .description('show one budget with its balances, or one reservation by its id')
    .action((name: string) =>
      withSession(context, command, (session) =>
        name.includes(':') ? getReservation(session, name) : get(session, name),
      ),
    );
  withExample(command, 'get acme/triage', 'get acme:06fk2xw8q4h1v0t7m3r9ca --json');
}

async function get(session: Session, path: string): Promise<void> {
  const reply = await session.connection.call(BudgetService.method.getBudget, { budget: path });
  session.show(GetBudgetResponseSchema, reply, () => drawBudget(requireBudget(reply.budget), session.terminal));
}

async function getReservation(session: Session, reservationId: string): Promise<void> {
  const reply = await session.connection.call(ReservationService.method.getReservation, { reservationId });
  const { reservation, availability } = reply;
  if (reservation === undefined) throw new TypeError('the service answered without a reservation');
  session.show(GetReservationResponseSchema, reply, () => drawReservation(reservation, availability, session.terminal));
}

function addTopUp(program: Command, context: CommandContext): void {
  const command = program
    .command('top-up <budget>')
    .addArgument(amountArgument('amount', 'how much to add'))
    .description('raise the amount of one limit; of a day, week ... until that is over')
    .option('--limit <name>', 'which limit; may be left out where there is only one')
    .addOption(keyOption())
    .action((path: string, words: string[], options: { readonly limit?: string; readonly key?: string }) =>
      withSession(context, command, async (session) => {
        const amount = amountOf(words);
        await checkUnits([amount], () => readUnit(session, path));
        const key = options.key ?? freshKey();
        const limit = options.limit === undefined ? '' : limitName(options.limit);
        const request = { budget: path, limit, addMicros: amount.micros, idempotencyKey: key };
        const reply = await session.change(BudgetService.method.topUp, request, ['--key', key]);
        session.show(TopUpResponseSchema, reply, () => {
          const budget = requireBudget(reply.budget);
          const added = `Added ${formatAmount(amount.micros, unitOf(budget))}${untilWhen(budget, limit)}.`;
          return `${added}\n${drawBudget(budget, session.terminal)}`;
        });
      }),
    );
  withExample(command, 'top-up acme 250 USD', 'top-up acme/triage 0.5 --limit day@Europe/Amsterdam');
}

// A calendar limit is raised for its period alone; any other for good.
function untilWhen({ limits, balances }: Budget, name: string): string {
  const index = name === '' ? 0 : limits.findIndex((limit) => limit.name === name);
  if (limits[index]?.window?.kind.case !== 'calendar') return '';
  const until = formatInstant(balances[index]?.periodEndTime);
  return until === undefined ? '' : ` until ${until}`;
}

// A name has no "=", an amount no "/": whatever follows is the window, with the "/" of its zone.
function parseLimit(text: string, previous: readonly TypedLimit[] | undefined): readonly TypedLimit[] {
  const equals = text.indexOf('=');
  if (equals === 0) throw new UsageError(`"${text}" is not amount or name=amount`);
  const name = equals === -1 ? '' : text.slice(0, equals);
  const rest = text.slice(equals + 1);
  const slash = rest.indexOf('/');
  const amount = parseAmount(slash === -1 ? rest : rest.slice(0, slash));
  const window = slash === -1 ? undefined : parseWindow(rest.slice(slash + 1));
  return [...(previous ?? []), { name, amount, window }];
}
