import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function withHold(): { driver: KernelDriver; id: string } {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/c', { limits: 50 }));
  return { driver, id: driver.hold('t/c', 40, { ttlMs: 10_000 }) };
}

describe('Release', () => {
  it('gives the whole hold back at every level', () => {
    const { driver, id } = withHold();
    driver.advance(3_000);
    const answer = granted(driver.run(driver.make.release(id, { reason: 'not needed' })));
    expect(answer.reservation.figures).toMatchObject({
      state: 'RELEASED',
      heldMicros: 0n,
      releasedMicros: 40n,
      settledMicros: 0n,
      releaseReason: 'not needed',
      endMs: START_MS + 3_000,
    });
    expect(answer.headroom).toEqual({ micros: 50n, budget: 't/c', limit: 'lifetime' });
    for (const path of ['t', 't/c']) expect(driver.balances(path)).toMatchObject({ held: 0n, settled: 0n });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Released', id, effects: [{ heldMicros: -40n, active: -1 }] });
  });

  it('keeps what a part settlement took', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.settle(id, 15, { keepOpen: true }));
    const { figures } = granted(driver.run(driver.make.release(id))).reservation;
    expect(figures).toMatchObject({ state: 'RELEASED', settledMicros: 15n, releasedMicros: 25n });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 15n, overrun: 0n, available: 35n + 50n });
  });

  it('works until the grace is over and not after', () => {
    const { driver, id } = withHold();
    driver.graceMs = 5_000;
    const other = driver.hold('t', 10, { ttlMs: 10_000 });
    driver.advance(10_000);
    expect(refused(driver.run(driver.make.release(id)))).toMatchObject({ reason: 'RESERVATION_EXPIRED' });
    driver.advance(4_999);
    expect(granted(driver.run(driver.make.release(other))).reservation.figures.releasedMicros).toBe(10n);
  });

  it('has one effect, and none on what is not there', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.release(id));
    expect(refused(driver.run(driver.make.release(id)))).toMatchObject({ reason: 'RESERVATION_RELEASED' });
    expect(refused(driver.run(driver.make.settle(id, 10)))).toMatchObject({ reason: 'RESERVATION_RELEASED' });
    expect(refused(driver.run(driver.make.release('nowhere000')))).toMatchObject({ reason: 'RESERVATION_NOT_FOUND' });
    expect(driver.balances('t')).toMatchObject({ held: 0n, settled: 0n });
  });

  it('passes in a suspended and closed budget', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.suspend('t'));
    driver.run(driver.make.close('t'));
    granted(driver.run(driver.make.release(id)));
  });
});
