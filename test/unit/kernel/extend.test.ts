import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function withHold(amount: number, held: number): { driver: KernelDriver; id: string } {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: amount }));
  driver.run(driver.make.create('t/c'));
  return { driver, id: driver.hold('t/c', held) };
}

describe('Extend', () => {
  it.each([
    ['all that was asked', 1_000, 300, 200, 200, 500n, 500n],
    ['to the last unit', 1_000, 300, 700, 700, 1_000n, 0n],
    ['a part, where the minimum allows', 1_000, 300, 900, 100, 1_000n, 0n],
    ['nothing, where the minimum is 0', 300, 300, 900, 0, 300n, 0n],
    ['by zero', 300, 300, 0, 0, 300n, 0n],
  ])('adds %s', (_, amount, held, add, min, total, available) => {
    const { driver, id } = withHold(amount, held);
    const answer = granted(driver.run(driver.make.extend(id, add, { min })));
    expect(answer.reservation.figures).toMatchObject({
      state: 'ACTIVE',
      requestedMicros: BigInt(held + add),
      grantedMicros: total,
      heldMicros: total,
      started: true,
    });
    expect(answer.headroom.micros).toBe(available);
    expect(driver.balances('t')).toMatchObject({ held: total, available });
    expect(driver.balances('t/c')).toMatchObject({ held: total });
  });

  it.each([
    ['what it holds itself', 100, 100, 1, 'CAPACITY_HELD'],
    ['more than the whole amount', 100, 50, 101, 'EXCEEDS_LIMIT'],
  ])('is refused for %s and moves nothing', (_, amount, held, add, reason) => {
    const { driver, id } = withHold(amount, held);
    expect(refused(driver.run(driver.make.extend(id, add)))).toMatchObject({ reason, budget: 't' });
    expect(driver.reservation(id).figures).toMatchObject({
      grantedMicros: BigInt(held),
      requestedMicros: BigInt(held),
    });
  });

  const inTheWay: readonly (readonly [string, number, number, number, number, number, boolean])[] = [
    // [what, amount, own hold, others' hold, settled, minimum, RetryInfo]
    ['its own hold alone', 100, 50, 0, 0, 60, false],
    ['its own hold and spend', 100, 50, 0, 30, 30, false],
    ['its own hold and others, and without the others it would still not fit', 100, 50, 20, 0, 51, false],
    ['its own hold and others, and without the others it would just fit', 100, 50, 20, 0, 50, true],
    ['others, spend and itself, and without the others it would just fit', 100, 20, 50, 10, 70, true],
  ];

  it.each(inTheWay)(
    'is told to wait only where waiting can help: %s',
    (_, amount, own, others, settled, min, retry) => {
      const { driver, id } = withHold(amount, own);
      if (others > 0) driver.hold('t', others);
      if (settled > 0) driver.run(driver.make.settle(driver.hold('t/c', settled), settled));
      const ask = () => refused(driver.run(driver.make.extend(id, min, { key: 'k' })));
      const first = ask();
      expect(first).toMatchObject({ reason: 'CAPACITY_HELD', budget: 't', unit: 'USD' });
      expect(first.retryAfterMs !== undefined).toBe(retry);
      // Final or transient (promise 3): what waiting can't cure is remembered, also where the caller cures it itself.
      expect(driver.journal.at(-1)).toMatchObject({ type: 'Refused', command: 'Extend', id });
      expect(driver.journal.at(-1)?.key === undefined).toBe(retry);
      const { length } = driver.journal;
      driver.run(driver.make.topUp('t', 1_000));
      if (retry) {
        expect(granted(driver.run(driver.make.extend(id, min, { key: 'k' }))).replayed).toBe(false);
      } else {
        expect(ask()).toEqual(first);
        expect(driver.journal).toHaveLength(length + 1);
        expect(granted(driver.run(driver.make.extend(id, min, { key: 'k2' }))).replayed).toBe(false);
      }
    },
  );

  it('has no RetryInfo where its own hold is in the way at one level and others at another', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 1_000 }));
    driver.run(driver.make.create('t/c', { limits: 100 }));
    const id = driver.hold('t/c', 50);
    driver.hold('t', 950);
    const refusal = refused(driver.run(driver.make.extend(id, 60)));
    expect(refusal).toMatchObject({ reason: 'CAPACITY_HELD', budget: 't', availableMicros: 0n });
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  it('moves no lease', () => {
    const { driver, id } = withHold(100, 50);
    driver.advance(30_000);
    const { figures } = granted(driver.run(driver.make.extend(id, 10))).reservation;
    expect(figures).toMatchObject({ expireMs: START_MS + 60_000, reclaimMs: START_MS + 60_000 });
  });

  it('adds to what a part settlement left', () => {
    const { driver, id } = withHold(100, 50);
    driver.run(driver.make.settle(id, 20, { keepOpen: true }));
    const { figures } = granted(driver.run(driver.make.extend(id, 100, { min: 1 }))).reservation;
    expect(figures).toMatchObject({ grantedMicros: 100n, heldMicros: 80n, settledMicros: 20n });
    expect(driver.balances('t')).toEqual({ held: 80n, settled: 20n, overrun: 0n, available: 0n });
  });

  it('is refused from expire_time on, before the grace is over and after', () => {
    const { driver, id } = withHold(100, 50);
    driver.graceMs = 5_000;
    const other = driver.hold('t/c', 10, { ttlMs: 20_000 });
    driver.advance(19_999);
    granted(driver.run(driver.make.extend(other, 1)));
    driver.advance(1);
    expect(refused(driver.run(driver.make.extend(other, 1)))).toMatchObject({ reason: 'LEASE_EXPIRED', budget: 't/c' });
    driver.advance(5_000);
    expect(refused(driver.run(driver.make.extend(other, 1)))).toMatchObject({ reason: 'LEASE_EXPIRED' });
    granted(driver.run(driver.make.extend(id, 1)));
  });

  it.each(['settle', 'release'] as const)('is refused after %s', (end) => {
    const { driver, id } = withHold(100, 50);
    driver.run(end === 'settle' ? driver.make.settle(id, 1) : driver.make.release(id));
    const reason = end === 'settle' ? 'RESERVATION_SETTLED' : 'RESERVATION_RELEASED';
    expect(refused(driver.run(driver.make.extend(id, 1)))).toMatchObject({ reason, reservationId: `t:${id}` });
  });

  it('is written down with what was asked, granted and left', () => {
    const { driver, id } = withHold(100, 50);
    driver.run(driver.make.extend(id, 80, { min: 10 }));
    expect(driver.journal.at(-1)).toMatchObject({
      type: 'Extended',
      id,
      addMicros: 80n,
      minMicros: 10n,
      revisions: [
        [1, 1],
        [2, 1],
      ],
      headroom: { micros: 0n, budget: 't', limit: 'lifetime' },
      effects: [{ heldMicros: 50n, active: 0 }],
    });
  });
});
