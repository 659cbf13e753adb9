// What a person is advised to do goes by the details of a refusal and by the call that was refused.
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { ID, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

type Details = NonNullable<ConstructorParameters<typeof Refuse>[3]>;

const WORDS = {
  reserve: ['reserve', 'acme/x', '1', '--key', 'k'],
  extend: ['extend', ID, '1', '--key', 'k'],
  renew: ['renew', ID],
  settle: ['settle', ID, '1', '--key', 'k'],
  release: ['release', ID],
  create: ['create', 'acme/people/maya', '--limit', '1'],
  tree: ['tree'],
} as const;

async function advised(call: keyof typeof WORDS, reason: string, details: Details = {}, message = 'the message') {
  const refuse = (): never => {
    throw new Refuse(status.FAILED_PRECONDITION, reason, message, details);
  };
  const { method } = ReservationService;
  fake.answer(method.reserve, refuse);
  fake.answer(method.extend, refuse);
  fake.answer(method.renew, refuse);
  fake.answer(method.settle, refuse);
  fake.answer(method.release, refuse);
  fake.answer(BudgetService.method.createBudget, refuse);
  fake.answer(BudgetService.method.listBudgets, refuse);
  return (await runCli(fake, WORDS[call])).stderr;
}

const of = (amount: string, requested: string): Details => ({ metadata: { budget: 'acme', amount, requested } });
const never = (largest: string, amount = '100'): Details => ({
  metadata: { budget: 'acme', amount, requested: '101000000', largest, unit: 'USD' },
});
const unpriced = (why: string): Details => ({ metadata: { provider: 'openai', model: 'gpt-9', why } });

it.each<[keyof typeof WORDS, string, Details, string]>([
  ['settle', 'OVERRUN_REJECTED', { retryAfterMs: 1_000 }, 'settle again with the same key; or raise the limit'],
  ['settle', 'OVERRUN_REJECTED', {}, 'set-limit), then settle again with a new key.'],
  ['reserve', 'BUDGET_EXHAUSTED', { retryAfterMs: 1_000 }, 'The money is spent for now: wait, raise the limit'],
  ['reserve', 'BUDGET_EXHAUSTED', { metadata: { limit: 'day' } }, 'raise the limit (budgetctl top-up, set-limit)'],
  ['reserve', 'BUDGET_EXHAUSTED', { metadata: { limit: 'rolling:1h' } }, 'raise the limit (budgetctl set-limit)'],
  ['reserve', 'EXCEEDS_LIMIT', { metadata: { rate_kind: 'tokens' } }, 'ever holds: split the work, or raise the burst'],
  ['reserve', 'MAX_RESERVATION_EXCEEDED', {}, 'ask for less, or accept less with --min'],
  ['extend', 'MAX_RESERVATION_EXCEEDED', {}, 'settle it and reserve anew'],
  ['extend', 'EXCEEDS_LIMIT', {}, 'or settle and reserve anew'],
  ['reserve', 'EXCEEDS_LIMIT', of('100', '90'), 'floors, a share or kept capacity are for others'],
  ['reserve', 'EXCEEDS_LIMIT', of('100', '90'), '(budgetctl tree acme) and update --floor, --share or --keep.'],
  ['reserve', 'EXCEEDS_LIMIT', of('100', '101'), "This can't fit as the budgets stand"],
  [
    'reserve',
    'EXCEEDS_LIMIT',
    never('2500000'),
    "This can't fit as the budgets stand: ask for less (2.5 USD at the most), or accept less",
  ],
  [
    'reserve',
    'EXCEEDS_LIMIT',
    never('70000001', '200000000'),
    'are for others: ask for less (70.000001 USD at the most)',
  ],
  [
    'reserve',
    'EXCEEDS_LIMIT',
    never('0'),
    "This can't fit as the budgets stand: raise the limit (budgetctl set-limit).",
  ],
  [
    'extend',
    'EXCEEDS_LIMIT',
    never('2500000'),
    'less (2.5 USD at the most, with what it holds already), or accept less',
  ],
  ['reserve', 'BUDGET_EXHAUSTED', of('100', '90'), 'What is kept for others of it: budgetctl tree acme.'],
  [
    'reserve',
    'CAPACITY_HELD',
    { ...of('9', '5'), retryAfterMs: 100 },
    'top). What is kept for others of it: budgetctl tree',
  ],
  ['reserve', 'CONCURRENCY_LIMIT', { metadata: { bound: 'max_active', bound_max: '0' } }, 'no live reservation at all'],
  ['reserve', 'CONCURRENCY_LIMIT', { metadata: { bound: 'max_active', bound_max: '2' } }, 'reservations: wait, or see'],
  ['renew', 'MAX_LEASE_EXCEEDED', { metadata: { bound: 'max_renewals' } }, 'update --max-renewals.'],
  ['renew', 'MAX_LEASE_EXCEEDED', { metadata: { bound: 'max_lease' } }, 'Ask for a shorter lease'],
  ['create', 'BUDGET_NOT_FOUND', { metadata: { budget: 'acme/people' } }, 'Create acme/people first'],
  ['settle', 'RESERVATION_SETTLED', {}, 'Nothing is left to be done.\n'],
  ['release', 'RESERVATION_RELEASED', {}, 'Nothing is left to be done.'],
  ['renew', 'RESERVATION_SETTLED', {}, 'It has ended: reserve anew.'],
  ['tree', 'FORBIDDEN', {}, 'Name your subtree: budgetctl tree'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('no_row'), 'add its price (budgetctl prices add)'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('no_base_tier'), 'without --above'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('no_row_outside_bands'), 'without --band'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('bands_overlap'), 'claim the same time of day'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('no_output_rate'), 'prices add --output'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('no_audio_rate'), '--audio-input'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('no_search_fee'), '--web-search-fee'],
  ['reserve', 'PRICE_UNKNOWN', unpriced('service_tier'), '--service-tier'],
  [
    'reserve',
    'PRICE_UNKNOWN',
    unpriced('no_base_tier'),
    '(budgetctl prices list openai/gpt-9, budgetctl prices retire)',
  ],
  ['reserve', 'PRICE_UNKNOWN', { metadata: { unit: 'INR' } }, 'Say what INR is worth'],
  [
    'settle',
    'PRICE_UNKNOWN',
    { metadata: { why: 'unknown_price', field: 'usage.served' } },
    'is a model that was reserved for',
  ],
  ['reserve', 'BUDGET_EXHAUSTED', { retryAfterMs: 3_625_000 }, 'Retry after 1h 1m.'],
])('%s, %s %j', async (call, reason, details, advice) => {
  expect(await advised(call, reason, details)).toContain(advice);
});

it('lengths of a lease are written as they are typed', async () => {
  const metadata = { budget: 'acme', bound: 'max_lease', bound_max: '300000', bound_observed: '600000' };
  const message = 'a lease on acme may run for 300000 ms, not for 600000';
  const told = await advised('renew', 'MAX_LEASE_EXCEEDED', { metadata }, message);
  expect(told).toMatch(/^MAX_LEASE_EXCEEDED: a lease on acme may run for 5m, not for 10m\n/);
  expect(told).toContain('  bound max      5m\n  bound observed 10m\n');
});

it('says nothing of the key where nothing is left to be done', async () => {
  expect(await advised('settle', 'RESERVATION_SETTLED')).not.toContain('--key');
});

it('names the queue where somebody waits who comes first', async () => {
  const details = { ...of('9', '5'), retryAfterMs: 100 };
  const message = 'limit lifetime of acme: somebody waits for it who comes first (available 0 of 9, needed 5)';
  expect(await advised('reserve', 'CAPACITY_HELD', details, message)).toContain('(budgetctl queue acme).');
});
