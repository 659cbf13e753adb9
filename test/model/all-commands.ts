// The one command set that drives kernel and lanes alike, and how a run of it is judged.
import fc from 'fast-check';
import type { OnExpiry } from '../../src/kernel/budget.ts';
import type { LimitsOption } from '../support/commands.ts';
import { START_MS } from '../support/kernel-driver.ts';
import { BudgetModel } from './budget-model.ts';
import { AdvanceCommand } from './commands/advance-command.ts';
import { EditCommand } from './commands/edit-command.ts';
import { ExtendCommand } from './commands/extend-command.ts';
import { LookCommand } from './commands/look-command.ts';
import { ReleaseCommand } from './commands/release-command.ts';
import { RenewCommand } from './commands/renew-command.ts';
import { RepeatCommand } from './commands/repeat-command.ts';
import { ReserveCommand } from './commands/reserve-command.ts';
import { RestartCommand } from './commands/restart-command.ts';
import { SettleCommand } from './commands/settle-command.ts';
import { SpoilCommand } from './commands/spoil-command.ts';
import { SwitchCommand } from './commands/switch-command.ts';
import { TopUpCommand } from './commands/top-up-command.ts';
import { type ModelCommand, PLACES, submitAndCompare, type Target } from './model-command.ts';

const GRACE_MS = 500;

const micros = fc.integer({ min: 0, max: 60 });
const place = fc.nat(PLACES.length - 1);
const ref = fc.nat(4);
const ttlMs = fc.integer({ min: 1_000, max: 8_000 });
const key = fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined, freq: 2 });
const amount = fc.option(micros, { nil: undefined, freq: 3 });
// One limit, or two, so that the tighter one need not be the one listed first.
const limits: fc.Arbitrary<LimitsOption> = fc.oneof(micros, fc.record({ hard: micros, soft: micros }));
const edited = fc.option(
  fc.oneof({ weight: 9, arbitrary: limits }, { weight: 1, arbitrary: fc.constant<LimitsOption>({}) }),
  { nil: undefined, freq: 3 },
);
const onExpiry = fc.option(fc.constantFrom<OnExpiry>('release', 'charge', 'charge_started'), { nil: undefined });

const reserve = fc.record({ place, max: micros, min: micros, ttlMs, key }).map((fields) => new ReserveCommand(fields));
const extend = fc.record({ ref, add: micros, min: micros, key }).map((fields) => new ExtendCommand(fields));
const settle = fc
  .record({ ref, actual: amount, keepOpen: fc.boolean(), retain: amount, key })
  .map((fields) => new SettleCommand(fields));
const advance = fc.integer({ min: 1, max: 5_000 }).map((ms) => new AdvanceCommand(ms));
const what = fc.constantFrom('suspend' as const, 'resume' as const, 'resume' as const, 'close' as const);
const trouble = fc.constantFrom('conflict' as const, 'conflict' as const, 'conflict' as const, 'lost_answer' as const);

// fc.commands draws evenly: what should come more often is listed more often.
const ALL: fc.Arbitrary<ModelCommand>[] = [
  ...[reserve, reserve, reserve, reserve],
  ...[settle, settle, settle],
  ...[advance, advance],
  extend,
  fc.tuple(ref, key).map(([each, withKey]) => new ReleaseCommand(each, withKey)),
  fc.tuple(ref, ttlMs, key).map(([each, ms, withKey]) => new RenewCommand(each, ms, withKey)),
  fc.nat(6).map((each) => new RepeatCommand(each)),
  fc.tuple(place, edited, onExpiry).map(([where, to, policy]) => new EditCommand(where, to, policy)),
  fc
    .tuple(place, fc.nat(2), fc.integer({ min: 1, max: 40 }), key)
    .map(([where, limit, add, withKey]) => new TopUpCommand(where, limit, add, withKey)),
  fc.tuple(what, place).map(([how, where]) => new SwitchCommand(how, where)),
  fc.constant(new LookCommand()),
  fc.constant(new RestartCommand()),
  trouble.map((how) => new SpoilCommand(how)),
];

/** Runs the command set against targets that `open` makes, each with a tree of its own. */
export async function checkAgainstModel(
  open: (treeId: string, graceMs: number) => Promise<Target>,
  sizes: { readonly numRuns: number; readonly maxCommands: number },
): Promise<void> {
  let runCount = 0;
  const roomy = fc.integer({ min: 20, max: 100 });
  const root: fc.Arbitrary<LimitsOption> = fc.oneof(roomy, fc.record({ hard: roomy, soft: roomy }));
  const below = fc.option(limits, { nil: undefined, freq: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(root, below, below, below),
      fc.commands(ALL, { maxCommands: sizes.maxCommands, size: 'max' }),
      async (opening, commands) => {
        runCount += 1;
        const target = await open(`t${runCount}`, GRACE_MS);
        const model = new BudgetModel(START_MS, GRACE_MS);
        try {
          for (const [i, suffix] of PLACES.entries()) {
            const given = opening[i];
            const path = `${target.make.treeId}${suffix}`;
            await submitAndCompare(
              model,
              target,
              target.make.create(path, given === undefined ? {} : { limits: given }),
            );
          }
          await fc.asyncModelRun(() => ({ model, real: target }), commands);
          await new LookCommand().run(model, target);
        } finally {
          await target.stop();
        }
      },
    ),
    { numRuns: sizes.numRuns },
  );
}
