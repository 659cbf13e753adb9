// The demo passes against a ledger that keeps to the rules, and fails against one that breaks a single one.
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runDemo } from '../../../src/app/cli/demo.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { type Reservation, ReservationSchema, ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { keepTerminal } from '../../unit/cli/plain-terminal.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

/** Makes the fake keep one budget; `remembersKeys` false makes it grant a repeated key anew. */
function keepLedger(remembersKeys: boolean): void {
  let amountMicros = 0n;
  const byKey = new Map<string, Reservation>();
  const all: Reservation[] = [];
  const sum = (field: 'heldMicros' | 'settledMicros'): bigint => all.reduce((total, one) => total + one[field], 0n);
  const availableMicros = (): bigint => amountMicros - sum('heldMicros') - sum('settledMicros');
  const standing = (name: string) => {
    const heldMicros = sum('heldMicros');
    const settledMicros = sum('settledMicros');
    const balance = { limit: 'lifetime', amountMicros, heldMicros, settledMicros, availableMicros: availableMicros() };
    return { budget: { budget: name, unit: 'credits', balances: [balance] } };
  };
  fake.answer(BudgetService.method.createBudget, ({ budget }) => {
    amountMicros = budget?.limits[0]?.amountMicros ?? 0n;
    return standing(budget?.budget ?? '');
  });
  fake.answer(BudgetService.method.getBudget, ({ budget }) => standing(budget));
  fake.answer(ReservationService.method.reserve, ({ idempotencyKey, maxMicros = 0n, minMicros = 0n }) => {
    const before = byKey.get(idempotencyKey);
    if (before !== undefined && remembersKeys) return { reservation: before };
    const available = availableMicros();
    const grantedMicros = maxMicros < available ? maxMicros : available;
    if (grantedMicros < minMicros && before === undefined)
      throw new Refuse(status.RESOURCE_EXHAUSTED, 'CAPACITY_HELD', 'no');
    const made = create(ReservationSchema, {
      reservationId: `x:${all.length}`,
      grantedMicros,
      heldMicros: grantedMicros,
    });
    all.push(made);
    byKey.set(idempotencyKey, made);
    return { reservation: made };
  });
  fake.answer(ReservationService.method.settle, ({ reservationId, cost }) => {
    const found = all.find((one) => one.reservationId === reservationId);
    if (found === undefined || cost.case !== 'actualMicros')
      throw new Refuse(status.NOT_FOUND, 'RESERVATION_NOT_FOUND', 'no');
    Object.assign(found, {
      heldMicros: 0n,
      settledMicros: cost.value,
      releasedMicros: found.grantedMicros - cost.value,
    });
    return { reservation: found };
  });
}

async function play() {
  const { terminal, stdout, stderr } = keepTerminal();
  const exitCode = await runDemo(['--server', fake.address, '--token', 't'], terminal, {});
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

it('prints the worked example, with the replay', async () => {
  keepLedger(true);
  const { exitCode, stdout, stderr } = await play();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(
    stdout
      .replace(/demo-[0-9a-z]{8}/g, 'demo-xxxxxxxx')
      .split('\n')
      .slice(0, 13),
  ).toEqual([
    'Three components share 1000 credits in the budget demo-xxxxxxxx.',
    '',
    'EVENT                        DECISION                   HELD  SETTLED  AVAILABLE',
    '───────────────────────────  ─────────────────────────  ────  ───────  ─────────',
    'a budget of 1000 is made     created                       0        0       1000',
    'A asks for 500               granted 500                 500        0        500',
    'B asks for 400               granted 400                 900        0        100',
    'C asks for 300, at least 50  granted 100                1000        0          0',
    'A is done and cost 420       settled 420, 80 back        500      420         80',
    'B asks again with its key    granted 400, the same one   500      420         80',
    'C is done and cost 60        settled 60, 40 back         400      480        120',
    '',
    '✓ every figure is as it must be. See it: budgetctl tree demo-xxxxxxxx',
  ]);
  expect(fake.received.every((call) => call.authorization === 'Bearer t')).toBe(true);
});

it('fails, and says where, when a repeated key is granted twice', async () => {
  keepLedger(false);
  const { exitCode, stdout, stderr } = await play();
  expect(exitCode).toBe(1);
  expect(stdout).not.toContain('✓');
  expect(stderr.split('\n')).toEqual([
    '✗ B asks again with its key: decision is granted 80, ANOTHER one, must be granted 400, the same one',
    '✗ B asks again with its key: held is 580, must be 500',
    '✗ B asks again with its key: available is 0, must be 80',
    '✗ C is done and cost 60: held is 480, must be 400',
    '✗ C is done and cost 60: available is 40, must be 120',
    '',
  ]);
});

it('ends as budgetctl does where the service refuses or is not there', async () => {
  fake.answer(BudgetService.method.createBudget, () => {
    throw new Refuse(status.PERMISSION_DENIED, 'FORBIDDEN', 'not yours');
  });
  const refused = await play();
  expect(refused.exitCode).toBe(4);
  expect(refused.stderr).toMatch(/^FORBIDDEN: not yours\n/);
  fake.stop();
  expect((await play()).exitCode).toBe(6);
});

it('prints nothing of the example where nobody answers', async () => {
  fake.stop();
  const { exitCode, stdout, stderr } = await play();
  expect({ exitCode, stdout }).toEqual({ exitCode: 6, stdout: '' });
  expect(stderr).toContain(`  → Nothing answers at ${fake.address}`);
});
