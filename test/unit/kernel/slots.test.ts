import { describe, expect, it } from 'vitest';
import { budgetOf, granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

function withSlots(own: number, below: number): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100, shape: { maxActive: own } }));
  driver.run(driver.make.create('t/a', { shape: { maxActive: below } }));
  return driver;
}

const ask = (driver: KernelDriver, budget: string) => refused(driver.run(driver.make.reserve(budget, 1)));

describe('slots', () => {
  it('bound the live reservations of the subtree', () => {
    const driver = withSlots(2, 1);
    driver.hold('t/a', 1);
    expect(ask(driver, 't/a')).toMatchObject({
      reason: 'CONCURRENCY_LIMIT',
      budget: 't/a',
      bound: { name: 'max_active', max: 1, observed: 1 },
      retryAfterMs: 1_000,
    });
    driver.hold('t', 1);
    expect(ask(driver, 't')).toMatchObject({
      reason: 'CONCURRENCY_LIMIT',
      budget: 't',
      bound: { max: 2, observed: 2 },
    });
  });

  it('come back with Settle, Release and the lapse, and not with a part', () => {
    const driver = withSlots(1, 1);
    const first = driver.hold('t/a', 5, { ttlMs: 10_000 });
    granted(driver.run(driver.make.settle(first, 5, { keepOpen: true })));
    expect(ask(driver, 't/a').reason).toBe('CONCURRENCY_LIMIT');
    granted(driver.run(driver.make.settle(first, 0)));
    const second = driver.hold('t/a', 1, { ttlMs: 10_000 });
    granted(driver.run(driver.make.release(second)));
    driver.hold('t/a', 1, { ttlMs: 10_000 });
    driver.advance(9_999);
    expect(ask(driver, 't/a').reason).toBe('CONCURRENCY_LIMIT');
    driver.advance(1);
    driver.hold('t/a', 1);
    expect(budgetOf(driver.run(driver.make.getBudget('t'))).activeCount).toBe(1);
  });

  it('are taken by a hold of nothing too, and not by an Extend', () => {
    const driver = withSlots(1, 1);
    const id = driver.hold('t', 0);
    expect(ask(driver, 't').reason).toBe('CONCURRENCY_LIMIT');
    granted(driver.run(driver.make.extend(id, 5)));
  });

  it('lowered below what is live admit none until enough are gone', () => {
    const driver = withSlots(3, 3);
    const ids = [1, 2, 3].map(() => driver.hold('t', 1));
    driver.run(driver.make.update('t', { shape: { maxActive: 2 } }));
    granted(driver.run(driver.make.release(ids[0] as string)));
    expect(ask(driver, 't').reason).toBe('CONCURRENCY_LIMIT');
    granted(driver.run(driver.make.release(ids[1] as string)));
    driver.hold('t', 1);
    driver.run(driver.make.update('t', { shape: { maxActive: undefined } }));
    driver.hold('t', 1);
  });

  it('are no use to wait for where there are none', () => {
    const driver = withSlots(0, 1);
    const refusal = ask(driver, 't');
    expect(refusal).toMatchObject({ reason: 'CONCURRENCY_LIMIT', bound: { max: 0, observed: 0 } });
    expect(refusal.retryAfterMs).toBeUndefined();
  });
});
