// Modes, kept capacity, shares that are told of, classes and alternatives on the command line: words in, requests on the wire,
// text out.
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { Mode, OnExhaustion, Priority } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { type FakeCoordinator, startFakeCoordinator } from './fake-coordinator.ts';
import { acme, availability, type Result, reservation, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (...words: readonly string[]): Promise<Result> => runCli(fake, words);
type Acme = Exclude<typeof acme, { $typeName: string }>;

const OPTIONS = [
  ...['--mode', 'soft', '--tolerance', '2', '--on-exhaustion', 'degrade'],
  ...['--keep', 'critical=3 USD', '--keep', 'interactive=0.5', '--alert-at', '50,80%,100'],
];
const ENFORCEMENT = {
  mode: Mode.SOFT,
  toleranceMicros: 2_000_000n,
  onExhaustion: OnExhaustion.DEGRADE,
  kept: [
    { priority: Priority.CRITICAL, micros: 3_000_000n },
    { priority: Priority.INTERACTIVE, micros: 500_000n },
  ],
};

describe('create and update', () => {
  it('state how limits are applied and what is told of them', async () => {
    fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
    expect((await run('create', 'acme', '--limit', '10 USD', ...OPTIONS)).exitCode).toBe(0);
    expect(fake.requestOf(BudgetService.method.createBudget).budget).toMatchObject({
      enforcement: ENFORCEMENT,
      alertAt: { percent: [50, 80, 100] },
    });
  });

  it('edit what is said and nothing else', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
    expect((await run('update', 'acme', ...OPTIONS)).exitCode).toBe(0);
    const { budget, updateMask } = fake.requestOf(BudgetService.method.updateBudget);
    expect(updateMask?.paths).toEqual([
      'enforcement.mode',
      'enforcement.tolerance_micros',
      'enforcement.on_exhaustion',
      'enforcement.kept',
      'alert_at',
    ]);
    expect(budget).toMatchObject({ enforcement: ENFORCEMENT, alertAt: { percent: [50, 80, 100] } });
  });

  it.each([
    [['--keep', 'none'], ['enforcement.kept'], undefined],
    [['--alert-at', 'none'], ['alert_at'], { percent: [] }],
    [['--alert-at', 'default'], ['alert_at'], undefined],
  ] as const)('take away with %j', async (words, paths, alertAt) => {
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
    expect((await run('update', 'acme', ...words)).exitCode).toBe(0);
    const { budget, updateMask } = fake.requestOf(BudgetService.method.updateBudget);
    expect(updateMask?.paths).toEqual(paths);
    expect(budget?.enforcement).toBeUndefined();
    if (alertAt === undefined) expect(budget?.alertAt).toBeUndefined();
    else expect(budget?.alertAt).toMatchObject(alertAt);
  });

  it.each([
    ['--mode', 'strict'],
    ['--keep', 'critical'],
    ['--keep', 'urgent=3'],
    ['--tolerance', 'much'],
    ['--alert-at', '80,x'],
  ])('say what is wrong with %s %s', async (option, value) => {
    const { exitCode, stderr } = await run('update', 'acme', option, value);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(value);
    expect(fake.received).toEqual([]);
  });

  it.each([
    ['--keep', 'critical=3', 'none'],
    ['--keep', 'none', 'critical=3'],
    ['--rate', '60 requests/1m', 'none'],
    ['--rate', 'none', '60 requests/1m'],
  ])('take nothing and something for nothing clear: %s %s and %s', async (option, first, second) => {
    const { exitCode, stderr } = await run('update', 'acme', option, first, option, second);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${option} none goes with no other ${option}`);
    expect(fake.received).toEqual([]);
  });

  it('check the units of what is typed', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    const { exitCode, stderr } = await run('update', 'acme', '--keep', 'critical=3 INR');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('USD, not in INR');
  });
});

describe('get', () => {
  it('shows what is another than the default', async () => {
    const budget = { ...(acme as Acme), enforcement: ENFORCEMENT, alertAt: { percent: [50] } };
    fake.answer(BudgetService.method.getBudget, () => ({ budget }));
    const { stdout } = await run('get', 'acme');
    expect(stdout).toContain('mode       soft\n');
    expect(stdout).toContain('tolerance  2 USD past an amount\n');
    expect(stdout).toContain('exhausted  degrade\n');
    expect(stdout).toContain('kept       3 USD for critical, 0.5 USD for interactive\n');
    expect(stdout).toContain('alerts     at 50%\n');
  });

  it('says nothing of defaults, and says that nothing is told', async () => {
    const plain = { enforcement: { mode: Mode.ENFORCE, onExhaustion: OnExhaustion.BLOCK } };
    fake.answer(BudgetService.method.getBudget, () => ({
      budget: { ...(acme as Acme), ...plain, alertAt: { percent: [80, 100] } },
    }));
    expect((await run('get', 'acme')).stdout).not.toMatch(/mode|exhausted|kept|alerts/);
    fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...(acme as Acme), alertAt: {} } }));
    expect((await run('get', 'acme')).stdout).toContain('alerts     none\n');
  });
});

describe('reserve', () => {
  it('sends its class and its other ways, and shows what came of them', async () => {
    const shadow = { mode: Mode.OBSERVE, reason: 'BUDGET_EXHAUSTED', budget: 'acme' };
    const granted = reservation({ priority: Priority.CRITICAL, alternative: 'small=er', shadow });
    fake.answer(ReservationService.method.reserve, () => ({ reservation: granted, availability }));
    const ways = ['--alternative', 'small=er=0.08', '--alternative', 'tiny=0'];
    const { stdout } = await run('reserve', 'acme', '0.5', '--priority', 'critical', ...ways);
    expect(fake.requestOf(ReservationService.method.reserve)).toMatchObject({
      priority: Priority.CRITICAL,
      alternatives: [
        { label: 'small=er', maxMicros: 80_000n },
        { label: 'tiny', maxMicros: 0n },
      ],
    });
    expect(stdout).toContain('priority     critical\n');
    expect(stdout).toContain('instead      small=er\n');
    expect(stdout).toContain('shadow       BUDGET_EXHAUSTED by acme, which is in mode observe\n');
  });

  it.each([
    ['--priority', 'urgent'],
    ['--alternative', 'small'],
    ['--alternative', '=1'],
  ])('says what is wrong with %s %s', async (option, value) => {
    expect((await run('reserve', 'acme', '1', option, value)).exitCode).toBe(2);
    expect(fake.received).toEqual([]);
  });
});

describe('watch', () => {
  it('ends with the code of a refusal, and does not try for ever where there is nobody', async () => {
    expect((await run('watch', 'acme', '--cursor', 'x', '--from-beginning')).exitCode).toBe(2);
    expect((await run('watch', 'acme', '--kind', 'gossip')).exitCode).toBe(2);
    const { exitCode, stderr } = await run('watch', 'acme');
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(status[status.UNIMPLEMENTED]);
  });
});
