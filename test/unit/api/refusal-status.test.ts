// Refusals as statuses: the code of every reason, the details that belong to it, and their size at the extremes.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import type { ApiReason, ApiRefusal } from '../../../src/api/api-refusal.ts';
import { bareStatus, type CallStatus, faultStatus, statusMessage } from '../../../src/api/errors/call-status.ts';
import { clipText } from '../../../src/api/errors/clip-text.ts';
import { REASON_CODES } from '../../../src/api/errors/reason-codes.ts';
import { refusalStatus } from '../../../src/api/errors/refusal-status.ts';
import { StatusSchema } from '../../../src/gen/google/rpc/status_pb.ts';

const MICROS_MAX = 9_223_372_036_854_775_807n;

function refusal(reason: ApiReason, rest: Partial<ApiRefusal> = {}): ApiRefusal {
  return { kind: 'refusal', reason, message: `${reason} it is`, ...rest };
}

function detail(status: CallStatus, type: string): unknown {
  return status.details.find(({ desc }) => desc.typeName === `google.rpc.${type}`)?.value;
}

function typesOf(status: CallStatus): string[] {
  return status.details.map(({ desc }) => desc.name);
}

describe('refusalStatus', () => {
  it('gives DESIGN its codes', () => {
    const byCode = Map.groupBy(Object.entries(REASON_CODES), ([, code]) => code);
    const reasons = Object.fromEntries([...byCode].map(([code, entries]) => [code, entries.map(([name]) => name)]));
    expect(reasons).toEqual({
      3: ['INVALID_FIELD', 'USAGE_INVALID'],
      5: ['BUDGET_NOT_FOUND', 'RESERVATION_NOT_FOUND'],
      6: ['BUDGET_EXISTS', 'IDEMPOTENCY_KEY_REUSED'],
      7: ['FORBIDDEN'],
      8: [
        'BUDGET_EXHAUSTED',
        'CAPACITY_HELD',
        'RATE_LIMITED',
        'CONCURRENCY_LIMIT',
        'QUEUE_FULL',
        'QUEUE_TIMEOUT',
        'FAN_OUT_LIMIT',
        'OVERLOADED',
      ],
      9: [
        'EXCEEDS_LIMIT',
        'MAX_RESERVATION_EXCEEDED',
        'MAX_LEASE_EXCEEDED',
        'DEPTH_LIMIT',
        'BUDGET_SUSPENDED',
        'BUDGET_CLOSED',
        'WINDOW_CLOSED',
        'LEASE_EXPIRED',
        'RESERVATION_SETTLED',
        'RESERVATION_RELEASED',
        'RESERVATION_EXPIRED',
        'OVERRUN_REJECTED',
        'PRICE_UNKNOWN',
        'MODEL_NOT_ALLOWED',
        'IMPLAUSIBLE_AMOUNT',
        'NOT_ACTIVE',
      ],
      10: ['CONTENTION', 'ETAG_MISMATCH'],
      14: ['STORE_UNAVAILABLE', 'NOT_LEADER', 'TREE_QUARANTINED'],
      16: ['UNAUTHENTICATED'],
    });
  });

  it('says of a rate what is configured and what was there', () => {
    const rate = {
      kind: 'tool_calls',
      count: 1_000_000_000_000,
      perMs: 60_000,
      burst: 20,
      availableCount: 3,
      requestedCount: 5,
    } as const;
    const status = refusalStatus(refusal('RATE_LIMITED', { budget: 'acme', rate, retryAfterMs: 1 }));
    expect(typesOf(status)).toEqual(['ErrorInfo', 'RetryInfo']);
    expect(detail(status, 'ErrorInfo')).toMatchObject({
      metadata: {
        budget: 'acme',
        rate_kind: 'tool_calls',
        rate_count: '1000000000000',
        rate_per_ms: '60000',
        rate_burst: '20',
        rate_available: '3',
        rate_requested: '5',
      },
    });
  });

  it('says the whole amount of the limit that it names', () => {
    const failing = [
      { budget: 'acme/x', limit: 'day', amountMicros: 5n, availableMicros: 1n },
      { budget: 'acme', limit: 'day', amountMicros: 9n, availableMicros: 2n },
    ];
    const status = refusalStatus(
      refusal('EXCEEDS_LIMIT', { budget: 'acme', limit: 'day', failing, largestMicros: 0n }),
    );
    expect(detail(status, 'ErrorInfo')).toMatchObject({
      metadata: { budget: 'acme', limit: 'day', amount: '9', largest: '0' },
    });
  });

  it('says of a bound the most that is allowed and what there is', () => {
    const status = refusalStatus(
      refusal('DEPTH_LIMIT', { budget: 'acme', bound: { name: 'max_depth', max: 0, observed: 2 } }),
    );
    expect(typesOf(status)).toEqual(['ErrorInfo', 'PreconditionFailure']);
    const { metadata } = detail(status, 'ErrorInfo') as { metadata: Record<string, string> };
    expect(metadata).toEqual({ budget: 'acme', bound: 'max_depth', bound_max: '0', bound_observed: '2' });
  });

  it('asks nobody to wait longer than a Duration can say', () => {
    const status = refusalStatus(refusal('RATE_LIMITED', { budget: 'acme', retryAfterMs: 8.64e19 }));
    expect(detail(status, 'RetryInfo')).toMatchObject({ retryDelay: { seconds: 315_576_000_000n, nanos: 0 } });
  });

  it('names limits in the order given, with RetryInfo where waiting helps', () => {
    const status = refusalStatus(
      refusal('CAPACITY_HELD', {
        budget: 'acme/a',
        limit: 'day',
        unit: 'INR',
        availableMicros: 3n,
        requestedMicros: 50n,
        retryAfterMs: 1_500.2,
        failing: [
          { budget: 'acme/a', limit: 'day', amountMicros: 100n, availableMicros: 3n },
          { budget: 'acme', limit: 'lifetime', amountMicros: MICROS_MAX, availableMicros: 7n },
        ],
      }),
    );
    expect(typesOf(status)).toEqual(['ErrorInfo', 'RetryInfo', 'QuotaFailure']);
    expect(detail(status, 'ErrorInfo')).toMatchObject({
      domain: 'budgetd',
      reason: 'CAPACITY_HELD',
      metadata: { budget: 'acme/a', limit: 'day', unit: 'INR', available: '3', requested: '50' },
    });
    expect(detail(status, 'RetryInfo')).toMatchObject({ retryDelay: { seconds: 1n, nanos: 501_000_000 } });
    expect(detail(status, 'QuotaFailure')).toMatchObject({
      violations: [
        { subject: 'acme/a:day', description: '3 of 100 available', quotaId: 'day', quotaValue: 100n },
        { subject: 'acme:lifetime', quotaValue: MICROS_MAX },
      ],
    });
  });

  it('has no RetryInfo where waiting does not help', () => {
    expect(typesOf(refusalStatus(refusal('BUDGET_EXHAUSTED')))).toEqual(['ErrorInfo']);
  });

  it('says what is missing and what is in the way', () => {
    const missing = refusalStatus(refusal('BUDGET_NOT_FOUND', { budget: 'acme/x' }));
    expect(detail(missing, 'ResourceInfo')).toMatchObject({
      resourceType: 'budgetd.v1.Budget',
      resourceName: 'acme/x',
    });
    const settled = refusalStatus(refusal('RESERVATION_SETTLED', { budget: 'acme', reservationId: 'acme:1' }));
    expect(detail(settled, 'PreconditionFailure')).toMatchObject({
      violations: [{ type: 'RESERVATION_SETTLED', subject: 'acme:1' }],
    });
  });

  it('tells the leader where it is known', () => {
    const known = refusalStatus(refusal('NOT_LEADER', { leaderAddress: '10.0.0.7:50051' }));
    expect(detail(known, 'ErrorInfo')).toMatchObject({ metadata: { leader_address: '10.0.0.7:50051' } });
    const unknown = refusalStatus(refusal('NOT_LEADER', { leaderAddress: '' }));
    expect(detail(unknown, 'ErrorInfo')).toMatchObject({ metadata: {} });
  });

  it.each(Object.keys(REASON_CODES) as ApiReason[])('stays under 4 KB for %s at its largest', (reason) => {
    const path = Array(16).fill('a'.repeat(63)).join('/');
    const failing = { budget: path, limit: 'l'.repeat(63), amountMicros: MICROS_MAX, availableMicros: MICROS_MAX };
    const status = refusalStatus({
      kind: 'refusal',
      reason,
      message: '😀 not enough'.repeat(1_000),
      budget: path,
      limit: 'l'.repeat(63),
      unit: 'U'.repeat(16),
      availableMicros: MICROS_MAX,
      requestedMicros: MICROS_MAX,
      reservationId: `${'a'.repeat(63)}:${'b'.repeat(40)}`,
      retryAfterMs: 86_400_000,
      failing: Array(32).fill(failing),
      fields: Array.from({ length: 500 }, (_, n) => ({ field: `renewals[${n}].ttl`, description: 'é'.repeat(300) })),
      leaderAddress: 'host'.repeat(300),
    });
    const bytes = toBinary(StatusSchema, statusMessage(status));
    expect(bytes.length).toBeLessThan(4_096 + 512);
    expect(statusMessage(status).details.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThan(4_096);
    expect(fromBinary(StatusSchema, bytes).code).toBe(REASON_CODES[reason]);
    expect(typesOf(status)).toContain('ErrorInfo');
    expect(detail(status, 'BadRequest')).toHaveProperty('fieldViolations.0');
  });

  it('keeps the tightest limits when not all fit', () => {
    const path = Array(16).fill('a'.repeat(63)).join('/');
    const failing = Array.from({ length: 32 }, (_, n) => {
      return { budget: path, limit: `l${n}`, amountMicros: 1n, availableMicros: 0n };
    });
    const status = refusalStatus(refusal('BUDGET_EXHAUSTED', { failing }));
    const { violations } = detail(status, 'QuotaFailure') as { violations: { quotaId: string }[] };
    expect(violations.length).toBeGreaterThan(1);
    expect(violations.map(({ quotaId }) => quotaId)).toEqual(
      failing.slice(0, violations.length).map(({ limit }) => limit),
    );
  });
});

describe('faultStatus', () => {
  it('tells the caller nothing of the cause and the log everything', () => {
    const logged: unknown[] = [];
    const log = { error: (fields: object) => logged.push(fields), warn: () => undefined };
    const cause = new Error('password=hunter2');
    expect(faultStatus(cause, 'Reserve', log)).toEqual(bareStatus(13, 'internal error'));
    expect(logged).toEqual([{ err: cause, method: 'Reserve' }]);
  });
});

describe('clipText', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 4, 'abcd'],
    ['abcdef', 5, 'ab…'],
    ['ééé', 6, 'ééé'],
    ['éééé', 6, 'é…'],
    ['😀😀', 7, '😀…'],
    ['😀😀', 6, '…'],
  ])('cuts %j to %i bytes', (text, bytesMax, expected) => {
    expect(clipText(text, bytesMax)).toBe(expected);
    expect(Buffer.byteLength(clipText(text, bytesMax))).toBeLessThanOrEqual(bytesMax);
  });
});
