// The order of reasons past existence and state, and RetryInfo: only where every failing limit, whatever its reason, can recover
// by waiting, and then the time that it takes.
import { describe, expect, it } from 'vitest';
import { MICROS_MAX } from '../../../src/kernel/money.ts';
import { KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { HOUR_MS, MINUTE_MS, per, range, rolling } from '../../support/windows.ts';

type Terms = Parameters<KernelDriver['make']['create']>[1];
const AT = (hours: number): number => START_MS + hours * HOUR_MS;
const requests = (count: number) => [{ kind: 'requests', count, perMs: MINUTE_MS, burst: count }] as const;

/** A budget on which 1 was spent and 1 is held. */
function used(terms: Terms): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', terms));
  driver.run(driver.make.settle(driver.hold('t', 1), 1));
  driver.hold('t', 1);
  return driver;
}

const rates = requests(2);
const shape = { maxActive: 1 };
const CASES: readonly (readonly [string, NonNullable<Terms>, string, number | undefined])[] = [
  ['a rate alone', { limits: 10, rates }, 'RATE_LIMITED', 30_000],
  ['a rate, and slots', { limits: 10, rates, shape }, 'RATE_LIMITED', 30_000],
  ['a rate, and a limit that holds fill', { limits: 2, rates }, 'RATE_LIMITED', undefined],
  ['a rate, and a day that is spent', { limits: { day: per('day', 2) }, rates }, 'RATE_LIMITED', 15 * HOUR_MS],
  ['a rate, and a lifetime limit that is spent', { limits: { all: 2 }, rates, shape }, 'RATE_LIMITED', undefined],
  ['slots alone', { limits: 10, shape }, 'CONCURRENCY_LIMIT', 1_000],
  ['slots, and an hour that is spent', { limits: { own: per('hour', 2) }, shape }, 'CONCURRENCY_LIMIT', HOUR_MS],
  ['slots, and a lifetime limit that is spent', { limits: 2, shape }, 'CONCURRENCY_LIMIT', undefined],
  ['a limit that holds fill', { limits: 3 }, 'CAPACITY_HELD', 1_000],
  ['a day that is spent', { limits: { day: per('day', 2) } }, 'BUDGET_EXHAUSTED', 15 * HOUR_MS],
  [
    'a day that is spent, and a rolling hour that is',
    { limits: { day: per('day', 2), hour: rolling(HOUR_MS, 2) } },
    'BUDGET_EXHAUSTED',
    15 * HOUR_MS,
  ],
  ['an hour that is spent, and holds', { limits: { hour: per('hour', 2), all: 3 } }, 'BUDGET_EXHAUSTED', HOUR_MS],
  ['a rolling hour that is spent', { limits: { own: rolling(HOUR_MS, 2) } }, 'BUDGET_EXHAUSTED', HOUR_MS + 30_000],
  ['a range that is spent', { limits: { own: range(AT(0), AT(9), 2) } }, 'BUDGET_EXHAUSTED', undefined],
  ['a range that holds fill', { limits: { own: range(AT(0), AT(9), 3) } }, 'CAPACITY_HELD', 1_000],
  [
    'a range that is spent, and an hour',
    { limits: { a: range(AT(0), AT(9), 2), b: per('hour', 2) } },
    'BUDGET_EXHAUSTED',
    undefined,
  ],
];

describe('RetryInfo', () => {
  it.each(CASES)('%s', (_, terms, reason, retryAfterMs) => {
    const refusal = refused(used(terms).run(new KernelDriver().make.reserve('t', 2)));
    expect(refusal.reason).toBe(reason);
    expect(refusal.retryAfterMs).toBe(retryAfterMs);
  });

  it('is what decides whether a key remembers', () => {
    const driver = used({ limits: { day: per('day', 2) } });
    const command = driver.make.reserve('t', 2, { key: 'k' });
    expect(refused(driver.run(command)).retryAfterMs).toBe(15 * HOUR_MS);
    driver.advance(15 * HOUR_MS);
    expect(driver.run(driver.make.again(command)).kind).toBe('reservation');
    const spent = used({ limits: 2, rates });
    const other = spent.make.reserve('t', 2, { key: 'k' });
    expect(refused(spent.run(other)).retryAfterMs).toBeUndefined();
    spent.run(spent.make.topUp('t', 100));
    spent.advance(HOUR_MS);
    expect(refused(spent.run(spent.make.again(other))).reason).toBe('RATE_LIMITED');
  });
});

describe('the order of reasons', () => {
  it('goes from what is certain to what is money', () => {
    const driver = new KernelDriver();
    driver.run(
      driver.make.create('t', {
        limits: { all: 10, past: range(AT(-2), AT(-1), 10) },
        rates: requests(1),
        shape: { maxActive: 0, maxReservationMicros: 5n, maxLeaseMs: 1_000, maxDepth: 0, maxChildren: 0 },
        template: driver.make.terms(),
      }),
    );
    const reasonNow = (tokens = 0) => refused(driver.run(driver.make.reserve('t/run', 11, { tokens }))).reason;
    const clear = (shape: NonNullable<Terms>['shape']) => driver.run(driver.make.update('t', { shape: shape ?? {} }));
    driver.run(driver.make.suspend('t'));
    expect(reasonNow()).toBe('BUDGET_SUSPENDED');
    driver.run(driver.make.resume('t'));
    expect(reasonNow()).toBe('MAX_RESERVATION_EXCEEDED');
    clear({ maxReservationMicros: undefined });
    expect(reasonNow()).toBe('MAX_LEASE_EXCEEDED');
    clear({ maxLeaseMs: undefined });
    expect(reasonNow()).toBe('DEPTH_LIMIT');
    clear({ maxDepth: 1 });
    expect(reasonNow()).toBe('FAN_OUT_LIMIT');
    clear({ maxChildren: undefined });
    expect(reasonNow()).toBe('WINDOW_CLOSED');
    driver.run(driver.make.update('t', { limits: { all: 10 } }));
    expect(reasonNow()).toBe('EXCEEDS_LIMIT');
    driver.run(driver.make.update('t', { limits: { all: 11 } }));
    expect(reasonNow()).toBe('CONCURRENCY_LIMIT');
    clear({ maxActive: undefined });
    driver.hold('t', 1);
    expect(reasonNow()).toBe('RATE_LIMITED');
    driver.run(driver.make.update('t', { rates: [] }));
    expect(reasonNow()).toBe('CAPACITY_HELD');
    driver.run(driver.make.close('t'));
    expect(reasonNow()).toBe('BUDGET_CLOSED');
  });

  it('puts a sum past int64 among what can never fit, before rates and slots', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { uncapped: true, rates: requests(1), shape: { maxActive: 1 } }));
    driver.hold('t', MICROS_MAX);
    const refusal = refused(driver.run(driver.make.reserve('t', 1)));
    expect(refusal.reason).toBe('EXCEEDS_LIMIT');
    expect(refusal.retryAfterMs).toBeUndefined();
  });
});
