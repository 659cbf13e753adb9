import { describe, expect, it } from 'vitest';
import { encodeEntry } from '../../../src/store/encode-entry.ts';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function org(limits: Readonly<Record<string, bigint | undefined>>): KernelDriver {
  const driver = new KernelDriver('o');
  for (const [budget, amount] of Object.entries(limits)) {
    const options = amount === undefined ? { uncapped: true } : { limits: amount };
    expect(driver.run(driver.make.create(budget, options)).kind).toBe('budget');
  }
  return driver;
}

describe('Reserve', () => {
  it.each([
    // [what, limits, max, min, granted, available after, bound by]
    ['all of it', { o: 100n }, 60n, 60n, 60n, 40n, 'o'],
    ['to the last unit', { o: 100n }, 100n, 100n, 100n, 0n, 'o'],
    ['a part, where the minimum allows', { o: 100n }, 300n, 50n, 100n, 0n, 'o'],
    ['a part of exactly the minimum', { o: 100n }, 300n, 100n, 100n, 0n, 'o'],
    ['nothing, where the minimum is 0', { o: 0n }, 300n, 0n, 0n, 0n, 'o'],
    ['zero from a limit of zero', { o: 0n }, 0n, 0n, 0n, 0n, 'o'],
    ['what the parent has, not the roomy child', { o: 100n, 'o/c': 1000n }, 500n, 10n, 100n, 0n, 'o'],
    ['what the child has, not the roomy parent', { o: 1000n, 'o/c': 100n }, 500n, 10n, 100n, 0n, 'o/c'],
    ['ties named nearest the root', { o: 100n, 'o/c': 100n }, 40n, 40n, 40n, 60n, 'o'],
  ] as const)('grants %s', (_, limits, max, min, expected, available, binding) => {
    const driver = org(limits);
    const budget = Object.keys(limits).at(-1) as string;
    const answer = granted(driver.run(driver.make.reserve(budget, max, { min })));
    expect(answer.reservation.figures).toMatchObject({
      state: 'ACTIVE',
      requestedMicros: max,
      grantedMicros: expected,
      heldMicros: expected,
      settledMicros: 0n,
      releasedMicros: 0n,
      overrunMicros: 0n,
    });
    expect(answer.headroom).toEqual({ micros: available, budget: binding, limit: 'lifetime' });
    for (const level of Object.keys(limits)) expect(driver.balances(level)).toMatchObject({ held: expected });
  });

  it('is unlimited where nothing limits it, and says so', () => {
    const driver = org({ o: undefined });
    const answer = granted(driver.run(driver.make.reserve('o', 9_000_000_000n)));
    expect(answer.reservation.figures.grantedMicros).toBe(9_000_000_000n);
    expect(answer.headroom).toEqual({ micros: undefined, budget: '', limit: '' });
  });

  it('sets the lease from now and the lapse a grace later', () => {
    const driver = org({ o: 100n });
    driver.graceMs = 5_000;
    const answer = granted(driver.run(driver.make.reserve('o', 1n, { ttlMs: 10_000, holder: 'worker-7' })));
    expect(answer.reservation).toMatchObject({ budget: 'o', holder: 'worker-7', createMs: START_MS, unit: 'USD' });
    expect(answer.reservation.figures).toMatchObject({
      expireMs: START_MS + 10_000,
      reclaimMs: START_MS + 15_000,
      ttlMs: 10_000,
      endMs: undefined,
      started: false,
    });
  });

  it('charges siblings to the parent they share and not to each other', () => {
    const driver = org({ o: 100n, 'o/a': 80n, 'o/b': 80n });
    driver.hold('o/a', 70n);
    expect(refused(driver.run(driver.make.reserve('o/b', 40n)))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 'o',
    });
    driver.hold('o/b', 30n);
    expect(driver.balances('o')).toMatchObject({ held: 100n, available: 0n });
    expect(driver.balances('o/a')).toMatchObject({ held: 70n, available: 0n });
    expect(driver.balances('o/b')).toMatchObject({ held: 30n, available: 0n });
  });

  it('is bound by the tightest of several limits on one budget', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: { wide: 500, narrow: 100 } }));
    const answer = granted(driver.run(driver.make.reserve('t', 300n, { min: 1n })));
    expect(answer.headroom).toEqual({ micros: 0n, budget: 't', limit: 'narrow' });
    expect(answer.reservation.figures.grantedMicros).toBe(100n);
  });

  it('writes down who, for whom, what, under which revisions and limit', () => {
    const driver = org({ o: 100n, 'o/c': 50n });
    driver.run(driver.make.topUp('o/c', 5));
    driver.run(driver.make.reserve('o/c', 70n, { min: 20n, key: 'k', holder: 'h' }));
    expect(driver.journal.at(-1)).toMatchObject({
      type: 'Granted',
      seq: driver.journal.length,
      atMs: START_MS,
      actor: 'tester',
      minMicros: 20n,
      reservation: { holder: 'h', budget: 'o/c', figures: { requestedMicros: 70n, grantedMicros: 55n } },
      revisions: [
        [1, 1],
        [2, 2],
      ],
      headroom: { micros: 0n, budget: 'o/c', limit: 'lifetime' },
      effects: [{ heldMicros: 55n, settledMicros: 0n, overrunMicros: 0n, active: 1 }],
    });
  });

  it('keeps personal fields with the reservation and only a commitment in its entry', () => {
    const driver = org({ o: 100n });
    const personal = { salt: 'c2FsdHNhbHRzYWx0c2FsdA', actingFor: 'alice', labels: [['team', 'red']] as const };
    const id = driver.hold('o', 1n, { personal });
    expect(driver.reservation(id)).toMatchObject({ actingFor: 'alice', labels: [['team', 'red']] });
    const entry = driver.journal.at(-1);
    expect(entry?.personal?.commitment).toMatch(/^[\w-]{43}$/);
    expect(entry === undefined ? '' : encodeEntry(entry)).not.toMatch(/alice|team|red/);
  });
});
