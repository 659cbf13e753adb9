// The differ must find every kind of difference: each expectation of the format is tried right and wrong.
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from 'vitest';
import { BudgetSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationSchema, ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type JudgeContext, judgeAnswer } from '../../scenarios/runner/judge-answer.ts';
import { judgeBalances } from '../../scenarios/runner/judge-balances.ts';
import { judgeParallel } from '../../scenarios/runner/judge-parallel.ts';
import type { Outcome } from '../../scenarios/runner/outcome.ts';

const NOW_MS = Date.UTC(2026, 2, 2, 9);

const reservation = create(ReservationSchema, {
  reservationId: 's:1',
  budget: 's',
  state: ReservationState.ACTIVE,
  grantedMicros: 10n,
  heldMicros: 4n,
  settledMicros: 6n,
  releasedMicros: 0n,
  overrunMicros: 1n,
  late: true,
  expireTime: timestampFromMs(NOW_MS + 60_000),
  renewAfter: timestampFromMs(NOW_MS + 30_000),
});
const answered: Outcome = { kind: 'answered', reservation };
const refused: Outcome = {
  kind: 'refused',
  refusal: {
    status: 'RESOURCE_EXHAUSTED',
    reason: 'CAPACITY_HELD',
    metadata: { budget: 'p', available: '3' },
    retryAfterMs: 5_000,
    message: 'live holds',
    violations: ['p lifetime: 3 of 10 available'],
  },
};
const context: JudgeContext = { nowMs: NOW_MS, answerOf: (name) => (name === 'A' ? reservation : undefined) };

describe('an answer', () => {
  test.each([
    ['granted', { granted: 10n }, { granted: 11n }],
    ['held', { held: 4n }, { held: 0n }],
    ['settled', { settled: 6n }, { settled: 7n }],
    ['released', { released: 0n }, { released: 1n }],
    ['overrun', { overrun: 1n }, { overrun: 0n }],
    ['late', { late: true }, { late: false }],
    ['estimated', { estimated: false }, { estimated: true }],
    ['state', { state: 'ACTIVE' }, { state: 'EXPIRED' }],
    ['expires_in', { expiresInSeconds: 60 }, { expiresInSeconds: 59 }],
    ['same_as', { sameAs: 'A' }, { sameAs: 'B' }],
  ] as const)('%s, right and wrong', (field, right, wrong) => {
    expect(judgeAnswer(right, answered, context)).toEqual([]);
    expect(judgeAnswer(wrong, answered, context)).toEqual([expect.objectContaining({ field })]);
  });

  test('a refusal where success is expected is a difference, with all that it said', () => {
    const [found] = judgeAnswer(undefined, refused, context);
    expect(found).toMatchObject({ field: 'error', expected: 'success' });
    for (const part of [
      'RESOURCE_EXHAUSTED',
      'CAPACITY_HELD',
      'budget=p',
      'available=3',
      'RetryInfo 5000ms',
      '3 of 10',
    ]) {
      expect(found?.got).toContain(part);
    }
    expect(judgeAnswer({ granted: 10n }, refused, context)).toHaveLength(1);
  });

  test('a missing reservation meets no expectation of one', () => {
    expect(judgeAnswer({ granted: 0n, late: false, sameAs: 'A' }, { kind: 'answered' }, context)).toHaveLength(3);
  });

  test('same_as sees one changed byte, and time left is none', () => {
    const renewed = create(ReservationSchema, { ...reservation, expireTime: timestampFromMs(NOW_MS + 90_000) });
    expect(judgeAnswer({ sameAs: 'A' }, { kind: 'answered', reservation: renewed }, context)).toEqual([]);
    const changed = create(ReservationSchema, { ...reservation, holder: 'x' });
    expect(judgeAnswer({ sameAs: 'A' }, { kind: 'answered', reservation: changed }, context)).toHaveLength(1);
  });
});

describe('a refusal', () => {
  test.each([
    ['error', { error: 'RESOURCE_EXHAUSTED' }, { error: 'NOT_FOUND' }],
    ['reason', { reason: 'CAPACITY_HELD' }, { reason: 'BUDGET_EXHAUSTED' }],
    ['budget', { budget: 'p' }, { budget: 'p/c' }],
    ['retry', { retry: true }, { retry: false }],
  ] as const)('%s, right and wrong', (field, right, wrong) => {
    expect(judgeAnswer(right, refused, context)).toEqual([]);
    expect(judgeAnswer(wrong, refused, context)).toEqual([expect.objectContaining({ field })]);
    expect(judgeAnswer(right, answered, context)).toHaveLength(1);
  });

  test('a status without details has no reason and no retry', () => {
    const bare: Outcome = {
      kind: 'refused',
      refusal: {
        status: 'UNAVAILABLE',
        reason: undefined,
        metadata: {},
        retryAfterMs: undefined,
        message: '',
        violations: [],
      },
    };
    expect(judgeAnswer({ error: 'UNAVAILABLE', retry: false }, bare, context)).toEqual([]);
    expect(judgeAnswer({ error: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' }, bare, context)).toHaveLength(1);
  });

  test('nothing can be expected of a reservation beside a refusal', () => {
    expect(judgeAnswer({ error: 'RESOURCE_EXHAUSTED', granted: 1n }, refused, context)).toHaveLength(1);
  });
});

describe('parallel', () => {
  const sent = [
    { verb: 'reserve', outcome: answered },
    { verb: 'settle', outcome: answered },
    { verb: 'reserve', outcome: refused },
  ] as const;

  test.each([
    ['granted_count', { grantedCount: 1 }, { grantedCount: 2 }],
    ['ok_count', { okCount: 2 }, { okCount: 1 }],
    ['refused_count', { refusedCount: 1 }, { refusedCount: 0 }],
    ['granted_total', { grantedTotal: 10n }, { grantedTotal: 20n }],
    [
      'reasons.CAPACITY_HELD',
      { reasons: new Map([['CAPACITY_HELD', 1]]) },
      { reasons: new Map([['CAPACITY_HELD', 2]]) },
    ],
    ['reasons.RATE_LIMITED', { reasons: new Map([['RATE_LIMITED', 0]]) }, { reasons: new Map([['RATE_LIMITED', 1]]) }],
  ])('%s, right and wrong', (field, right, wrong) => {
    expect(judgeParallel(right, sent)).toEqual([]);
    expect(judgeParallel(wrong, sent)).toEqual([expect.objectContaining({ field })]);
  });
});

describe('balances', () => {
  const budget = create(BudgetSchema, {
    budget: 's',
    balances: [
      { limit: 'roomy', amountMicros: 100n, heldMicros: 1n, settledMicros: 1n },
      { limit: 'over', amountMicros: 10n, heldMicros: 5n, settledMicros: 6n, overrunMicros: 2n },
      { limit: 'full', amountMicros: 10n, heldMicros: 4n, settledMicros: 6n },
    ],
    totals: { heldMicros: 50n, settledMicros: 60n, overrunMicros: 70n },
    availability: { availableMicros: 0n },
  });
  const none = { held: undefined, settled: undefined, overrun: undefined, available: undefined };

  test('are those of the limit with the least headroom, below zero too', () => {
    expect(judgeBalances({ held: 5n, settled: 6n, overrun: 2n, available: 0n }, budget)).toEqual([]);
  });

  test.each(['held', 'settled', 'overrun', 'available'])('%s, wrong', (field) => {
    const found = judgeBalances({ ...none, [field]: 99n }, budget);
    expect(found).toEqual([expect.objectContaining({ field: `balances.s.${field}`, expected: '99' })]);
  });

  test('ties go to the first limit', () => {
    const tied = create(BudgetSchema, {
      balances: [
        { amountMicros: 10n, heldMicros: 7n },
        { amountMicros: 5n, heldMicros: 2n },
      ],
    });
    expect(judgeBalances({ ...none, held: 7n }, tied)).toEqual([]);
  });

  test('are the totals where a budget has no limit, and nothing is available where no limit applies', () => {
    const open = create(BudgetSchema, { totals: { heldMicros: 50n, settledMicros: 60n, overrunMicros: 70n } });
    expect(judgeBalances({ ...none, held: 50n, settled: 60n, overrun: 70n }, open)).toEqual([]);
    expect(judgeBalances({ ...none, available: 0n }, open)).toHaveLength(1);
  });
});
