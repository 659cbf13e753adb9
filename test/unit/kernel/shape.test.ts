import { describe, expect, it } from 'vitest';
import type { Shape } from '../../../src/kernel/budget.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function withShapes(root: Partial<Shape>, below: Partial<Shape> = {}): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 1_000, shape: root }));
  driver.run(driver.make.create('t/a', { shape: below }));
  return driver;
}

function figuresOf(driver: KernelDriver, id: string) {
  return driver.state.reservation(id as ReservationId)?.figures;
}

describe('the largest reservation', () => {
  it('refuses what asks for more at the least, grants in part what does not', () => {
    const driver = withShapes({ maxReservationMicros: 100n });
    expect(refused(driver.run(driver.make.reserve('t/a', 500)))).toMatchObject({
      reason: 'MAX_RESERVATION_EXCEEDED',
      budget: 't',
      availableMicros: 100n,
      requestedMicros: 500n,
    });
    expect(granted(driver.run(driver.make.reserve('t/a', 500, { min: 100 }))).reservation.figures).toMatchObject({
      requestedMicros: 500n,
      grantedMicros: 100n,
    });
    driver.hold('t/a', 100);
  });

  it('is the tightest on the way, of equals that nearest the root', () => {
    const driver = withShapes({ maxReservationMicros: 100n }, { maxReservationMicros: 40n });
    expect(refused(driver.run(driver.make.reserve('t/a', 101))).budget).toBe('t/a');
    driver.run(driver.make.update('t', { shape: { maxReservationMicros: 40n } }));
    expect(refused(driver.run(driver.make.reserve('t/a', 41))).budget).toBe('t');
  });

  it('counts what was granted in all, Extends and settled parts included', () => {
    const driver = withShapes({ maxReservationMicros: 100n });
    const id = driver.hold('t', 60);
    granted(driver.run(driver.make.settle(id, 50, { keepOpen: true })));
    const { figures } = granted(driver.run(driver.make.extend(id, 90, { min: 10 }))).reservation;
    expect(figures).toMatchObject({ grantedMicros: 100n, heldMicros: 50n });
    expect(refused(driver.run(driver.make.extend(id, 1)))).toMatchObject({
      reason: 'MAX_RESERVATION_EXCEEDED',
      availableMicros: 0n,
      requestedMicros: 1n,
    });
    expect(granted(driver.run(driver.make.extend(id, 9, { min: 0 }))).reservation.figures.grantedMicros).toBe(100n);
  });

  it('lowered below what was granted, lets nothing be added and takes nothing away', () => {
    const driver = withShapes({});
    const id = driver.hold('t', 60);
    driver.run(driver.make.update('t', { shape: { maxReservationMicros: 50n } }));
    expect(refused(driver.run(driver.make.extend(id, 0)))).toMatchObject({ reason: 'MAX_RESERVATION_EXCEEDED' });
    expect(granted(driver.run(driver.make.settle(id, 60))).reservation.figures.settledMicros).toBe(60n);
  });
});

describe('the longest lease', () => {
  it('is what a caller gets that asks for none, and 60 s where it is longer', () => {
    const driver = withShapes({ maxLeaseMs: 9_000 }, { maxLeaseMs: 120_000 });
    const id = driver.hold('t/a', 1, { ttlMs: 'unset' });
    expect(figuresOf(driver, id)).toMatchObject({ ttlMs: 9_000, expireMs: START_MS + 9_000 });
    driver.advance(4_000);
    const renewed = granted(driver.run(driver.make.renew(id, undefined))).reservation;
    expect(renewed.figures).toMatchObject({ ttlMs: 9_000, expireMs: START_MS + 13_000 });
    driver.run(driver.make.update('t', { shape: { maxLeaseMs: undefined } }));
    const free = driver.hold('t/a', 1, { ttlMs: 'unset' });
    expect(figuresOf(driver, free)?.ttlMs).toBe(60_000);
  });

  it('of a budget that only watches shortens nothing', () => {
    const driver = withShapes({ maxLeaseMs: 9_000 });
    driver.run(driver.make.update('t', { enforcement: { mode: 'warn' } }));
    const id = driver.hold('t/a', 1, { ttlMs: 'unset' });
    expect(figuresOf(driver, id)?.ttlMs).toBe(60_000);
  });

  it('binds Reserve and Renew, at the tightest level', () => {
    const driver = withShapes({ maxLeaseMs: 9_000 }, { maxLeaseMs: 5_000 });
    expect(refused(driver.run(driver.make.reserve('t/a', 1, { ttlMs: 5_001 })))).toMatchObject({
      reason: 'MAX_LEASE_EXCEEDED',
      budget: 't/a',
      bound: { name: 'max_lease', max: 5_000, observed: 5_001 },
    });
    const id = driver.hold('t/a', 1, { ttlMs: 5_000 });
    expect(refused(driver.run(driver.make.renew(id, 5_001))).reason).toBe('MAX_LEASE_EXCEEDED');
    driver.advance(4_000);
    const renewed = granted(driver.run(driver.make.renew(id, 5_000))).reservation;
    expect(renewed.figures.expireMs).toBe(START_MS + 9_000);
  });
});

describe('the most renewals', () => {
  it('count those that move the lease; one that moves nothing passes', () => {
    const driver = withShapes({ maxRenewals: 2 });
    const id = driver.hold('t/a', 1, { ttlMs: 5_000 });
    granted(driver.run(driver.make.renew(id, 1_000)));
    for (let i = 0; i < 2; i += 1) {
      driver.advance(1_000);
      granted(driver.run(driver.make.renew(id, 5_000)));
    }
    driver.advance(1_000);
    expect(refused(driver.run(driver.make.renew(id, 5_000)))).toMatchObject({
      reason: 'MAX_LEASE_EXCEEDED',
      budget: 't',
      bound: { name: 'max_renewals', max: 2, observed: 2 },
      message: 'a reservation on t may be renewed 2 times',
    });
    driver.run(driver.make.update('t', { shape: { maxRenewals: 1 } }));
    expect(refused(driver.run(driver.make.renew(id, 5_000))).message).toBe('a reservation on t may be renewed 1 time');
    expect(granted(driver.run(driver.make.renew(id, 1_000))).reservation.figures.renewalCount).toBe(2);
  });

  it('bind each of a batch, the same one twice too', () => {
    const driver = withShapes({ maxRenewals: 1 });
    const id = driver.hold('t', 1, { ttlMs: 1_000 });
    const answer = driver.run(
      driver.make.batchRenew([
        [id, 2_000],
        [id, 3_000],
      ]),
    );
    expect(answer.kind === 'renewals' && answer.results.map((each) => each.kind)).toEqual(['reservation', 'refusal']);
  });
});

describe('depth and children', () => {
  it('bound what is made by a call, the tightest level being named', () => {
    const driver = withShapes({ maxDepth: 2, maxChildren: 2 }, { maxDepth: 0 });
    expect(refused(driver.run(driver.make.create('t/a/x')))).toMatchObject({
      reason: 'DEPTH_LIMIT',
      budget: 't/a',
      bound: { name: 'max_depth', max: 0, observed: 1 },
    });
    driver.run(driver.make.create('t/b'));
    expect(refused(driver.run(driver.make.create('t/c')))).toMatchObject({
      reason: 'FAN_OUT_LIMIT',
      budget: 't',
      bound: { name: 'max_children', max: 2, observed: 2 },
    });
    driver.run(driver.make.create('t/b/x'));
    expect(refused(driver.run(driver.make.create('t/b/x/y')))).toMatchObject({ reason: 'DEPTH_LIMIT', budget: 't' });
  });

  it('does not count closed children, closed once or twice', () => {
    const driver = withShapes({ maxChildren: 1 });
    expect(refused(driver.run(driver.make.create('t/b'))).reason).toBe('FAN_OUT_LIMIT');
    driver.run(driver.make.close('t/a'));
    driver.run(driver.make.close('t/a'));
    expect(driver.run(driver.make.create('t/b')).kind).toBe('budget');
    expect(refused(driver.run(driver.make.create('t/c'))).reason).toBe('FAN_OUT_LIMIT');
    expect(driver.state.budgetAt('t' as never)?.openChildCount).toBe(1);
  });
});
