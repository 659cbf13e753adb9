// The commands that change how a budget stands: set-limit, suspend, resume and close. Apart from the other budget
// commands because set-limit is two calls, and repeating it safely takes more than a key.
import { type Command, Option } from 'commander';
import {
  BudgetService,
  CloseBudgetResponseSchema,
  ResumeBudgetResponseSchema,
  SuspendBudgetResponseSchema,
  UpdateBudgetResponseSchema,
} from '../../gen/budgetd/v1/budget_pb.ts';
import { NONE } from './bounds.ts';
import { readUnit, requireBudget } from './budget-commands.ts';
import { amountArgument, amountOf, checkUnits, keyOption, reasonOption, withExample } from './options.ts';
import { type ChosenLimit, replaceLimit } from './replace-limit.ts';
import { type CommandContext, freshKey, type Session, withSession } from './session.ts';
import { drawBudget } from './show-budget.ts';
import { parseWindow } from './window.ts';

interface SetLimitOptions extends ChosenLimit {
  readonly etag?: string;
  readonly key?: string;
}

interface SteerOptions {
  readonly reason?: string;
  readonly key?: string;
}

/** Adds `set-limit`, `suspend`, `resume` and `close` to the program. */
export function addSteerCommands(program: Command, context: CommandContext): void {
  addSetLimit(program, context);
  addSuspend(program, context);
  addResume(program, context);
  addClose(program, context);
}

function addSetLimit(program: Command, context: CommandContext): void {
  const command = program
    .command('set-limit <budget>')
    .addArgument(amountArgument('amount', 'the new amount of the limit, or "none" to take the limit away'))
    .description('set the amount of one limit, add one, or take one away; what is held and settled stays')
    .option('--limit <name>', 'which limit, by its name; may be left out where there is only one')
    .addOption(
      new Option('--window <window>', 'which limit, by its window: day@Europe/Amsterdam, rolling:1h ...').argParser(
        parseWindow,
      ),
    )
    .option('--add', 'make it if it is not there; its window is that of --window, or the one that its name says')
    .option('--etag <etag>', 'edit only what was read with this etag (default: read afresh)')
    .addOption(keyOption())
    .action((path: string, words: string[], options: SetLimitOptions) =>
      withSession(context, command, (session) => setLimit(session, path, words, options)),
    );
  withExample(
    command,
    'set-limit acme 1500 USD',
    'set-limit acme/triage 20 --limit lifetime',
    'set-limit acme/triage 5 --window day@Europe/Amsterdam --add',
    'set-limit acme/triage none --limit day@Europe/Amsterdam',
  );
}

// The list of limits is replaced as a whole, so the edit is tied to the etag of what was read: a limit that someone adds
// in between is never lost.
async function setLimit(
  session: Session,
  path: string,
  words: readonly string[],
  options: SetLimitOptions,
): Promise<void> {
  const amount = words.join(' ') === NONE ? undefined : amountOf(words);
  await checkUnits([amount], () => readUnit(session, path));
  const before = await session.connection.call(BudgetService.method.getBudget, { budget: path });
  const budget = requireBudget(before.budget);
  const key = options.key ?? freshKey();
  const etag = options.etag ?? budget.etag;
  const limits = replaceLimit(budget.limits, options, amount?.micros);
  const reply = await session.change(
    BudgetService.method.updateBudget,
    { budget: { budget: path, limits }, updateMask: { paths: ['limits'] }, etag, idempotencyKey: key },
    ['--key', key, '--etag', etag],
  );
  session.show(UpdateBudgetResponseSchema, reply, () => drawBudget(requireBudget(reply.budget), session.terminal));
}

function addSuspend(program: Command, context: CommandContext): void {
  const command = program
    .command('suspend <budget>')
    .description('stop Reserve, Extend and Renew in a budget and all below it, at once')
    .addOption(reasonOption())
    .addOption(keyOption())
    .action((path: string, options: SteerOptions) =>
      withSession(context, command, async (session) => {
        const key = options.key ?? freshKey();
        const request = { budget: path, reason: options.reason ?? '', idempotencyKey: key };
        const reply = await session.change(BudgetService.method.suspendBudget, request, ['--key', key]);
        session.show(SuspendBudgetResponseSchema, reply, () =>
          drawBudget(requireBudget(reply.budget), session.terminal),
        );
      }),
    );
  withExample(command, 'suspend acme/triage --reason "runaway loop"');
}

function addResume(program: Command, context: CommandContext): void {
  const command = program
    .command('resume <budget>')
    .description('undo suspend')
    .addOption(reasonOption())
    .addOption(keyOption())
    .action((path: string, options: SteerOptions) =>
      withSession(context, command, async (session) => {
        const key = options.key ?? freshKey();
        const request = { budget: path, reason: options.reason ?? '', idempotencyKey: key };
        const reply = await session.change(BudgetService.method.resumeBudget, request, ['--key', key]);
        session.show(ResumeBudgetResponseSchema, reply, () =>
          drawBudget(requireBudget(reply.budget), session.terminal),
        );
      }),
    );
  withExample(command, 'resume acme/triage');
}

function addClose(program: Command, context: CommandContext): void {
  const command = program
    .command('close <budget>')
    .description('close a budget and all below it, for good; live holds may still be settled')
    .addOption(reasonOption())
    .addOption(keyOption())
    .action((path: string, options: SteerOptions) =>
      withSession(context, command, async (session) => {
        const key = options.key ?? freshKey();
        const request = { budget: path, reason: options.reason ?? '', idempotencyKey: key };
        const reply = await session.change(BudgetService.method.closeBudget, request, ['--key', key]);
        session.show(CloseBudgetResponseSchema, reply, () => drawBudget(requireBudget(reply.budget), session.terminal));
      }),
    );
  withExample(command, 'close acme/triage/run-42 --reason done');
}
