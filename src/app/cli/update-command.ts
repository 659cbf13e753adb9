// `update`: edits what a budget is, apart from its limits, which `set-limit` edits one at a time. Its own file because it turns
// the options that were given, and no others, into a mask.
import type { Command } from 'commander';
import { BudgetService, UpdateBudgetResponseSchema } from '../../gen/budgetd/v1/budget_pb.ts';
import { addBoundOptions, type BoundOptions, boundAmounts, boundFields } from './bounds.ts';
import { readUnit, requireBudget } from './budget-commands.ts';
import {
  addEnforcementOptions,
  type EnforcementOptions,
  enforcementAmounts,
  enforcementFields,
} from './enforcement.ts';
import { checkUnits, keyOption, ON_EXPIRY, onExpiryOption, withExample } from './options.ts';
import { type CommandContext, freshKey, type Session, withSession } from './session.ts';
import { drawBudget } from './show-budget.ts';
import { UsageError } from './usage-error.ts';

interface UpdateOptions extends BoundOptions, EnforcementOptions {
  readonly kind?: string;
  readonly owner?: string;
  readonly uncapped?: boolean;
  readonly onExpiry?: keyof typeof ON_EXPIRY;
  readonly etag?: string;
  readonly key?: string;
}

/** Adds `update` to the program. */
export function addUpdateCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('update <budget>')
    .description('edit a budget: only what is said changes, and "none" takes a bound, the rates or the template away')
    .option('--kind <kind>', 'what it stands for')
    .option('--owner <text>', 'who answers for it')
    .option('--uncapped', 'it is meant to have no limit on itself or above')
    .option('--no-uncapped', 'it is not')
    .addOption(onExpiryOption());
  addEnforcementOptions(addBoundOptions(command))
    .option('--etag <etag>', 'edit only what was read with this etag')
    .addOption(keyOption())
    .action((path: string, options: UpdateOptions) =>
      withSession(context, command, (session) => update(session, path, options)),
    );
  withExample(
    command,
    'update acme/triage --max-active 20 --rate "100 requests/1m" --rate "200000 tokens/1m burst 400000"',
    'update acme/triage --max-lease 10m --close-after none --overrun record',
    'update acme/pilot --mode enforce --keep none --alert-at default',
    'update acme/chat --child-template run.json',
  );
}

async function update(session: Session, path: string, options: UpdateOptions): Promise<void> {
  await checkUnits([...boundAmounts(options), ...enforcementAmounts(options)], () => readUnit(session, path));
  const bounds = boundFields(options);
  const enforcement = enforcementFields(options);
  const { kind, owner, uncapped, onExpiry } = options;
  const paths = [
    ...(kind === undefined ? [] : ['kind']),
    ...(owner === undefined ? [] : ['owner']),
    ...(uncapped === undefined ? [] : ['uncapped']),
    ...(onExpiry === undefined ? [] : ['on_expiry']),
    ...bounds.paths,
    ...enforcement.paths,
  ];
  if (paths.length === 0) throw new UsageError('say what to change (--help lists it)');
  const key = options.key ?? freshKey();
  const etag = options.etag ?? '';
  const budget = {
    budget: path,
    ...bounds.fields,
    ...enforcement.fields,
    kind: kind ?? '',
    owner: owner ?? '',
    uncapped: uncapped === true,
    ...(onExpiry === undefined ? {} : { onExpiry: ON_EXPIRY[onExpiry] }),
  };
  const reply = await session.change(
    BudgetService.method.updateBudget,
    { budget, updateMask: { paths }, etag, idempotencyKey: key },
    ['--key', key],
  );
  session.show(UpdateBudgetResponseSchema, reply, () => drawBudget(requireBudget(reply.budget), session.terminal));
}
