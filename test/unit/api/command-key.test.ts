// Keys: what makes two requests the same. The two digests written out here must never change: they are in journals.
import { createHash } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { commandKey, digest16, frameText, frameValue } from '../../../src/api/command-key.ts';
import { createBudgetCommand } from '../../../src/api/validate/budget-commands.ts';
import { reserveCommand, settleCommand } from '../../../src/api/validate/reservation-commands.ts';
import { CreateBudgetRequestSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import type { WindowSchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { ReserveRequestSchema, SettleRequestSchema } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type EnforcementSchema, RateSchema } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';
import type { CommandKey } from '../../../src/kernel/request.ts';

const origin = { actor: 'tester', newReservationId: () => '06fk2xw8q40000000001' as ReservationId };

type Reserve = MessageInitShape<typeof ReserveRequestSchema>;
function reserveKey(changes: Reserve): CommandKey {
  const request = { budget: 'acme', idempotencyKey: 'k', maxMicros: 100n, ...changes } as Reserve;
  const command = reserveCommand(create(ReserveRequestSchema, request), origin);
  if (isRefusal(command) || command.key === undefined) throw new Error('no key');
  return command.key;
}

describe('digest16', () => {
  it.each(['', 'a', 'budget', '😀', 'x'.repeat(5_000)])('is 16 bytes of SHA-256 for %j', (text) => {
    const expected = createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');
    expect(digest16(text)).toBe(expected);
  });

  it('agrees with a Buffer over many inputs', () => {
    for (let n = 0; n < 2_000; n += 1) {
      const expected = createHash('sha256').update(String(n)).digest().toString('base64url', 0, 16);
      expect(digest16(String(n))).toBe(expected);
    }
  });
});

describe('framing', () => {
  it('keeps apart what plain joining would mix up', () => {
    expect(frameText('a', '1') + frameText('b', '2')).not.toBe(frameText('a', '1b:1:2'));
    expect(frameText('a', 'x;y=1;')).not.toBe(frameText('a', 'x;') + frameValue('y', 1));
    expect(commandKey('Reserve', 'a', 'bc', '').digest).not.toBe(commandKey('Reserve', 'ab', 'c', '').digest);
    expect(commandKey('Renew', 'a', 'k', '').digest).not.toBe(commandKey('Release', 'a', 'k', '').digest);
  });

  it('is what journals hold', () => {
    expect(reserveKey({ holder: 'w', minMicros: 5n, ttl: { seconds: 30n } })).toEqual({
      digest: 'CCwk_YSRBPMF57l7pRlp5Q',
      fingerprint: '7nzOyUHwuHzIsaS0PcWbNQ',
    });
  });
});

describe('the key of a Reserve', () => {
  const base = reserveKey({});

  it.each<[string, Reserve]>([
    ['max', { maxMicros: 101n }],
    ['min set to all of max', { minMicros: 100n }],
    ['min of 0', { minMicros: 0n }],
    ['ttl set to its default', { ttl: { seconds: 60n } }],
    ['holder', { holder: 'w' }],
    ['also', { also: ['acme/a'] }],
    ['tokens of 0', { tokens: 0n }],
    ['tool calls of 0', { toolCalls: 0n }],
    ['priority set to its default', { priority: 2 }],
    ['alternatives', { alternatives: [{ label: 'a', maxMicros: 0n }] }],
    ['wait of nothing', { maxWait: { seconds: 0n } }],
  ])('has another fingerprint for another %s', (_, changes) => {
    expect(reserveKey(changes).digest).toBe(base.digest);
    expect(reserveKey(changes).fingerprint).not.toBe(base.fingerprint);
  });

  it('tells budgets and ways named in another order apart, and tokens from tool calls', () => {
    const a = { label: 'a', maxMicros: 1n };
    const b = { label: 'b', maxMicros: 1n };
    const prints = [
      reserveKey({ also: ['acme/a', 'acme/b'] }),
      reserveKey({ also: ['acme/b', 'acme/a'] }),
      reserveKey({ also: ['acme/a'] }),
      reserveKey({ tokens: 1n }),
      reserveKey({ toolCalls: 1n }),
      reserveKey({ alternatives: [a, b] }),
      reserveKey({ alternatives: [b, a] }),
      reserveKey({ alternatives: [a] }),
    ].map(({ fingerprint }) => fingerprint);
    expect(new Set(prints).size).toBe(prints.length);
  });

  it('leaves personal fields to the kernel', () => {
    expect(reserveKey({ actingFor: 'kim', labels: { a: 'b' } })).toEqual(base);
  });

  it.each<[string, Reserve]>([
    ['budget', { budget: 'acme/a' }],
    ['key', { idempotencyKey: 'k2' }],
  ])('has another digest for another %s', (_, changes) => {
    expect(reserveKey(changes).digest).not.toBe(base.digest);
  });
});

describe('other fingerprints', () => {
  const settleKey = (changes: MessageInitShape<typeof SettleRequestSchema>) => {
    const request = { reservationId: 'acme:06fk2xw8q40000000001', idempotencyKey: 'k', ...changes };
    const command = settleCommand(create(SettleRequestSchema, request as typeof changes), origin);
    if (isRefusal(command)) throw new Error('refused');
    return command.key?.fingerprint;
  };

  it('tells a Settle of 0, of unknown, kept open and with an outcome apart', () => {
    const actual = (value: bigint) => ({ case: 'actualMicros', value }) as const;
    const prints = [
      settleKey({ cost: actual(0n) }),
      settleKey({ cost: actual(1n) }),
      settleKey({ cost: { case: 'usageUnknown', value: {} } }),
      settleKey({ cost: actual(0n), keepOpen: true }),
      settleKey({ cost: actual(0n), keepOpen: true, retainMicros: 0n }),
      settleKey({ cost: actual(0n), outcome: 1 }),
      settleKey({ cost: actual(0n), confirmAmount: true }),
    ];
    expect(new Set(prints).size).toBe(prints.length);
  });

  it('tells budgets apart by every field that was set', () => {
    const print = (budget: NonNullable<MessageInitShape<typeof CreateBudgetRequestSchema>['budget']>) => {
      const request = create(CreateBudgetRequestSchema, { budget, idempotencyKey: 'k' });
      const command = createBudgetCommand(request, 'tester');
      if (isRefusal(command)) throw new Error('refused');
      return command.key?.fingerprint;
    };
    const path = { budget: 'acme' };
    const lifetime = { kind: { case: 'lifetime', value: {} } } as const;
    const rate = create(RateSchema, { kind: 1, count: 1n, per: { seconds: 1n } });
    const shapes = [
      {},
      { maxReservationMicros: 0n },
      { maxActive: 0 },
      { maxChildren: 0 },
      { maxDepth: 0 },
      { maxLease: { seconds: 1n } },
      { maxRenewals: 0 },
      { closeAfter: { seconds: 1n } },
    ];
    const enforcements: MessageInitShape<typeof EnforcementSchema>[] = [
      {},
      { mode: 1 },
      { mode: 4 },
      { toleranceMicros: 1n },
      { onExhaustion: 1 },
      { kept: [{ priority: 4, micros: 1n }] },
      { kept: [{ priority: 3, micros: 1n }] },
      {
        kept: [
          { priority: 4, micros: 1n },
          { priority: 3, micros: 1n },
        ],
      },
    ];
    const windows: Exclude<MessageInitShape<typeof WindowSchema>['kind'], undefined>[] = [
      { case: 'rolling', value: { duration: { seconds: 1n } } },
      { case: 'rolling', value: { duration: { seconds: 2n } } },
      { case: 'calendar', value: { unit: 1 } },
      { case: 'calendar', value: { unit: 2 } },
      { case: 'calendar', value: { unit: 2, timeZone: 'UTC' } },
      { case: 'range', value: { startTime: {}, endTime: { seconds: 1n } } },
      { case: 'range', value: { startTime: {}, endTime: { seconds: 1n, nanos: 1_000_000 } } },
      { case: 'range', value: { startTime: { nanos: 1_000_000 }, endTime: { seconds: 1n } } },
    ];
    const prints = [
      print(path),
      print({ ...path, kind: 'x' }),
      print({ ...path, owner: 'x' }),
      print({ ...path, unit: 'USD' }),
      print({ ...path, uncapped: true }),
      print({ ...path, onExpiry: 1 }),
      print({ ...path, limits: [{}] }),
      print({ ...path, limits: [{ name: 'lifetime' }] }),
      print({ ...path, limits: [{ window: lifetime }] }),
      print({ ...path, limits: [{ amountMicros: 1n }] }),
      print({ ...path, limits: [{ name: 'a' }, { name: 'b' }] }),
      print({ ...path, limits: [{ name: 'b' }, { name: 'a' }] }),
      ...windows.map((window) => print({ ...path, limits: [{ window: { kind: window } }] })),
      print({ ...path, rates: [rate] }),
      print({ ...path, rates: [{ ...rate, count: 2n }] }),
      print({ ...path, rates: [{ ...rate, kind: 2 }] }),
      print({ ...path, rates: [{ ...rate, per: durationFromMs(2_000) }] }),
      print({ ...path, rates: [{ ...rate, burst: 1n }] }),
      ...shapes.map((shape) => print({ ...path, shape })),
      print({ ...path, overrun: 1 }),
      print({ ...path, overrun: 2 }),
      print({ ...path, childTemplate: {} }),
      print({ ...path, childTemplate: { kind: 'x' } }),
      print({ ...path, childTemplate: { uncapped: true } }),
      print({ ...path, childTemplate: { limits: [{}] } }),
      print({ ...path, childTemplate: { rates: [rate] } }),
      print({ ...path, childTemplate: { shape: {} } }),
      print({ ...path, childTemplate: { onExpiry: 1 } }),
      print({ ...path, childTemplate: { overrun: 1 } }),
      print({ ...path, childTemplate: { childTemplate: {} } }),
      ...enforcements.map((enforcement) => print({ ...path, enforcement })),
      print({ ...path, childTemplate: { enforcement: {} } }),
      print({ ...path, alertAt: {} }),
      print({ ...path, alertAt: { percent: [80, 100] } }),
      print({ ...path, alertAt: { percent: [8, 100] } }),
      print({ ...path, childTemplate: { alertAt: {} } }),
      print({ ...path, weight: 1 }),
      print({ ...path, weight: 11 }),
      print({ ...path, floorMicros: 1n }),
      print({ ...path, floorMicros: 11n }),
      print({ ...path, sharePercent: 1 }),
      print({ ...path, sharePercent: 11 }),
      print({ ...path, childTemplate: { floorMicros: 1n } }),
      print({ ...path, childTemplate: { sharePercent: 1 } }),
      print({ ...path, childTemplate: { weight: 1 } }),
      print({ ...path, models: {} }),
      print({ ...path, models: { maxTier: 1 } }),
      print({ ...path, models: { allowedModels: {} } }),
      print({ ...path, models: { allowedModels: { models: ['a/b'] } } }),
      print({ ...path, models: { allowedModels: { models: ['a/b', 'c/d'] } } }),
      print({ ...path, childTemplate: { models: {} } }),
    ];
    expect(new Set(prints).size).toBe(prints.length);
    expect(print({ ...path, labels: { a: 'b' } })).toBe(prints[0]);
  });
});
