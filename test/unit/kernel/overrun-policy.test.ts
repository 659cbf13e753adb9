import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { HOUR_MS, per, rolling } from '../../support/windows.ts';

type Terms = Parameters<KernelDriver['make']['create']>[1];

function rejecting(terms: Terms = { limits: 100 }): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { ...terms, overrun: 'reject' }));
  driver.run(driver.make.create('t/a'));
  return driver;
}

describe('a budget that takes no overrun', () => {
  it('refuses a cost that no ceiling covers, and leaves the hold as it was', () => {
    const driver = rejecting();
    const id = driver.hold('t', 50);
    const other = driver.hold('t/a', 50);
    expect(refused(driver.run(driver.make.settle(id, 60)))).toMatchObject({
      reason: 'OVERRUN_REJECTED',
      budget: 't',
      limit: 'lifetime',
      availableMicros: 0n,
      requestedMicros: 10n,
      // The other hold may come back.
      retryAfterMs: 1_000,
    });
    expect(driver.balances('t')).toMatchObject({ held: 100n, settled: 0n });
    granted(driver.run(driver.make.release(other)));
    expect(granted(driver.run(driver.make.settle(id, 60))).reservation.figures).toMatchObject({
      settledMicros: 60n,
      overrunMicros: 0n,
    });
  });

  it('binds what is reserved below it and beside it, and nothing where all record', () => {
    const driver = rejecting();
    const id = driver.hold('t/a', 100);
    expect(refused(driver.run(driver.make.settle(id, 101))).reason).toBe('OVERRUN_REJECTED');
    driver.run(driver.make.update('t', { overrun: 'record' }));
    driver.run(driver.make.update('t/a', { overrun: 'reject' }));
    const beside = driver.hold('t', 0, { also: ['t/a'] });
    expect(refused(driver.run(driver.make.settle(beside, 1))).message).toContain('t/a takes no overrun');
    driver.run(driver.make.update('t/a', { overrun: 'record' }));
    expect(granted(driver.run(driver.make.settle(id, 101))).reservation.figures.overrunMicros).toBe(1n);
  });

  it('judges a part as it judges the whole', () => {
    const driver = rejecting();
    const id = driver.hold('t', 100);
    expect(refused(driver.run(driver.make.settle(id, 101, { keepOpen: true }))).reason).toBe('OVERRUN_REJECTED');
    granted(driver.run(driver.make.settle(id, 100, { keepOpen: true })));
    expect(refused(driver.run(driver.make.settle(id, 1))).reason).toBe('OVERRUN_REJECTED');
    granted(driver.run(driver.make.settle(id, 0)));
  });

  it('records what is late, and takes an unknown cost for the hold', () => {
    const driver = rejecting();
    const [late, unknown] = [driver.hold('t', 40, { ttlMs: 1_000 }), driver.hold('t', 60)];
    driver.advance(1_000);
    expect(granted(driver.run(driver.make.settle(late, 90))).reservation.figures).toMatchObject({
      late: true,
      settledMicros: 40n,
      overrunMicros: 50n,
    });
    expect(granted(driver.run(driver.make.settle(unknown, undefined))).reservation.figures.settledMicros).toBe(60n);
  });

  const RETRIES: readonly (readonly [string, Terms, number | undefined])[] = [
    ['its own hold is all that is in the way', { limits: 50 }, undefined],
    ['the day of the hold is spent', { limits: { day: per('day', 50) } }, undefined],
    ['a rolling hour will forget', { limits: { hour: rolling(HOUR_MS, 80) } }, HOUR_MS + 30_000],
    ['a rolling hour is too small for it', { limits: { hour: rolling(HOUR_MS, 50) } }, undefined],
  ];
  it.each(RETRIES)('RetryInfo where %s', (_, terms, retryAfterMs) => {
    const driver = rejecting(terms);
    driver.run(driver.make.settle(driver.hold('t', 40), 40));
    const id = driver.hold('t', 10);
    const command = driver.make.settle(id, 60, { key: 'k' });
    const refusal = refused(driver.run(command));
    expect(refusal.reason).toBe('OVERRUN_REJECTED');
    expect(refusal.retryAfterMs).toBe(retryAfterMs);
    expect(driver.state.remembered(command.key?.digest ?? '') === undefined).toBe(retryAfterMs !== undefined);
  });

  it('is kept when a budget is made and when it is edited', () => {
    const driver = rejecting();
    expect(driver.state.budgetAt('t' as never)?.def.overrun).toBe('reject');
    driver.run(driver.make.update('t', { owner: 'ops' }));
    expect(driver.state.budgetAt('t' as never)?.def.overrun).toBe('reject');
  });

  it("of a budget that only watches is nobody else's to reject", () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100, enforcement: { mode: 'observe' } }));
    driver.run(driver.make.create('t/a', { limits: 1_000, overrun: 'reject' }));
    driver.run(driver.make.settle(driver.hold('t/a', 100), 100));
    const settled = granted(driver.run(driver.make.settle(driver.hold('t/a', 50), 60)));
    expect(settled.reservation.figures).toMatchObject({ state: 'SETTLED', settledMicros: 0n, overrunMicros: 60n });
  });
});
