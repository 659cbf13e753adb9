import { describe, expect, it } from 'vitest';
import { MICROS_MAX } from '../../../src/kernel/money.ts';
import { budgetOf, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, per, range, rolling } from '../../support/windows.ts';

function withWindows(): KernelDriver {
  const driver = new KernelDriver();
  const limits = {
    day: per('day', 10),
    all: 1_000,
    fixed: range(START_MS, START_MS + 9 * DAY_MS, 100),
    hour: rolling(HOUR_MS, 90),
  };
  driver.run(driver.make.create('t', { limits }));
  return driver;
}

const standing = (driver: KernelDriver, name: string) =>
  budgetOf(driver.run(driver.make.getBudget('t'))).standings.find(({ limit }) => limit.name === name);

describe('TopUp', () => {
  it('of a calendar limit is for its current period, and sums up within it', () => {
    const driver = withWindows();
    driver.run(driver.make.topUp('t', 5, { limit: 'day' }));
    driver.run(driver.make.topUp('t', 7, { limit: 'day' }));
    expect(standing(driver, 'day')).toMatchObject({ amountMicros: 22n, limit: { amountMicros: 10n } });
    driver.hold('t', 22);
    driver.advance(DAY_MS);
    expect(standing(driver, 'day')?.amountMicros).toBe(10n);
    expect(refused(driver.run(driver.make.reserve('t', 11))).reason).toBe('EXCEEDS_LIMIT');
    driver.run(driver.make.topUp('t', 1, { limit: 'day' }));
    expect(standing(driver, 'day')?.amountMicros).toBe(11n);
  });

  it('stays through an edit of the amount, and what was granted on it does not come again', () => {
    const driver = withWindows();
    driver.run(driver.make.topUp('t', 5, { limit: 'day' }));
    driver.run(driver.make.update('t', { limits: { day: per('day', 20) } }));
    expect(standing(driver, 'day')?.amountMicros).toBe(25n);
    driver.run(driver.make.settle(driver.hold('t', 25), 25));
    // The next day has 20, not 25.
    expect(refused(driver.run(driver.make.reserve('t', 20))).retryAfterMs).toBe(15 * HOUR_MS);
    const refusal = refused(driver.run(driver.make.reserve('t', 21)));
    expect(refusal.reason).toBe('BUDGET_EXHAUSTED');
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  it('of a range or lifetime limit raises the amount', () => {
    const driver = withWindows();
    driver.run(driver.make.topUp('t', 5, { limit: 'fixed' }));
    driver.run(driver.make.topUp('t', 6, { limit: 'all' }));
    expect(standing(driver, 'fixed')?.limit).toMatchObject({ amountMicros: 105n, topUp: undefined });
    expect(standing(driver, 'all')?.limit).toMatchObject({ amountMicros: 1_006n, topUp: undefined });
  });

  it('of a rolling limit is refused, and has to name one of several', () => {
    const driver = withWindows();
    expect(refused(driver.run(driver.make.topUp('t', 5, { limit: 'hour' })))).toMatchObject({
      reason: 'INVALID_FIELD',
      fields: [{ field: 'limit' }],
    });
    expect(refused(driver.run(driver.make.topUp('t', 5)))).toMatchObject({ fields: [{ field: 'limit' }] });
    expect(refused(driver.run(driver.make.topUp('t', 5, { limit: 'none' })))).toMatchObject({
      fields: [{ field: 'limit' }],
    });
  });

  it('is refused past int64, and an edit does not take the sum past it', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { day: per('day', 10) } }));
    const field = { reason: 'INVALID_FIELD', fields: [{ field: 'add_micros' }] };
    expect(refused(driver.run(driver.make.topUp('t', MICROS_MAX - 9n)))).toMatchObject(field);
    budgetOf(driver.run(driver.make.topUp('t', MICROS_MAX - 10n)));
    expect(refused(driver.run(driver.make.topUp('t', 1)))).toMatchObject(field);
    driver.run(driver.make.update('t', { limits: { day: per('day', MICROS_MAX) } }));
    expect(standing(driver, 'day')?.amountMicros).toBe(MICROS_MAX);
    expect(driver.balances('t').available).toBe(MICROS_MAX);
  });
});
