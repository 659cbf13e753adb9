// The one command set that drives kernel and lanes alike, and how a run of it is judged.
import fc from 'fast-check';
import type { OnExpiry } from '../../src/kernel/budget.ts';
import type { Commands, LimitsOption } from '../support/commands.ts';
import { START_MS } from '../support/kernel-driver.ts';
import { per, rolling } from '../support/windows.ts';
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

type Terms = NonNullable<Parameters<Commands['terms']>[0]>;

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

const reservable = fc.nat(PLACES.length);
const also = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(reservable, { minLength: 1, maxLength: 2 }) },
);
const reserve = fc
  .record({ place: reservable, also, max: micros, min: micros, ttlMs, key })
  .map((fields) => new ReserveCommand(fields));
const extend = fc.record({ ref, add: micros, min: micros, key }).map((fields) => new ExtendCommand(fields));
const settle = fc
  .record({ ref, actual: amount, keepOpen: fc.boolean(), retain: amount, key })
  .map((fields) => new SettleCommand(fields));
// Mostly within a lease; now and then past what a rolling window counts, or the turn of an hour.
const ms = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 5_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 10_000, max: 90 * 60_000 }) },
);
const advance = ms.map((each) => new AdvanceCommand(each));
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

/** A limit for ever, one a calendar hour, and one over a time in which most of what a run spends comes and goes. */
function inWindows(of: fc.Arbitrary<number>): fc.Arbitrary<LimitsOption> {
  return fc.record({
    all: of,
    hour: of.map((each) => per('hour', each)),
    moment: of.map((each) => rolling(7_000, each)),
  });
}

/** Limits, and one bound or rate beside them. */
function terms(of: fc.Arbitrary<LimitsOption | undefined>): fc.Arbitrary<Terms> {
  const bounds: fc.Arbitrary<Terms> = fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }).map((maxActive) => ({ shape: { maxActive } })) },
    { weight: 1, arbitrary: micros.map((max) => ({ shape: { maxReservationMicros: BigInt(max) } })) },
    {
      weight: 1,
      arbitrary: fc
        .record({ count: fc.integer({ min: 1, max: 3 }), burst: fc.integer({ min: 1, max: 4 }) })
        .map((each): Terms => ({ rates: [{ kind: 'requests', perMs: 7_000, ...each }] })),
    },
  );
  return fc.tuple(of, bounds).map(([given, bound]) => (given === undefined ? bound : { ...bound, limits: given }));
}

/** Runs the command set against targets that `open` makes, each with a tree of its own. */
export async function checkAgainstModel(
  open: (treeId: string, graceMs: number) => Promise<Target>,
  sizes: { readonly numRuns: number; readonly maxCommands: number },
): Promise<void> {
  let runCount = 0;
  const roomy = fc.integer({ min: 20, max: 100 });
  const root = terms(fc.oneof(roomy, fc.record({ hard: roomy, soft: roomy }), inWindows(roomy)));
  const below = terms(fc.option(fc.oneof(limits, inWindows(micros)), { nil: undefined, freq: 3 }));
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(root, below, below, below, below),
      fc.commands(ALL, { maxCommands: sizes.maxCommands, size: 'max' }),
      async (opening, commands) => {
        runCount += 1;
        const target = await open(`t${runCount}`, GRACE_MS);
        const model = new BudgetModel(START_MS, GRACE_MS);
        try {
          for (const [i, suffix] of PLACES.entries()) {
            const given = opening[i];
            const path = `${target.make.treeId}${suffix}`;
            const template = suffix === '/a' ? { template: target.make.terms(opening[PLACES.length]) } : {};
            await submitAndCompare(model, target, target.make.create(path, { ...given, ...template }));
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
