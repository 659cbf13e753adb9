// Every field of every request on reservations with values that are wrong: refused, and named by the path it has in the proto.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { getQueueCommand, listReservationsQuery } from '../../../src/api/validate/list-queries.ts';
import {
  extendCommand,
  getReservationCommand,
  releaseCommand,
  renewCommand,
  reserveCommand,
  settleCommand,
} from '../../../src/api/validate/reservation-commands.ts';
import {
  ExtendRequestSchema,
  GetReservationRequestSchema,
  ListQueueRequestSchema,
  ListReservationsRequestSchema,
  ReleaseRequestSchema,
  RenewRequestSchema,
  ReserveRequestSchema,
  SettleRequestSchema,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { Priority } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';

const origin = { actor: 'tester', newReservationId: () => '06fk2xw8q40000000001' as ReservationId };
const id = 'acme:06fk2xw8q40000000001';
const key = 'k-1';
const INT64_MIN = -9_223_372_036_854_775_808n;

/** The paths of the fields that were refused; empty where nothing was. */
function refusedFields(outcome: object): string[] {
  return isRefusal(outcome) ? (outcome.fields ?? []).map(({ field }) => field) : [];
}

const badTexts = ['line\nbreak', 'nul\u0000', 'del\u007f', 'c1\u0085', 'half\ud800', `${'é'.repeat(128)}x`];
const badKeys = ['', 'line\nbreak', 'x'.repeat(256), 'é'.repeat(128)];
const badPaths = [
  '',
  '/',
  'acme/',
  '/acme',
  'a//b',
  '.a',
  'a b',
  'ä',
  `x${'a'.repeat(63)}`,
  Array(17).fill('a').join('/'),
];
const badIds = [
  '',
  'acme',
  'acme:',
  ':06fk2xw8q40000000001',
  'acme:short',
  'ac/me:06fk2xw8q40000000001',
  `acme:${'a'.repeat(41)}`,
];
const badMicros = [-1n, INT64_MIN];
const badTtls = [
  { seconds: 0n, nanos: 0 },
  { seconds: 0n, nanos: 999_000_000 },
  { seconds: 1n, nanos: 1 },
  { seconds: 1n, nanos: -1_000_000 },
  { seconds: -5n, nanos: 0 },
  { seconds: 5n, nanos: 1_000_000_000 },
  { seconds: 86_400n, nanos: 1_000_000 },
  { seconds: 86_401n, nanos: 0 },
  { seconds: 9_223_372_036_854_775_807n, nanos: 0 },
];
const badLabels = [
  { field: 'labels[""]', labels: { '': 'x' } },
  { field: 'labels["a b"]', labels: { 'a b': 'x' } },
  { field: 'labels["a"]', labels: { a: 'tab\t' } },
  { field: 'labels["a"]', labels: { a: 'x'.repeat(257) } },
  { field: `labels["${'k'.repeat(61)}…"]`, labels: { ['k'.repeat(200)]: 'x' } },
  { field: 'labels', labels: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`l${n}`, ''])) },
];

type Case<T> = readonly [field: string, changes: T];
const each = <T>(field: string, name: keyof T, values: readonly unknown[]): Case<T>[] =>
  values.map((value) => [field, { [name]: value } as T]);

describe('Reserve', () => {
  type Init = MessageInitShape<typeof ReserveRequestSchema>;
  const good: Init = { budget: 'acme/run-1', idempotencyKey: key, maxMicros: 100n };
  const check = (changes: Init) =>
    reserveCommand(create(ReserveRequestSchema, { ...good, ...changes } as Init), origin);
  const cases: Case<Init>[] = [
    ...each<Init>('budget', 'budget', badPaths),
    ...each<Init>('idempotency_key', 'idempotencyKey', badKeys),
    ...each<Init>('max_micros', 'maxMicros', [undefined, ...badMicros]),
    ...each<Init>('min_micros', 'minMicros', [101n, ...badMicros]),
    ...each<Init>('ttl', 'ttl', badTtls),
    ...each<Init>('max_wait', 'maxWait', badTtls.slice(2)),
    ...each<Init>('also[0]', 'also', [...badPaths.map((path) => [path]), ['other/x'], ['acme/run-1']]),
    ...each<Init>('also[1]', 'also', [
      ['acme/a', 'acme/a'],
      ['acme', 'acme2'],
    ]),
    ...each<Init>('also', 'also', [Array.from({ length: 9 }, (_, n) => `acme/${n}`)]),
    ...each<Init>('tokens', 'tokens', [-1n, 1_000_000_000_001n, INT64_MIN]),
    ...each<Init>('tool_calls', 'toolCalls', [-1n, 1_000_000_000_001n]),
    ...each<Init>('priority', 'priority', [5, -1]),
    ...each<Init>('alternatives[0].label', 'alternatives', [
      [{ maxMicros: 1n }],
      [{ label: 'line\nbreak', maxMicros: 1n }],
      [{ label: 'x'.repeat(64), maxMicros: 1n }],
      [{ label: 'é'.repeat(32), maxMicros: 1n }],
    ]),
    ...each<Init>('alternatives[0].max_micros', 'alternatives', [
      [{ label: 'a' }],
      [{ label: 'a', maxMicros: -1n }],
      [{ label: 'a', maxMicros: 101n }],
    ]),
    ...each<Init>('alternatives[1].label', 'alternatives', [
      [
        { label: 'a', maxMicros: 2n },
        { label: 'a', maxMicros: 1n },
      ],
    ]),
    ...each<Init>('alternatives', 'alternatives', [
      Array.from({ length: 9 }, (_, n) => ({ label: `${n}`, maxMicros: 1n })),
    ]),
    ...each<Init>('holder', 'holder', badTexts),
    ...each<Init>('acting_for', 'actingFor', badTexts),
    ...badLabels.map(({ field, labels }): Case<Init> => [field, { labels }]),
  ];

  it.each(cases)('names %s, case %#', (field, changes) => {
    expect(refusedFields(check(changes))).toEqual([field]);
  });

  it('takes the least and the most of every field', () => {
    const most = 9_223_372_036_854_775_807n;
    expect(refusedFields(check({ maxMicros: 0n, minMicros: 0n, ttl: { seconds: 1n } }))).toEqual([]);
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`l/${n}._-`, 'x'.repeat(256)]));
    const largest = { maxMicros: most, minMicros: most, ttl: { seconds: 86_400n }, labels };
    const use = { tokens: 1_000_000_000_000n, toolCalls: 0n, also: Array.from({ length: 8 }, (_, n) => `acme/${n}`) };
    expect(check(use)).toMatchObject({ tokens: 1_000_000_000_000, toolCalls: 0, also: use.also });
    const ways = Array.from({ length: 8 }, (_, n) => ({ label: `${n}`.repeat(63), maxMicros: n === 0 ? 100n : 0n }));
    expect(check({ priority: Priority.CRITICAL, alternatives: ways })).toMatchObject({
      priority: 'critical',
      alternatives: ways,
    });
    const texts = { holder: '😀'.repeat(64), actingFor: 'é'.repeat(128), idempotencyKey: 'x'.repeat(255) };
    expect(refusedFields(check({ ...largest, ...texts, budget: Array(16).fill('a'.repeat(63)).join('/') }))).toEqual(
      [],
    );
  });

  it('names all invalid fields at once', () => {
    const request = create(ReserveRequestSchema, {
      budget: '/',
      minMicros: -1n,
      ttl: { nanos: 5 },
      also: ['a', 'b', 'a'],
      tokens: -1n,
      holder: '\t',
    });
    expect(refusedFields(reserveCommand(request, origin))).toEqual([
      'budget',
      'idempotency_key',
      'max_micros',
      'min_micros',
      'ttl',
      'also[2]',
      'tokens',
      'holder',
    ]);
  });

  it('fills in defaults', () => {
    expect(check({})).toMatchObject({
      minMicros: 100n,
      ttlMs: undefined,
      dryRun: false,
      personal: undefined,
      waitMs: 0,
    });
    expect(check({ maxWait: { nanos: 1_000_000 } })).toMatchObject({ waitMs: 1 });
    expect(check({ maxWait: { seconds: 86_400n } })).toMatchObject({ waitMs: 86_400_000 });
    expect(check({})).toMatchObject({ also: [], tokens: 0, toolCalls: 0, priority: 'normal', alternatives: [] });
  });

  it('lets a dry run go without a key and sets none', () => {
    expect(check({ validateOnly: true, idempotencyKey: '' })).toMatchObject({ dryRun: true, key: undefined });
    expect(refusedFields(check({ validateOnly: true, idempotencyKey: 'x'.repeat(256) }))).toEqual(['idempotency_key']);
  });

  it('puts labels in the order of their keys, with a salt of their own each time', () => {
    const first = check({ labels: { b: '2', a: '1' }, actingFor: 'kim' });
    const second = check({ labels: { b: '2', a: '1' }, actingFor: 'kim' });
    const labels = [
      ['a', '1'],
      ['b', '2'],
    ];
    expect(first).toMatchObject({ personal: { actingFor: 'kim', labels } });
    if (isRefusal(first) || isRefusal(second)) throw new Error('refused');
    expect(first.personal?.salt).toMatch(/^[\w-]{22}$/);
    expect(first.personal?.salt).not.toBe(second.personal?.salt);
  });
});

describe('Extend', () => {
  type Init = MessageInitShape<typeof ExtendRequestSchema>;
  const good: Init = { reservationId: id, idempotencyKey: key, addMicros: 100n };
  const check = (changes: Init) => extendCommand(create(ExtendRequestSchema, { ...good, ...changes } as Init), origin);
  it.each([
    ...each<Init>('reservation_id', 'reservationId', badIds),
    ...each<Init>('idempotency_key', 'idempotencyKey', badKeys),
    ...each<Init>('add_micros', 'addMicros', [undefined, ...badMicros]),
    ...each<Init>('min_micros', 'minMicros', [101n, ...badMicros]),
  ])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check(changes))).toEqual([field]);
  });
});

describe('Settle', () => {
  type Init = MessageInitShape<typeof SettleRequestSchema>;
  const good: Init = { reservationId: id, idempotencyKey: key, cost: { case: 'actualMicros', value: 5n } };
  const unknown: Init['cost'] = { case: 'usageUnknown', value: {} };
  const check = (changes: Init) => settleCommand(create(SettleRequestSchema, { ...good, ...changes } as Init), origin);
  it.each<Case<Init>>([
    ...each<Init>('reservation_id', 'reservationId', badIds),
    ...each<Init>('idempotency_key', 'idempotencyKey', badKeys),
    ['cost', { cost: { case: undefined } }],
    ...badMicros.map((value): Case<Init> => ['actual_micros', { cost: { case: 'actualMicros', value } }]),
    ['keep_open', { cost: unknown, keepOpen: true }],
    ['retain_micros', { retainMicros: 5n }],
    ['retain_micros', { keepOpen: true, retainMicros: -1n }],
    ...each<Init>('outcome', 'outcome', [4, -1]),
    ...badLabels.map(({ field, labels }): Case<Init> => [field, { labels }]),
  ])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check(changes))).toEqual([field]);
  });

  it('maps what it is given', () => {
    expect(check({ keepOpen: true, retainMicros: 0n, outcome: 2 })).toMatchObject({
      actualMicros: 5n,
      keepOpen: true,
      retainMicros: 0n,
      outcome: 'failed',
      confirmed: false,
    });
    expect(check({ confirmAmount: true })).toMatchObject({ confirmed: true });
    expect(check({ cost: unknown })).toMatchObject({ actualMicros: undefined, outcome: undefined });
  });
});

describe('Release, Renew, GetReservation', () => {
  it.each([
    ...badIds.map((value) => ['reservation_id', { reservationId: value }] as const),
    ...badKeys.map((value) => ['idempotency_key', { idempotencyKey: value }] as const),
    ...badTexts.map((value) => ['reason', { reason: value }] as const),
  ])('Release names %s, case %#', (field, changes) => {
    const request = create(ReleaseRequestSchema, { reservationId: id, idempotencyKey: key, ...changes });
    expect(refusedFields(releaseCommand(request, origin))).toEqual([field]);
  });

  it.each([
    ...badIds.map((value) => ['reservation_id', { reservationId: value }] as const),
    ...badKeys.filter((value) => value !== '').map((value) => ['idempotency_key', { idempotencyKey: value }] as const),
    ...badTtls.map((value) => ['ttl', { ttl: value }] as const),
  ])('Renew names %s, case %#', (field, changes) => {
    const request = create(RenewRequestSchema, { reservationId: id, ...changes });
    expect(refusedFields(renewCommand(request, origin))).toEqual([field]);
  });

  it('lets a Renew go without a key', () => {
    const renew = renewCommand(create(RenewRequestSchema, { reservationId: id, started: true }), origin);
    expect(renew).toMatchObject({ key: undefined, renewals: [{ ttlMs: undefined }] });
  });

  it.each(badIds)('GetReservation names reservation_id %j', (reservationId) => {
    const request = create(GetReservationRequestSchema, { reservationId });
    expect(refusedFields(getReservationCommand(request, origin))).toEqual(['reservation_id']);
  });
});

describe('ListReservations', () => {
  type Init = MessageInitShape<typeof ListReservationsRequestSchema>;
  const check = (changes: Init) =>
    listReservationsQuery(create(ListReservationsRequestSchema, { budget: 'acme', ...changes } as Init));
  it.each([
    ...each<Init>('budget', 'budget', badPaths),
    ...each<Init>('state', 'state', [6, -1]),
    ...each<Init>('holder', 'holder', badTexts),
    ...each<Init>('page_size', 'pageSize', [-1, 1_001]),
    ...each<Init>('page_token', 'pageToken', ['x', 'AAAA', '\n', 'a'.repeat(500)]),
  ])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check(changes))).toEqual([field]);
  });
});

describe('ListQueue', () => {
  type Init = MessageInitShape<typeof ListQueueRequestSchema>;
  const check = (changes: Init) =>
    getQueueCommand(create(ListQueueRequestSchema, { budget: 'acme', ...changes } as Init), 'tester');
  it.each([...each<Init>('budget', 'budget', badPaths), ...each<Init>('page_size', 'pageSize', [-1, 1_001])])(
    'names %s, case %#',
    (field, changes) => {
      expect(refusedFields(check(changes))).toEqual([field]);
    },
  );

  it('shows 100 where it is not said how many', () => {
    expect(check({})).toMatchObject({
      kind: 'GetQueue',
      treeId: 'acme',
      budget: 'acme',
      countMax: 100,
      key: undefined,
    });
    expect(check({ pageSize: 1_000 })).toMatchObject({ countMax: 1_000 });
  });
});
