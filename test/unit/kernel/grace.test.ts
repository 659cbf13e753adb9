import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import { decideGrace, type GraceDecision, type LeaderGap } from '../../../src/kernel/decide-grace.ts';
import type { TreeState } from '../../../src/kernel/tree-state.ts';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

const GRACE_MS = 5_000;

/** A gap from 20 s to 30 s after the start, and holds whose leases run out as long after it as said. */
function withGap(ttls: readonly number[], graceMs = GRACE_MS) {
  const driver = new KernelDriver();
  driver.graceMs = graceMs;
  driver.run(driver.make.create('t', { limits: 1_000_000, onExpiry: 'charge_started' }));
  const ids = ttls.map((ttlMs) => driver.hold('t', 10, { ttlMs }));
  const gap: LeaderGap = { epoch: 7, fromMs: START_MS + 20_000, toMs: START_MS + 30_000 };
  driver.advance(30_000);
  const grace = (countMax = 100): GraceDecision => {
    const decision = decideGrace(driver.state, gap, driver.context(), countMax);
    for (const entry of decision.entries) apply(driver.state, entry);
    driver.state.commit();
    return decision;
  };
  return { driver, ids, gap, grace };
}

const at = (ms: number) => START_MS + ms;

describe('decideGrace', () => {
  it.each([
    ['ran out and would have lapsed in the gap', 21_000, { expireMs: at(35_000), reclaimMs: at(35_000) }],
    ['ran out with its last instant', 30_000, { expireMs: at(35_000), reclaimMs: at(35_000) }],
    ['ran out before it and would have lapsed in it', 16_000, { expireMs: at(16_000), reclaimMs: at(35_000) }],
    ['ran out on the instant at which it began', 20_000, { expireMs: at(20_000), reclaimMs: at(35_000) }],
  ])('moves a lease that %s', (_, ttlMs, figures) => {
    const { driver, ids, gap, grace } = withGap([ttlMs]);
    const { entries, more } = grace();
    expect(more).toBe(false);
    expect(entries).toMatchObject([
      { type: 'Graced', ...gap, atMs: at(30_000), actor: 'budgetd', moves: [{ id: ids[0], figures }] },
    ]);
    expect(driver.reservation(ids[0] as string).figures).toMatchObject({ ...figures, state: 'ACTIVE', started: false });
  });

  it.each([
    ['lapsed before the gap', 15_000],
    ['runs on after it', 30_001],
  ])('leaves a lease that %s', (_, ttlMs) => {
    const { grace } = withGap([ttlMs]);
    expect(grace()).toEqual({ entries: [], more: false });
  });

  it('does nothing with a grace of 0, and nothing a second time', () => {
    expect(withGap([25_000], 0).grace().entries).toEqual([]);
    const { grace } = withGap([25_000]);
    expect(grace().entries).toHaveLength(1);
    expect(grace().entries).toEqual([]);
  });

  it('takes a page at a time, oldest first', () => {
    const { ids, grace } = withGap([23_000, 21_000, 22_000]);
    const pages = [grace(2), grace(2), grace(2)];
    expect(pages.map(({ more }) => more)).toEqual([true, false, false]);
    expect(pages.map(({ entries }) => entries.flatMap(({ moves }) => moves.map(({ id }) => id)))).toEqual([
      [ids[1], ids[2]],
      [ids[0]],
      [],
    ]);
  });

  it('looks at a lease a few times in all, however many pages there are', () => {
    const count = 1_000;
    const { driver, gap } = withGap(Array.from({ length: count }, (_, i) => 21_000 + i));
    let looks = 0;
    const state: Pick<TreeState, 'reclaimedBetween' | 'position' | 'treeId'> = {
      treeId: driver.state.treeId,
      get position() {
        return driver.state.position;
      },
      *reclaimedBetween(afterMs, untilMs) {
        for (const lease of driver.state.reclaimedBetween(afterMs, untilMs)) {
          looks += 1;
          yield lease;
        }
      },
    };
    for (let more = true; more; ) {
      const decision = decideGrace(state as TreeState, gap, driver.context(), 20);
      for (const entry of decision.entries) apply(driver.state, entry);
      driver.state.commit();
      more = decision.more;
    }
    // Each once, one more a page to see whether there are more, and those that were moved at the end.
    expect(looks).toBeLessThanOrEqual(count * 2 + count / 20);
  });

  it('lets the holder renew or settle for one grace, and gives the hold back on the instant after it', () => {
    const { driver, ids, grace } = withGap([21_000, 22_000, 23_000]);
    const [renewed, settled, idle] = ids as [string, string, string];
    grace();
    driver.advance(4_999);
    expect(granted(driver.run(driver.make.renew(renewed, 60_000))).reservation.figures.expireMs).toBe(at(94_999));
    expect(granted(driver.run(driver.make.settle(settled, 4))).reservation.figures.late).toBe(false);
    expect(driver.balances('t')).toMatchObject({ held: 20n, settled: 4n });
    driver.advance(1);
    expect(refused(driver.run(driver.make.renew(idle, 60_000))).reason).toBe('LEASE_EXPIRED');
    expect(driver.reservation(idle).figures).toMatchObject({ state: 'EXPIRED', endMs: at(35_000) });
    expect(driver.balances('t')).toMatchObject({ held: 10n, settled: 4n });
  });
});
