// `update`: edits what a budget is, apart from its limits, which `set-limit` edits one at a time. Its own file because it turns
// the options that were given, and no others, into a mask. Labels are replaced as a whole on the wire and one by one here, so such
// an edit is tied to what was read.
import { type Command, Option } from 'commander';
import { type Budget, BudgetService, UpdateBudgetResponseSchema } from '../../gen/budgetd/v1/budget_pb.ts';
import { addBoundOptions, type BoundOptions, boundAmounts, boundFields } from './bounds.ts';
import { readUnit, requireBudget } from './budget-commands.ts';
import {
  addEnforcementOptions,
  type EnforcementOptions,
  enforcementAmounts,
  enforcementFields,
} from './enforcement.ts';
import { addModelOptions, type ModelOptions, modelFields } from './models.ts';
import { checkUnits, keyOption, labelOption, ON_EXPIRY, onExpiryOption, withExample } from './options.ts';
import { formatRate } from './rate.ts';
import { type CommandContext, freshKey, type Session, withSession } from './session.ts';
import { addShareOptions, type ShareOptions, shareAmounts, shareFields } from './shares.ts';
import { drawBudget } from './show-budget.ts';
import { UsageError } from './usage-error.ts';

interface UpdateOptions extends BoundOptions, EnforcementOptions, ShareOptions, ModelOptions {
  readonly kind?: string;
  readonly owner?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly removeLabel?: readonly string[];
  readonly uncapped?: boolean;
  readonly onExpiry?: keyof typeof ON_EXPIRY;
  readonly etag?: string;
  readonly key?: string;
}

/** Adds `update` to the program. */
export function addUpdateCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('update <budget>')
    .description(
      'edit a budget: only what is said changes, and "none" takes a bound, the rates or the template away; limits: see set-limit',
    )
    .option('--kind <kind>', 'what it stands for; "" clears it')
    .option('--owner <text>', 'who answers for it; "" clears it')
    .addOption(labelOption())
    .addOption(
      new Option('--remove-label <key>', 'takes a label away; may be given several times').argParser(
        (key: string, previous: readonly string[] | undefined) => [...(previous ?? []), key],
      ),
    )
    .option('--uncapped', 'it is meant to have no limit on itself or above')
    .option('--no-uncapped', 'it is not')
    .addOption(onExpiryOption());
  addModelOptions(addShareOptions(addEnforcementOptions(addBoundOptions(command))))
    .option('--etag <etag>', 'edit only what was read with this etag')
    .addOption(keyOption())
    .action((path: string, options: UpdateOptions) =>
      withSession(context, command, (session) => update(session, path, options)),
    );
  withExample(
    command,
    'update acme/triage --max-active 20 --rate "100 requests/1m" --rate "200000 tokens/1m burst 400000"',
    'update acme/triage --label cost-centre=4711 --remove-label pilot',
    'update acme/triage --max-lease 10m --close-after none --overrun record',
    'update acme/pilot --mode enforce --keep none --alert-at default',
    'update acme/support --floor 30 --share none',
    'update acme/support --models any --max-tier standard',
    'update acme/chat --child-template run.json',
  );
}

async function update(session: Session, path: string, options: UpdateOptions): Promise<void> {
  const amounts = [...boundAmounts(options), ...enforcementAmounts(options), ...shareAmounts(options)];
  await checkUnits(amounts, () => readUnit(session, path));
  const bounds = boundFields(options);
  const enforcement = enforcementFields(options);
  const shares = shareFields(options);
  const models = modelFields(options);
  const { kind, owner, uncapped, onExpiry, label, removeLabel } = options;
  const editsLabels = label !== undefined || removeLabel !== undefined;
  const paths = [
    ...(kind === undefined ? [] : ['kind']),
    ...(owner === undefined ? [] : ['owner']),
    ...(editsLabels ? ['labels'] : []),
    ...(uncapped === undefined ? [] : ['uncapped']),
    ...(onExpiry === undefined ? [] : ['on_expiry']),
    ...bounds.paths,
    ...enforcement.paths,
    ...shares.paths,
    ...models.paths,
  ];
  if (paths.length === 0) throw new UsageError('say what to change (--help lists it)');
  const before = editsLabels || options.rate !== undefined ? await readBudget(session, path) : undefined;
  const key = options.key ?? freshKey();
  const etag = options.etag ?? (editsLabels ? (before?.etag ?? '') : '');
  const budget = {
    budget: path,
    ...bounds.fields,
    ...enforcement.fields,
    ...shares.fields,
    ...models.fields,
    kind: kind ?? '',
    owner: owner ?? '',
    labels: editsLabels ? labelsAfter(before?.labels ?? {}, label ?? {}, removeLabel ?? []) : {},
    uncapped: uncapped === true,
    ...(onExpiry === undefined ? {} : { onExpiry: ON_EXPIRY[onExpiry] }),
  };
  const reply = await session.change(
    BudgetService.method.updateBudget,
    { budget, updateMask: { paths }, etag, idempotencyKey: key },
    ['--key', key, ...(etag === '' ? [] : ['--etag', etag])],
  );
  session.show(UpdateBudgetResponseSchema, reply, () => {
    const after = requireBudget(reply.budget);
    const dropped = options.rate === undefined ? [] : droppedRates(before, after);
    const note = dropped.length === 0 ? '' : `Dropped: ${dropped.join(', ')}.\n`;
    return note + drawBudget(after, session.terminal);
  });
}

async function readBudget(session: Session, path: string): Promise<Budget> {
  const { budget } = await session.connection.call(BudgetService.method.getBudget, { budget: path });
  return requireBudget(budget);
}

function labelsAfter(
  before: Readonly<Record<string, string>>,
  set: Readonly<Record<string, string>>,
  removed: readonly string[],
): Record<string, string> {
  const absent = removed.find((key) => !Object.hasOwn(before, key));
  if (absent !== undefined) {
    throw new UsageError(`no label is ${absent} (there are: ${Object.keys(before).sort().join(', ') || 'none'})`);
  }
  const both = removed.find((key) => Object.hasOwn(set, key));
  if (both !== undefined) throw new UsageError(`label ${both} is both set and removed`);
  return { ...Object.fromEntries(Object.entries(before).filter(([key]) => !removed.includes(key))), ...set };
}

// All rates are replaced by those named, so one that was not named again is gone: nobody should miss it later.
function droppedRates(before: Budget | undefined, after: Budget): string[] {
  const kept = new Set(after.rates.map(({ kind, per }) => `${kind}/${per?.seconds}.${per?.nanos}`));
  return (before?.rates ?? []).flatMap((rate) =>
    kept.has(`${rate.kind}/${rate.per?.seconds}.${rate.per?.nanos}`) ? [] : [formatRate(rate)],
  );
}
