// The commands on budgets: command lines in, requests on the wire, text out.
import { toJson } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { BudgetService, BudgetState, CreateBudgetRequestSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { PriceService } from '../../../src/gen/budgetd/v1/price_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { ACME_DRAWN, acme, availability, ID, RESERVATION_DRAWN, type Result, reservation, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (words: readonly string[], change: Partial<CliContext> = {}): Promise<Result> =>
  runCli(fake, words, change);

describe('budgets', () => {
  it('create sends what was typed and shows what was made', async () => {
    fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
    const words = ['create', 'acme', '--limit', '10 USD', '--limit', 'burst=2500000u', '--kind', 'tenant'];
    const more = ['--owner', 'finance', '--label', 'env=prod', '--label', 'area=x=y', '--on-expiry', 'charge_started'];
    expect(await run([...words, ...more, '--key', 'k1'])).toEqual({ exitCode: 0, stdout: ACME_DRAWN, stderr: '' });
    expect(toJson(CreateBudgetRequestSchema, fake.requestOf(BudgetService.method.createBudget))).toEqual({
      idempotencyKey: 'k1',
      budget: {
        budget: 'acme',
        kind: 'tenant',
        owner: 'finance',
        labels: { env: 'prod', area: 'x=y' },
        unit: 'USD',
        limits: [{ amountMicros: '10000000' }, { name: 'burst', amountMicros: '2500000' }],
        onExpiry: 'ON_EXPIRY_CHARGE_STARTED',
      },
    });
  });

  it.each<readonly [string, readonly string[], string]>([
    [
      'inr',
      ['EUR', 'INR'],
      'warning: the unit inr has no row in the price book, so model calls can not be priced in it: INR has one, and differs by case alone\n',
    ],
    [
      'credits',
      ['INR'],
      'warning: the unit credits has no row in the price book, so model calls can not be priced in it: say what it is worth (budgetctl prices unit credits)\n',
    ],
    ['INR', ['EUR', 'INR'], ''],
    ['USD', [], ''],
  ])('create warns of a new tree in %s where %j have a row', async (unit, known, warning) => {
    fake.answer(PriceService.method.listUnitPrices, () => ({ unitPrices: known.map((each) => ({ unit: each })) }));
    fake.answer(BudgetService.method.createBudget, () => ({ budget: { ...acme, unit } }));
    fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...acme, unit } }));
    expect(await run(['create', 'pay2', '--limit', `10 ${unit}`])).toMatchObject({ exitCode: 0, stderr: warning });
    expect(await run(['create', 'pay2/a', '--limit', `10 ${unit}`])).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it.each(['25k', '2.5M', '1 mn'])('an amount of %s is none, and makes no unit', async (amount) => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.createBudget, () => ({ budget: { ...acme, unit: 'k' } }));
    const expected = `"${amount.replace(' ', '')}" is not an amount: write all its digits`;
    for (const words of [
      ['reserve', 'acme', amount],
      ['create', 'pay', '--limit', amount],
      ['create', 'pay', '--limit', amount, '--limit', '5 USD'],
    ]) {
      const { exitCode, stderr } = await run(words);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(expected);
    }
    expect(fake.received.filter(({ method }) => method !== 'GetBudget')).toEqual([]);
    expect((await run(['create', 'pay', '--unit', 'k', '--limit', '5k'])).exitCode).toBe(0);
  });

  it('create says where it is not known whether the unit has a row, and is done', async () => {
    fake.answer(BudgetService.method.createBudget, () => ({ budget: { ...acme, unit: 'inr' } }));
    expect(await run(['create', 'pay2', '--limit', '10 inr'])).toMatchObject({
      exitCode: 0,
      stderr: 'warning: whether model calls can be priced in the unit inr is not known: no answer for ListUnitPrices\n',
    });
  });

  it('create below a root sends no unit, but checks the one that was typed', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.createBudget, () => ({ budget: acme }));
    const wrong = await run(['create', 'acme/triage', '--limit', '5 INR']);
    expect(wrong).toMatchObject({
      exitCode: 2,
      stderr: 'error: this tree counts in USD, not in INR; nothing was changed\n',
    });
    expect(fake.received.map((call) => call.method)).toEqual(['GetBudget']);
    expect(await run(['create', 'acme/triage', '--limit', '5 USD'])).toMatchObject({ exitCode: 0 });
    const { budget, idempotencyKey } = fake.requestOf(BudgetService.method.createBudget);
    expect(budget?.unit).toBe('');
    expect(idempotencyKey).toMatch(/^cli-.{21}$/);
  });

  it('get draws a budget, and a reservation by its id', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(ReservationService.method.getReservation, () => ({ reservation: reservation(), availability }));
    expect(await run(['get', 'acme'])).toEqual({ exitCode: 0, stdout: ACME_DRAWN, stderr: '' });
    expect(await run(['get', ID])).toEqual({ exitCode: 0, stdout: RESERVATION_DRAWN, stderr: '' });
    expect(fake.requestOf(ReservationService.method.getReservation).reservationId).toBe(ID);
  });

  it('get --json prints the whole reply, amounts as strings and empty fields too', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    const { stdout, exitCode } = await run(['get', 'acme', '--json']);
    expect(exitCode).toBe(0);
    const { budget } = JSON.parse(stdout);
    expect(budget.balances).toEqual([
      {
        limit: 'lifetime',
        amountMicros: '10000000',
        settledMicros: '2000000',
        heldMicros: '500000',
        overrunMicros: '0',
        availableMicros: '7500000',
        flooredMicros: '0',
      },
    ]);
    expect(budget).toMatchObject({ state: 'BUDGET_STATE_ACTIVE', suspendedBy: '', revision: '3' });
  });

  it('top-up adds exactly what was typed, in two words too', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.topUp, () => ({ budget: acme }));
    const { stdout, exitCode } = await run(['top-up', 'acme', '0.1', 'USD', '--limit', 'lifetime', '--key', 'k']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `Added 0.1 USD.\n${ACME_DRAWN}` });
    expect(fake.requestOf(BudgetService.method.topUp)).toMatchObject({
      budget: 'acme',
      limit: 'lifetime',
      addMicros: 100_000n,
      idempotencyKey: 'k',
    });
  });

  it('set-limit replaces one limit under the etag that it read', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
    expect(await run(['set-limit', 'acme', '15'])).toEqual({ exitCode: 0, stdout: ACME_DRAWN, stderr: '' });
    const request = fake.requestOf(BudgetService.method.updateBudget);
    expect(request).toMatchObject({ etag: 'e3', updateMask: { paths: ['limits'] } });
    expect(request.budget?.limits).toMatchObject([
      { name: 'lifetime', amountMicros: 15_000_000n, window: { kind: { case: 'lifetime' } } },
    ]);
    expect(request.budget?.kind).toBe('');
  });

  it('set-limit says how to repeat it, with key and etag', async () => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: { ...acme, etag: 'it is' } }));
    fake.answer(BudgetService.method.updateBudget, () => {
      throw new Refuse(status.ABORTED, 'CONTENTION', 'lost a race', { retryAfterMs: 50 });
    });
    const failed = await run(['set-limit', 'acme', '15', '--key', 'k']);
    expect(failed).toMatchObject({ exitCode: 6, stdout: '' });
    expect(failed.stderr).toContain("To repeat it without a double effect add --key k --etag 'it is'.");
    fake.answer(BudgetService.method.updateBudget, () => ({ budget: acme }));
    fake.received.length = 0;
    expect(await run(['set-limit', 'acme', '15', '--key', 'k', '--etag', 'it is'])).toMatchObject({ exitCode: 0 });
    expect(fake.requestOf(BudgetService.method.updateBudget)).toMatchObject({ etag: 'it is', idempotencyKey: 'k' });
  });

  it.each([
    ['suspend', BudgetService.method.suspendBudget],
    ['resume', BudgetService.method.resumeBudget],
    ['close', BudgetService.method.closeBudget],
  ] as const)('%s names the budget and the reason', async (word, method) => {
    const answer = (): { budget: typeof acme } => ({
      budget: { ...acme, state: BudgetState.SUSPENDED, suspendedBy: 'org' },
    });
    fake.answer(BudgetService.method.suspendBudget, answer);
    fake.answer(BudgetService.method.resumeBudget, answer);
    fake.answer(BudgetService.method.closeBudget, answer);
    const { exitCode, stdout } = await run([word, 'acme', '--reason', 'runaway loop', '--key', 'k']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('state      suspended by org\n');
    expect(fake.received.map((call) => call.method)).toEqual([method.name]);
    expect(fake.received[0]?.request).toMatchObject({ budget: 'acme', reason: 'runaway loop', idempotencyKey: 'k' });
  });
});
