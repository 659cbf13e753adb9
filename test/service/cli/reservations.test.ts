// The commands on holds: command lines in, requests on the wire, text out.
import { toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import {
  ReservationService,
  ReservationState,
  ReserveRequestSchema,
  SettleRequestSchema,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type FakeCoordinator, startFakeCoordinator } from './fake-coordinator.ts';
import { acme, availability, ID, nowMs, RESERVATION_DRAWN, type Result, reservation, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (words: readonly string[], change: Partial<CliContext> = {}): Promise<Result> =>
  runCli(fake, words, change);

describe('reservations', () => {
  it('reserve sends what was typed, with the token, and shows the grant', async () => {
    fake.answer(ReservationService.method.reserve, () => ({ reservation: reservation(), availability }));
    const words = ['reserve', 'acme/triage', '0.3', '--min', '100000micros', '--ttl', '1m30s', '--holder', 'worker-7'];
    const more = ['--acting-for', 'user-1', '--label', 'step=3', '--key', 'k', '--token', 's3cret'];
    expect(await run([...words, ...more])).toEqual({ exitCode: 0, stdout: RESERVATION_DRAWN, stderr: '' });
    expect(toJson(ReserveRequestSchema, fake.requestOf(ReservationService.method.reserve))).toEqual({
      budget: 'acme/triage',
      idempotencyKey: 'k',
      maxMicros: '300000',
      minMicros: '100000',
      ttl: '90s',
      holder: 'worker-7',
      actingFor: 'user-1',
      labels: { step: '3' },
    });
    expect(fake.received[0]?.authorization).toBe('Bearer s3cret');
  });

  it('reserve leaves out what was not typed: no minimum, no ttl, a fresh key each time', async () => {
    fake.answer(ReservationService.method.reserve, () => ({ reservation: reservation(), availability }));
    await run(['reserve', 'acme', '0']);
    await run(['reserve', 'acme', '0']);
    const [first, second] = fake.received.map((call) => call.request as { idempotencyKey: string });
    expect(first).toMatchObject({ maxMicros: 0n, validateOnly: false });
    expect(first).not.toHaveProperty('minMicros', expect.anything());
    expect(first).not.toHaveProperty('ttl', expect.anything());
    expect(first?.idempotencyKey).not.toBe(second?.idempotencyKey);
    expect(fake.received[0]?.authorization).toBeUndefined();
  });

  it('a dry run sets no key and says that it is one', async () => {
    const dry = reservation({ reservationId: '', state: ReservationState.UNSPECIFIED });
    fake.answer(ReservationService.method.reserve, () => ({ reservation: dry, availability }));
    const { stdout } = await run(['reserve', 'acme', '0.3', '--dry-run'], {
      environment: { BUDGETD_SERVER: fake.address, BUDGETD_TOKEN: 'from-env' },
    });
    expect(stdout).toContain('state        dry run\n');
    expect(fake.requestOf(ReservationService.method.reserve)).toMatchObject({ validateOnly: true, idempotencyKey: '' });
    expect(fake.received[0]?.authorization).toBe('Bearer from-env');
  });

  it('settle sends the cost, and shows overrun and a late, estimated end', async () => {
    const settled = reservation({
      state: ReservationState.SETTLED,
      heldMicros: 0n,
      settledMicros: 250_000n,
      overrunMicros: 50_000n,
      late: true,
      estimated: true,
      endTime: timestampFromMs(nowMs + 90_000),
    });
    fake.answer(ReservationService.method.settle, () => ({ reservation: settled, availability }));
    fake.answer(ReservationService.method.getReservation, () => ({ reservation: settled, availability }));
    const words = ['settle', ID, '0.3', 'USD', '--keep-open', '--retain', '0.1', '--outcome', 'failed', '--key', 'k'];
    const { stdout, exitCode } = await run(words);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('state        settled, late, estimated\n');
    expect(stdout).toContain('overrun      0.05 USD past the ceiling\n');
    expect(stdout).toContain('ended        2026-03-02 09:01:30Z\n');
    expect(stdout).not.toContain('expires');
    expect(toJson(SettleRequestSchema, fake.requestOf(ReservationService.method.settle))).toEqual({
      reservationId: ID,
      idempotencyKey: 'k',
      actualMicros: '300000',
      keepOpen: true,
      retainMicros: '100000',
      outcome: 'OUTCOME_FAILED',
    });
  });

  it('settle --unknown says so on the wire', async () => {
    fake.answer(ReservationService.method.settle, () => ({ reservation: reservation(), availability }));
    await run(['settle', ID, '--unknown']);
    expect(fake.requestOf(ReservationService.method.settle).cost).toMatchObject({ case: 'usageUnknown' });
  });

  it('extend, renew and release name the reservation', async () => {
    const reply = (): { reservation: ReturnType<typeof reservation> } => ({ reservation: reservation() });
    fake.answer(ReservationService.method.extend, reply);
    fake.answer(ReservationService.method.renew, reply);
    fake.answer(ReservationService.method.release, reply);
    await run(['extend', ID, '0.10', '--min', '0.05', '--key', 'k']);
    await run(['renew', ID, '--ttl', '5m', '--started']);
    await run(['release', ID, '--reason', 'not needed', '--key', 'k']);
    const common = { reservationId: ID, idempotencyKey: 'k' };
    expect(fake.requestOf(ReservationService.method.extend)).toMatchObject({
      ...common,
      addMicros: 100_000n,
      minMicros: 50_000n,
    });
    expect(fake.requestOf(ReservationService.method.renew)).toMatchObject({
      reservationId: ID,
      idempotencyKey: '',
      ttl: { seconds: 300n },
      started: true,
    });
    expect(fake.requestOf(ReservationService.method.release)).toMatchObject({ ...common, reason: 'not needed' });
  });

  it.each([
    [['reserve', 'acme', '1 INR']],
    [['reserve', 'acme', '1', '--min', '1 INR']],
    [['extend', ID, '1', 'INR']],
    [['settle', ID, '1INR']],
    [['settle', ID, '1 USD', '--keep-open', '--retain', '1 usd']],
    [['top-up', 'acme', '1 INR']],
    [['set-limit', 'acme', '1 INR']],
  ])('%j is refused by a tree in USD, and nothing is changed', async (words) => {
    fake.answer(BudgetService.method.getBudget, () => ({ budget: acme }));
    fake.answer(ReservationService.method.getReservation, () => ({ reservation: reservation() }));
    const { exitCode, stderr } = await run(words);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: this tree counts in USD, not in (INR|usd); nothing was changed\n$/);
    expect(fake.received.map((call) => call.method).filter((name) => !name.startsWith('Get'))).toEqual([]);
  });
});
