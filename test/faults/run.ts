// `npm run faults -- --runs N --seed S`: plays every fault N times, each run with the seed after the one before, and counts what
// was asked, told and written. `--only` takes a part of a name, `--jobs` how many play at once (they mostly wait). Ends with 1
// where a promise was broken, naming the seed that shows it again.
import { parseArgs } from 'node:util';
import { startPostgres, stopPostgres } from '../support/postgres.ts';
import { ALL_SCENARIOS } from './all-scenarios.ts';
import { Random } from './random.ts';
import type { Outcome, Scenario } from './scenarios/scenario.ts';

interface Totals {
  runs: number;
  operations: number;
  attempts: number;
  acknowledged: number;
  entries: number;
  readonly told: Record<string, number>;
  readonly measured: Record<string, number[]>;
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '3' },
  },
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function add(totals: Totals, { report, told, measured }: Outcome): void {
  totals.runs += 1;
  totals.operations += report.operations;
  totals.attempts += report.attempts;
  totals.acknowledged += report.acknowledged;
  totals.entries += report.entries;
  for (const [name, count] of Object.entries(told)) totals.told[name] = (totals.told[name] ?? 0) + count;
  for (const [name, value] of Object.entries(measured ?? {})) {
    const all = totals.measured[name] ?? [];
    totals.measured[name] = all;
    all.push(value);
  }
}

/** Plays one scenario once; false where a promise was broken. */
async function play(scenario: Scenario, seed: number, totals: Map<string, Totals>): Promise<boolean> {
  const own = totals.get(scenario.name) ?? {
    runs: 0,
    operations: 0,
    attempts: 0,
    acknowledged: 0,
    entries: 0,
    told: {},
    measured: {},
  };
  totals.set(scenario.name, own);
  try {
    const outcome = await scenario.run(new Random(seed));
    if (typeof outcome === 'string') say(`  not played: ${scenario.name}: ${outcome}`);
    else add(own, outcome);
    return true;
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say(`✗ ${scenario.name}, seed ${seed}: ${message}`);
    return false;
  }
}

function print(totals: ReadonlyMap<string, Totals>): void {
  for (const [name, each] of totals) {
    const told = Object.entries(each.told).map(([reason, count]) => `${reason} ${count}`);
    const measured = Object.entries(each.measured).map(
      ([what, all]) => `${what} ${Math.min(...all)} to ${Math.max(...all)}`,
    );
    say(
      `${name}: ${each.runs} runs, ${each.operations} operations, ${each.attempts} attempts, ${each.acknowledged} acknowledged,`,
    );
    say(`  ${each.entries} entries; told ${told.join(', ')}${measured.length > 0 ? `; ${measured.join(', ')}` : ''}`);
  }
}

async function run(): Promise<boolean> {
  const [runs, firstSeed] = [Number(values.runs), Number(values.seed)];
  if (!Number.isSafeInteger(runs) || !Number.isSafeInteger(firstSeed))
    throw new RangeError('--runs N --seed S, whole numbers');
  const scenarios = ALL_SCENARIOS.filter(({ name }) => name.includes(values.only));
  const totals = new Map<string, Totals>();
  const turns = Array.from({ length: runs }, (_, i) =>
    scenarios.map((scenario) => ({ scenario, seed: firstSeed + i })),
  ).flat();
  say(`seeds ${firstSeed} to ${firstSeed + runs - 1}, ${turns.length} scenarios to play`);
  // What plays is taken down in order; nothing new begins.
  process.once('SIGINT', () => turns.splice(0));
  let broken = 0;
  const work = async (): Promise<void> => {
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      if (!(await play(turn.scenario, turn.seed, totals))) broken += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs) || 1) }, work));
  print(totals);
  say(broken === 0 ? '✓ no promise was broken' : `✗ ${broken} runs broke a promise`);
  return broken === 0;
}

await startPostgres();
try {
  process.exitCode = (await run()) ? 0 : 1;
} finally {
  await stopPostgres();
}
