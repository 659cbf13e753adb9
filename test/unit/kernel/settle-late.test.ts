// What a lapse makes of a hold, and what a Settle after it makes of the lapse (DESIGN, promise 5).
import { describe, expect, it } from 'vitest';
import type { OnExpiry } from '../../../src/kernel/budget.ts';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

const TTL_MS = 10_000;

function lapsed(onExpiry: OnExpiry, options: { readonly part?: number; readonly others?: number } = {}) {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.run(driver.make.create('t/c', { onExpiry }));
  const id = driver.hold('t/c', 40, { ttlMs: TTL_MS });
  if (options.part !== undefined) driver.run(driver.make.settle(id, options.part, { keepOpen: true }));
  driver.advance(TTL_MS);
  if (options.others !== undefined) driver.hold('t', options.others);
  return { driver, id };
}

describe('a lapse', () => {
  const mark: Readonly<Record<string, (driver: KernelDriver, id: string) => void>> = {
    nothing: () => undefined,
    Renew: (driver, id) => driver.run(driver.make.renew(id, 1)),
    Extend: (driver, id) => driver.run(driver.make.extend(id, 0)),
    'part settlement': (driver, id) => driver.run(driver.make.settle(id, 0, { keepOpen: true })),
  };

  it.each([
    ['release', 'Renew', false],
    ['charge', 'nothing', true],
    ['charge', 'Renew', true],
    ['charge_started', 'nothing', false],
    ['charge_started', 'Renew', true],
    ['charge_started', 'Extend', true],
    ['charge_started', 'part settlement', true],
  ] as const)('under %s after %s: charged %s', (onExpiry, seen, charged) => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/c', { onExpiry }));
    const id = driver.hold('t/c', 40, { ttlMs: TTL_MS });
    mark[seen]?.(driver, id);
    driver.advance(TTL_MS);
    const { figures } = driver.reservation(id);
    expect(figures).toMatchObject({
      state: 'EXPIRED',
      heldMicros: 0n,
      settledMicros: charged ? 40n : 0n,
      releasedMicros: charged ? 0n : 40n,
      estimated: charged,
      late: false,
      endMs: START_MS + TTL_MS,
    });
    expect(driver.balances('t')).toEqual({
      held: 0n,
      settled: charged ? 40n : 0n,
      overrun: 0n,
      available: charged ? 60n : 100n,
    });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Expired', lapses: [{ id, charged }] });
  });

  it('follows the policy of the budget that the Reserve named, not of its ancestors', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100, onExpiry: 'charge' }));
    driver.run(driver.make.create('t/c', { onExpiry: 'release' }));
    driver.hold('t/c', 40, { ttlMs: TTL_MS });
    driver.advance(TTL_MS);
    expect(driver.balances('t')).toMatchObject({ held: 0n, settled: 0n });
  });

  it('follows the policy in force when it lapsed, whenever it is recorded', () => {
    const { driver, id } = lapsed('charge');
    driver.run(driver.make.update('t/c', { onExpiry: 'release' }));
    expect(driver.reservation(id).figures).toMatchObject({ settledMicros: 40n, estimated: true });
  });

  it('charges only what was still held', () => {
    const { driver, id } = lapsed('charge', { part: 15 });
    expect(driver.reservation(id).figures).toMatchObject({ settledMicros: 40n, estimatedMicros: 25n });
    expect(driver.balances('t')).toMatchObject({ settled: 40n, held: 0n });
  });
});

describe('a late Settle', () => {
  it.each([
    // [what, policy, part settled, held by others since, actual, settled, overrun, released]
    ['with room', 'release', undefined, undefined, 30, 30n, 0n, 40n],
    ['with room for a part', 'release', undefined, 90, 30, 10n, 20n, 40n],
    ['with no room', 'release', undefined, 100, 30, 0n, 30n, 40n],
    ['of nothing', 'release', undefined, undefined, 0, 0n, 0n, 40n],
    ['of unknown usage: the hold as it was at the lapse', 'release', undefined, undefined, undefined, 40n, 0n, 40n],
    ['of unknown usage after a part', 'release', 15, undefined, undefined, 40n, 0n, 25n],
    ['after a part: an increment', 'release', 15, undefined, 50, 65n, 0n, 25n],
    ['after a part, with room for some', 'release', 15, 80, 50, 20n, 45n, 25n],
    ['less than the estimate', 'charge', undefined, undefined, 25, 25n, 0n, 15n],
    ['exactly the estimate', 'charge', undefined, 60, 40, 40n, 0n, 0n],
    ['more than the estimate, with room', 'charge', undefined, undefined, 70, 70n, 0n, 0n],
    ['more than the estimate, with none', 'charge', undefined, 60, 70, 40n, 30n, 0n],
    ['nothing in place of the estimate', 'charge', undefined, 60, 0, 0n, 0n, 40n],
    ['unknown in place of the estimate: it stays', 'charge', undefined, 60, undefined, 40n, 0n, 0n],
    ['in place of an estimate after a part', 'charge', 15, undefined, 10, 25n, 0n, 15n],
  ] as const)('%s', (_, policy, part, others, actual, settled, overrun, released) => {
    const { driver, id } = lapsed(policy, {
      ...(part === undefined ? {} : { part }),
      ...(others === undefined ? {} : { others }),
    });
    driver.advance(5_000);
    const answer = granted(driver.run(driver.make.settle(id, actual, { key: 'late' })));
    expect(answer.reservation.figures).toMatchObject({
      state: 'SETTLED',
      heldMicros: 0n,
      settledMicros: settled,
      overrunMicros: overrun,
      releasedMicros: released,
      late: true,
      estimated: actual === undefined,
      endMs: START_MS + TTL_MS + 5_000,
    });
    expect(driver.balances('t')).toMatchObject({ held: BigInt(others ?? 0), settled, overrun });
    expect(driver.balances('t/c')).toMatchObject({ held: 0n, settled, overrun });
    expect(answer.headroom.micros).toBe(driver.balances('t').available);
    expect(refused(driver.run(driver.make.settle(id, 1)))).toMatchObject({ reason: 'RESERVATION_SETTLED' });
  });

  it('may come in parts, and replaces the estimate once', () => {
    const { driver, id } = lapsed('charge');
    const first = granted(driver.run(driver.make.settle(id, 25, { keepOpen: true }))).reservation.figures;
    // The part is known now, the rest of the estimate stands until the last settlement.
    expect(first).toMatchObject({ state: 'EXPIRED', settledMicros: 40n, late: true, estimated: true });
    expect(first.endMs).toBe(START_MS + TTL_MS);
    const second = granted(driver.run(driver.make.settle(id, 10))).reservation.figures;
    expect(second).toMatchObject({ state: 'SETTLED', settledMicros: 35n, releasedMicros: 5n });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 35n, overrun: 0n, available: 65n });
  });

  it.each(['release', 'charge'] as const)('in parts and then unknown never takes the hold twice (%s)', (onExpiry) => {
    const { driver, id } = lapsed(onExpiry);
    driver.run(driver.make.settle(id, 20, { keepOpen: true }));
    driver.run(driver.make.settle(id, 10, { keepOpen: true }));
    const last = granted(driver.run(driver.make.settle(id, undefined))).reservation.figures;
    expect(last).toMatchObject({ state: 'SETTLED', settledMicros: 40n, estimated: true });
    expect(driver.balances('t')).toMatchObject({ held: 0n, settled: 40n, overrun: 0n });
  });

  it('is not late before the grace is over', () => {
    const driver = new KernelDriver();
    driver.graceMs = 5_000;
    driver.run(driver.make.create('t', { limits: 100 }));
    const [a, b] = [driver.hold('t', 40, { ttlMs: TTL_MS }), driver.hold('t', 10, { ttlMs: TTL_MS })];
    driver.advance(TTL_MS + 4_999);
    expect(granted(driver.run(driver.make.settle(a, 10))).reservation.figures).toMatchObject({ late: false });
    driver.advance(1);
    expect(granted(driver.run(driver.make.settle(b, 10))).reservation.figures).toMatchObject({ late: true });
  });

  it('gives nothing back for an estimate where the amount was lowered meanwhile', () => {
    const { driver, id } = lapsed('charge');
    driver.run(driver.make.update('t', { limits: 30 }));
    const { figures } = granted(driver.run(driver.make.settle(id, 40))).reservation;
    expect(figures).toMatchObject({ settledMicros: 30n, overrunMicros: 10n });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 30n, overrun: 10n, available: 0n });
  });
});
