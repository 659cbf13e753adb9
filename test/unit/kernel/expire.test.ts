import { describe, expect, it } from 'vitest';
import { KernelDriver, START_MS } from '../../support/kernel-driver.ts';

function withHolds(ttls: readonly number[], graceMs = 0): { driver: KernelDriver; ids: string[] } {
  const driver = new KernelDriver();
  driver.graceMs = graceMs;
  driver.run(driver.make.create('t', { limits: 1_000 }));
  return { driver, ids: ttls.map((ttlMs) => driver.hold('t', 10, { ttlMs })) };
}

describe('Expire', () => {
  it('records nothing a millisecond early, and the lapse on the instant', () => {
    const { driver, ids } = withHolds([10_000], 5_000);
    driver.advance(14_999);
    expect(driver.decide(driver.make.expire())).toEqual({
      answer: { kind: 'expired', count: 0, more: false },
      entries: [],
    });
    driver.advance(1);
    const { answer, entries } = driver.decide(driver.make.expire());
    expect(answer).toEqual({ kind: 'expired', count: 1, more: false });
    expect(entries).toMatchObject([
      {
        type: 'Expired',
        atMs: START_MS + 15_000,
        lapses: [
          {
            id: ids[0],
            charged: false,
            figures: { state: 'EXPIRED', releasedMicros: 10n, lapsedHeldMicros: 10n, endMs: START_MS + 15_000 },
            effects: [{ heldMicros: -10n, settledMicros: 0n, overrunMicros: 0n, active: -1 }],
          },
        ],
      },
    ]);
  });

  it('takes a page at a time, oldest first, and says whether more is due', () => {
    const { driver, ids } = withHolds([5_000, 3_000, 4_000, 60_000, 3_000]);
    driver.advance(5_000);
    const pages: unknown[] = [];
    for (let more = true; more; ) {
      const answer = driver.runAlone(driver.make.expire(2));
      if (answer.kind !== 'expired') throw new Error('an Expire is answered as one');
      const entry = driver.journal.at(-1);
      pages.push(entry?.type === 'Expired' ? entry.lapses.map(({ id }) => id) : []);
      ({ more } = answer);
    }
    expect(pages).toEqual([
      [ids[1], ids[4]],
      [ids[2], ids[0]],
    ]);
    expect(driver.balances('t')).toMatchObject({ held: 10n });
  });

  it('passes over what was renewed, settled or released meanwhile', () => {
    const { driver, ids } = withHolds([5_000, 5_000, 5_000, 5_000]);
    const [renewed, settled, released, lapsed] = ids as [string, string, string, string];
    driver.run(driver.make.renew(renewed, 20_000));
    driver.run(driver.make.settle(settled, 1));
    driver.run(driver.make.release(released));
    driver.advance(5_000);
    driver.recordLapses();
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Expired', lapses: [{ id: lapsed }] });
    expect(driver.reservation(renewed).figures.state).toBe('ACTIVE');
  });

  it('lapses what was renewed by the grace in force then', () => {
    const { driver, ids } = withHolds([5_000], 1_000);
    driver.graceMs = 9_000;
    driver.run(driver.make.renew(ids[0] as string, 6_000));
    driver.advance(14_999);
    expect(driver.reservation(ids[0] as string).figures.state).toBe('ACTIVE');
    driver.advance(1);
    expect(driver.reservation(ids[0] as string).figures.state).toBe('EXPIRED');
  });
});
