import { describe, expect, it } from 'vitest';
import type { LimitsOption, WindowLimit } from '../../support/commands.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';
import { DAY_MS, HOUR_MS, per, range } from '../../support/windows.ts';

const AT = (hours: number): number => START_MS + hours * HOUR_MS;

function withLimits(limits: LimitsOption): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits }));
  return driver;
}

const ask = (driver: KernelDriver, max = 1) => refused(driver.run(driver.make.reserve('t', max)));

describe('a limit for a fixed range', () => {
  it('is open from its first instant to the one before its end', () => {
    const driver = withLimits({ own: range(AT(1), AT(2), 10) });
    expect(ask(driver)).toMatchObject({ reason: 'WINDOW_CLOSED', budget: 't', limit: 'own', retryAfterMs: HOUR_MS });
    expect(driver.balances('t').available).toBe(0n);
    driver.nowMs = AT(1);
    driver.hold('t', 4);
    driver.nowMs = AT(2) - 1;
    expect(driver.balances('t').available).toBe(10n);
    driver.hold('t', 6);
    driver.nowMs = AT(2);
    const over = ask(driver);
    expect(over.reason).toBe('WINDOW_CLOSED');
    expect(over.retryAfterMs).toBeUndefined();
    expect(driver.balances('t').available).toBe(0n);
  });

  it('does not stop Extend, Renew and Settle of what was admitted in it', () => {
    const driver = withLimits({ own: range(AT(0), AT(2), 10) });
    const id = driver.hold('t', 4, { ttlMs: 3 * HOUR_MS });
    driver.nowMs = AT(2);
    expect(granted(driver.run(driver.make.extend(id, 9, { min: 0 }))).reservation.figures.heldMicros).toBe(10n);
    granted(driver.run(driver.make.renew(id, DAY_MS)));
    expect(granted(driver.run(driver.make.settle(id, 12))).reservation.figures).toMatchObject({
      settledMicros: 10n,
      overrunMicros: 2n,
    });
  });

  const RETRIES: readonly (readonly [string, Readonly<Record<string, WindowLimit | number>>, number | undefined])[] = [
    ['two that begin later: the later one', { a: range(AT(2), AT(9), 10), b: range(AT(1), AT(9), 10) }, 2 * HOUR_MS],
    ['one to come and one that is over', { a: range(AT(2), AT(9), 10), b: range(AT(-2), AT(-1), 10) }, undefined],
    ['one to come after the other is over', { a: range(AT(3), AT(9), 10), b: range(AT(1), AT(3), 10) }, undefined],
    ['one to come after the open one is over', { a: range(AT(3), AT(9), 10), b: range(AT(-1), AT(2), 10) }, undefined],
    ['one to come, and a lifetime limit that can never hold it', { a: range(AT(1), AT(9), 10), b: 0 }, undefined],
  ];
  it.each(RETRIES)('RetryInfo of %s', (_, limits, retryAfterMs) => {
    const refusal = ask(withLimits(limits));
    expect(refusal.reason).toBe('WINDOW_CLOSED');
    expect(refusal.retryAfterMs).toBe(retryAfterMs);
  });

  it('names one that is over before one to come', () => {
    const driver = withLimits({ a: range(AT(1), AT(9), 10), b: range(AT(-2), AT(-1), 10) });
    expect(ask(driver).limit).toBe('b');
  });

  it('has no RetryInfo where a lifetime limit was spent meanwhile', () => {
    const driver = withLimits({ all: 10 });
    driver.run(driver.make.settle(driver.hold('t', 10), 10));
    driver.run(driver.make.update('t', { limits: { all: 10, later: range(AT(1), AT(9), 10) } }));
    const refusal = ask(driver);
    expect(refusal.reason).toBe('WINDOW_CLOSED');
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  it('is no use to wait for a day that turns when the range is over', () => {
    const driver = withLimits({ own: range(AT(0), AT(10), 100), day: per('day', 10) });
    driver.run(driver.make.settle(driver.hold('t', 10), 10));
    const refusal = ask(driver);
    expect(refusal).toMatchObject({ reason: 'BUDGET_EXHAUSTED', limit: 'day' });
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  it('may begin in 1970: its period is no rolling one', () => {
    const driver = withLimits({ own: range(0, AT(9), 10), hour: per('hour', 10) });
    const id = driver.hold('t', 8);
    granted(driver.run(driver.make.settle(id, 3, { keepOpen: true })));
    driver.advance(DAY_MS);
    granted(driver.run(driver.make.settle(id, 9)));
    const [own] = budgetOf(driver.run(driver.make.getBudget('t'))).standings;
    expect(own?.counter).toMatchObject({ heldMicros: 0n, settledMicros: 10n, overrunMicros: 2n });
  });
});
