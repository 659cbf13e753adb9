import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

describe('an implausible cost', () => {
  function driverWithFactor(factor: number): KernelDriver {
    const driver = new KernelDriver();
    driver.implausibleFactor = factor;
    driver.run(driver.make.create('t', { uncapped: true }));
    return driver;
  }

  it('is one past so many times what was granted, unless it is confirmed', () => {
    const driver = driverWithFactor(1_000);
    const id = driver.hold('t', 5);
    const refusal = refused(driver.run(driver.make.settle(id, 5_001, { key: 'k' })));
    expect(refusal).toMatchObject({
      reason: 'IMPLAUSIBLE_AMOUNT',
      budget: 't',
      availableMicros: 5n,
      requestedMicros: 5_001n,
    });
    expect(refusal.retryAfterMs).toBeUndefined();
    expect(driver.balances('t')).toMatchObject({ held: 5n, settled: 0n });
    // The refusal is final for its key; who stands by the amount says so with another.
    expect(refused(driver.run(driver.make.settle(id, 5_001, { key: 'k' })))).toEqual(refusal);
    granted(driver.run(driver.make.settle(id, 5_001, { confirmed: true, key: 'k2' })));
    granted(driver.run(driver.make.settle(driver.hold('t', 5), 5_000)));
  });

  it('is judged by what was granted, parts and Extends included, and a part by itself', () => {
    const driver = driverWithFactor(10);
    const id = driver.hold('t', 5);
    granted(driver.run(driver.make.extend(id, 5)));
    granted(driver.run(driver.make.settle(id, 10, { keepOpen: true })));
    granted(driver.run(driver.make.settle(id, 100, { keepOpen: true })));
    expect(refused(driver.run(driver.make.settle(id, 101, { keepOpen: true }))).reason).toBe('IMPLAUSIBLE_AMOUNT');
  });

  it('is judged late too, after what the reservation has come to', () => {
    const driver = driverWithFactor(10);
    const id = driver.hold('t', 5, { ttlMs: 1_000 });
    driver.advance(1_000);
    expect(refused(driver.run(driver.make.settle(id, 51))).reason).toBe('IMPLAUSIBLE_AMOUNT');
    granted(driver.run(driver.make.settle(id, 51, { confirmed: true })));
    expect(refused(driver.run(driver.make.settle(id, 51))).reason).toBe('RESERVATION_SETTLED');
  });

  it('is not looked for where nothing was granted, where the cost is unknown, or with a factor of 0', () => {
    const driver = driverWithFactor(10);
    granted(driver.run(driver.make.settle(driver.hold('t', 0), 1_000_000)));
    granted(driver.run(driver.make.settle(driver.hold('t', 5), undefined)));
    const off = driverWithFactor(0);
    granted(off.run(off.make.settle(off.hold('t', 1), 1_000_000)));
  });
});
