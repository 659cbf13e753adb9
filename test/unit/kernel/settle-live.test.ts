import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function roots(amounts: readonly number[]): { driver: KernelDriver; leaf: string } {
  const driver = new KernelDriver();
  const leaf = amounts.map((amount, depth) => {
    const path = ['t', ...Array.from({ length: depth }, () => 'c')].join('/');
    driver.run(driver.make.create(path, { limits: amount }));
    return path;
  });
  return { driver, leaf: leaf.at(-1) as string };
}

describe('Settle of a live hold', () => {
  it.each([
    // [what, amounts, held, held by others on the root, actual, settled, released, overrun]
    ['less than was held', [100], 40, 0, 15, 15n, 25n, 0n],
    ['exactly what was held', [100], 40, 0, 40, 40n, 0n, 0n],
    ['nothing', [100], 40, 0, 0, 0n, 40n, 0n],
    ['an unknown usage: the whole hold', [100], 40, 0, undefined, 40n, 0n, 0n],
    ['more, with room', [100], 40, 0, 45, 45n, 0n, 0n],
    ['more, to the last unit', [100], 40, 20, 80, 80n, 0n, 0n],
    ['more, with room for a part', [100], 40, 50, 55, 50n, 0n, 5n],
    ['more, with no room', [100], 40, 60, 55, 40n, 0n, 15n],
    ['more, where only the parent is full: one split for all levels', [100, 900], 40, 60, 55, 40n, 0n, 15n],
    ['more, where only the child is full', [900, 45], 40, 60, 55, 45n, 0n, 10n],
    ['a zero hold for free', [100], 0, 0, 0, 0n, 0n, 0n],
    ['a zero hold that cost after all', [100], 0, 0, 7, 7n, 0n, 0n],
    ['a zero hold of unknown usage', [100], 0, 0, undefined, 0n, 0n, 0n],
  ] as const)('%s', (_, amounts, held, others, actual, settled, released, overrun) => {
    const { driver, leaf } = roots(amounts);
    const id = driver.hold(leaf, held);
    if (others > 0) driver.hold('t', others);
    const { figures } = granted(driver.run(driver.make.settle(id, actual, { outcome: 'failed' }))).reservation;
    expect(figures).toMatchObject({
      state: 'SETTLED',
      heldMicros: 0n,
      settledMicros: settled,
      releasedMicros: released,
      overrunMicros: overrun,
      estimated: actual === undefined,
      late: false,
      outcome: 'failed',
      endMs: START_MS,
    });
    expect(driver.balances(leaf)).toMatchObject({ settled, overrun });
    expect(driver.balances('t')).toMatchObject({ held: BigInt(others), settled, overrun });
    expect(driver.state.budgetAt('t' as never)?.activeCount).toBe(others > 0 ? 1 : 0);
  });

  it('counts overrun against what is available', () => {
    const { driver, leaf } = roots([100]);
    driver.hold(leaf, 60, { id: 'other00000' });
    driver.run(driver.make.settle(driver.hold(leaf, 40), 70));
    driver.run(driver.make.release('other00000'));
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 40n, overrun: 30n, available: 30n });
  });
});

describe('Settle of a part', () => {
  it.each([
    ['holds the rest', 60, undefined, 60n, 140n, 0n, 0n],
    ['holds what is retained and gives the remainder back', 60, 100, 60n, 100n, 40n, 0n],
    ['retains no more than there is', 60, 500, 60n, 140n, 0n, 0n],
    ['retains nothing', 60, 0, 60n, 0n, 140n, 0n],
    ['of all of it holds nothing', 200, undefined, 200n, 0n, 0n, 0n],
    ['of more than all of it', 220, undefined, 220n, 0n, 0n, 0n],
    ['of zero holds everything', 0, undefined, 0n, 200n, 0n, 0n],
  ])('%s', (_, actual, retain, settled, held, released, overrun) => {
    const { driver, leaf } = roots([1_000]);
    const id = driver.hold(leaf, 200);
    const options = { keepOpen: true, ...(retain === undefined ? {} : { retain }) };
    const { figures } = granted(driver.run(driver.make.settle(id, actual, options))).reservation;
    expect(figures).toMatchObject({ state: 'ACTIVE', started: true, endMs: undefined });
    expect(figures).toMatchObject({ settledMicros: settled, heldMicros: held, releasedMicros: released });
    expect(driver.balances('t')).toMatchObject({ settled, held, overrun });
    expect(driver.state.budgetAt('t' as never)?.activeCount).toBe(1);
  });

  it('takes each actual as an increment', () => {
    const { driver, leaf } = roots([1_000]);
    const id = driver.hold(leaf, 200);
    driver.run(driver.make.settle(id, 60, { keepOpen: true, outcome: 'succeeded' }));
    driver.run(driver.make.settle(id, 50, { keepOpen: true }));
    const { figures } = granted(driver.run(driver.make.settle(id, 30))).reservation;
    expect(figures).toMatchObject({ settledMicros: 140n, releasedMicros: 60n, state: 'SETTLED', outcome: 'succeeded' });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 140n, overrun: 0n, available: 860n });
  });

  it('takes an unknown end as what was still held', () => {
    const { driver, leaf } = roots([1_000]);
    const id = driver.hold(leaf, 200);
    driver.run(driver.make.settle(id, 60, { keepOpen: true }));
    const { figures } = granted(driver.run(driver.make.settle(id, undefined))).reservation;
    expect(figures).toMatchObject({ settledMicros: 200n, releasedMicros: 0n, estimated: true, estimatedMicros: 140n });
  });
});

describe('Settle', () => {
  it('passes in a suspended and in a closed budget', () => {
    const { driver, leaf } = roots([100]);
    const [a, b] = [driver.hold(leaf, 10), driver.hold(leaf, 10)];
    driver.run(driver.make.suspend('t'));
    granted(driver.run(driver.make.settle(a, 5)));
    driver.run(driver.make.close('t'));
    granted(driver.run(driver.make.settle(b, 5)));
  });

  it('has one effect', () => {
    const { driver, leaf } = roots([100]);
    const id = driver.hold(leaf, 40);
    driver.run(driver.make.settle(id, 10));
    expect(refused(driver.run(driver.make.settle(id, 10)))).toMatchObject({ reason: 'RESERVATION_SETTLED' });
    expect(refused(driver.run(driver.make.release(id)))).toMatchObject({ reason: 'RESERVATION_SETTLED' });
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 10n, overrun: 0n, available: 90n });
    expect(refused(driver.run(driver.make.settle('nowhere000', 1)))).toMatchObject({ reason: 'RESERVATION_NOT_FOUND' });
  });

  it('lays its labels over those of the Reserve', () => {
    const { driver, leaf } = roots([100]);
    const salt = 'c2FsdHNhbHRzYWx0c2FsdA';
    const labels = [
      ['b', '1'],
      ['c', '1'],
    ] as const;
    const id = driver.hold(leaf, 10, { personal: { salt, actingFor: 'x', labels } });
    const over = {
      salt,
      actingFor: '',
      labels: [
        ['a', '2'],
        ['c', '2'],
      ] as const,
    };
    const answer = granted(driver.run(driver.make.settle(id, 1, { personal: over })));
    expect(answer.reservation.labels).toEqual([
      ['a', '2'],
      ['b', '1'],
      ['c', '2'],
    ]);
    expect(driver.reservation(id)).toMatchObject({ labels: answer.reservation.labels, actingFor: 'x' });
  });
});
