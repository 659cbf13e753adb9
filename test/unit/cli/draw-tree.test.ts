// The picture of a tree, held as a picture.
import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { drawTree } from '../../../src/app/cli/draw-tree.ts';
import { type Budget, BudgetSchema, BudgetState } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { type Availability, AvailabilitySchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { keepTerminal } from './plain-terminal.ts';

const M = 1_000_000n;

function budget(path: string, amount: bigint, settled: bigint, held: bigint, change: Partial<Budget> = {}): Budget {
  const availableMicros = (amount - settled - held) * M;
  const figures = { amountMicros: amount * M, settledMicros: settled * M, heldMicros: held * M, availableMicros };
  return {
    ...create(BudgetSchema, {
      budget: path,
      state: BudgetState.ACTIVE,
      balances: [{ limit: 'lifetime', ...figures }],
      availability: { availableMicros, budget: path, limit: 'lifetime', unit: 'USD' },
    }),
    ...change,
  };
}

function boundByAcme(micros: bigint): Availability {
  return create(AvailabilitySchema, { availableMicros: micros, budget: 'acme', limit: 'lifetime', unit: 'USD' });
}

it('draws branches, bars and figures, and says what binds from above', () => {
  const budgets = [
    budget('acme', 1000n, 420n, 500n),
    // The order of paths puts this between a parent and its child.
    budget('acme-2', 10n, 0n, 0n),
    budget('acme/ops', 200n, 20n, 0n, { availability: boundByAcme(80n * M) }),
    budget('acme/ops/run-1', 100n, 0n, 50n, { state: BudgetState.SUSPENDED, suspendedBy: 'acme/ops/run-1' }),
    create(BudgetSchema, {
      budget: 'acme/triage',
      totals: { settledMicros: 400n * M, heldMicros: 250_000n },
      availability: boundByAcme(80n * M),
    }),
  ];
  expect(drawTree(budgets, keepTerminal().terminal).split('\n')).toEqual([
    'BUDGET                             SETTLED    HELD  AVAILABLE    OF  UNIT  NOTE',
    '───────────  ────────────────────  ───────  ──────  ─────────  ────  ────  ──────────────────────',
    'acme         ████████▓▓▓▓▓▓▓▓▓▓░░      420  500            80  1000  USD',
    '├─ ops       ██░░░░░░░░··········       20    0            80   200  USD   bound by acme lifetime',
    '│  └─ run-1  ▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░        0   50            50   100  USD   suspended',
    '└─ triage                              400    0.25         80     -  USD   bound by acme lifetime',
    'acme-2       ░░░░░░░░░░░░░░░░░░░░        0    0            10    10  USD',
    '',
    '█ settled  ▓ held  ░ available  · out of reach (held back by a budget above)',
  ]);
});

it('gives every limit a line, shows overrun where there is any, and an uncapped budget without an end', () => {
  const two = budget('acme', 100n, 30n, 0n);
  const [first] = two.balances;
  const change = { limit: 'second', overrunMicros: 5n * M, amountMicros: 50n * M, availableMicros: 15n * M };
  if (first !== undefined) two.balances.push({ ...first, ...change });
  const open = create(BudgetSchema, { budget: 'open', uncapped: true, availability: { unit: 'USD' } });
  const lines = drawTree([two, budget('acme/x', 10n, 0n, 0n), open], keepTerminal().terminal).split('\n');
  expect(lines[0]).toMatch(/^BUDGET +LIMIT +SETTLED +HELD +OVERRUN +AVAILABLE +OF +UNIT +NOTE$/);
  expect(lines[3]).toMatch(/^│ +second +█{14}░{6} +30 +0 +5 +15 +50 +USD$/);
  expect(lines[4]).toMatch(/^└─ x +lifetime /);
  expect(lines[5]).toMatch(/^open +- +0 +0 +0 +∞ +- +USD +uncapped$/);
});

it('fits on 80 columns', () => {
  const note = { availability: boundByAcme(80n * M) };
  const budgets = [budget('acme', 1000n, 420n, 500n), budget('acme/a-team-with-a-long-name', 200n, 20n, 0n, note)];
  const lines = drawTree(budgets, keepTerminal(80).terminal).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBe(80);
  expect(lines[3]).toBe('└─ a-team-with-…  █░░░░·····       20     0         80   200  USD   bound by ac…');
});

it('keeps the whole path of a budget whose parent is not shown', () => {
  expect(drawTree([budget('acme/ops/run-1', 1n, 0n, 0n)], keepTerminal().terminal)).toContain('\nacme/ops/run-1  ░');
});

it('notes the floor and the share of a budget, and what the one above keeps for it', () => {
  const above = budget('acme', 10n, 0n, 0n);
  const [balance] = above.balances;
  if (balance !== undefined) balance.flooredMicros = 3n * M;
  const child = budget('acme/ops', 10n, 0n, 0n, { floorMicros: 3n * M, sharePercent: 40 });
  const lines = drawTree([above, child], keepTerminal().terminal).split('\n');
  expect(lines[2]).toMatch(/floored 3 \S* ?of lifetime, for children$/);
  expect(lines[3]).toMatch(/floor 3 .*of each limit above, share at most 40% of each limit above$/);
});
