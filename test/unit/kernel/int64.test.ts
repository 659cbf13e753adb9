// Amounts at the edge of int64: never rounded, never wrapped, a sum past it refused.
import { describe, expect, it } from 'vitest';
import { MICROS_MAX } from '../../../src/kernel/money.ts';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

function withBudget(amount: bigint | undefined): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', amount === undefined ? { uncapped: true } : { limits: amount }));
  return driver;
}

describe('numbers that a double cannot hold', () => {
  it.each([9_007_199_254_740_993n, MICROS_MAX - 1n, MICROS_MAX])('%d minus one leaves one less', (amount) => {
    const driver = withBudget(amount);
    driver.hold('t', 1n);
    expect(driver.balances('t').available).toBe(amount - 1n);
  });

  it('settle to the unit', () => {
    const driver = withBudget(MICROS_MAX);
    const id = driver.hold('t', MICROS_MAX);
    const { figures } = granted(driver.run(driver.make.settle(id, MICROS_MAX - 1n))).reservation;
    expect(figures).toMatchObject({ settledMicros: MICROS_MAX - 1n, releasedMicros: 1n, overrunMicros: 0n });
  });
});

describe('a limit of the largest amount', () => {
  it('that is wholly held refuses one more as held, not as impossible', () => {
    const driver = withBudget(MICROS_MAX);
    const id = driver.hold('t', MICROS_MAX);
    const refusal = refused(driver.run(driver.make.reserve('t', 1n, { key: 'k' })));
    expect(refusal).toMatchObject({ reason: 'CAPACITY_HELD', budget: 't', availableMicros: 0n });
    expect(refusal.retryAfterMs).toBeDefined();
    driver.run(driver.make.release(id));
    expect(granted(driver.run(driver.make.reserve('t', 1n, { key: 'k' }))).replayed).toBe(false);
  });

  it('that is wholly spent refuses one more as exhausted', () => {
    const driver = withBudget(MICROS_MAX);
    driver.run(driver.make.settle(driver.hold('t', MICROS_MAX), MICROS_MAX));
    expect(refused(driver.run(driver.make.reserve('t', 1n)))).toMatchObject({ reason: 'BUDGET_EXHAUSTED' });
    expect(granted(driver.run(driver.make.reserve('t', 0n))).reservation.figures.grantedMicros).toBe(0n);
  });
});

describe('a sum past int64', () => {
  it('is refused where no limit applies', () => {
    const driver = withBudget(undefined);
    driver.hold('t', MICROS_MAX - 10n);
    const refusal = refused(driver.run(driver.make.reserve('t', 11n)));
    const amounts = { availableMicros: 10n, requestedMicros: 11n, unit: 'USD' };
    expect(refusal).toMatchObject({ reason: 'EXCEEDS_LIMIT', budget: 't', ...amounts });
    expect(refusal.retryAfterMs).toBeUndefined();
    expect(granted(driver.run(driver.make.reserve('t', 11n, { min: 1n }))).reservation.figures.grantedMicros).toBe(10n);
  });

  it('is refused where it is the sum of what extensions asked for', () => {
    const driver = withBudget(100n);
    const id = driver.hold('t', 100n);
    driver.run(driver.make.extend(id, MICROS_MAX - 100n, { min: 0n }));
    const refusal = refused(driver.run(driver.make.extend(id, 1n, { min: 0n })));
    expect(refusal).toMatchObject({ reason: 'EXCEEDS_LIMIT', availableMicros: 0n, requestedMicros: 1n });
    expect(driver.reservation(id).figures.requestedMicros).toBe(MICROS_MAX);
  });

  it('is refused where a settlement makes it, and the hold stays', () => {
    const driver = withBudget(100n);
    driver.run(driver.make.settle(driver.hold('t', 1n), MICROS_MAX - 50n, { confirmed: true }));
    expect(driver.balances('t')).toMatchObject({ settled: 100n, overrun: MICROS_MAX - 150n });
    driver.run(driver.make.update('t', { limits: MICROS_MAX }));
    const id = driver.hold('t', 30n);
    expect(refused(driver.run(driver.make.settle(id, 51n)))).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
    expect(driver.reservation(id).figures).toMatchObject({ state: 'ACTIVE', heldMicros: 30n, settledMicros: 0n });
    expect(granted(driver.run(driver.make.settle(id, 50n))).reservation.figures).toMatchObject({ settledMicros: 50n });
  });

  it('is refused where a top-up makes it', () => {
    const driver = withBudget(MICROS_MAX - 1n);
    expect(refused(driver.run(driver.make.topUp('t', 2)))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'add_micros' }],
    });
    expect(budgetOf(driver.run(driver.make.topUp('t', 1))).headroom.micros).toBe(MICROS_MAX);
  });
});
