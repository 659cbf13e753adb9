import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { per } from '../../support/windows.ts';

const ALSO = ['acme/people/maya', 'acme/models/big'];

/** A run, a person and a model of one tenant. */
function withDimensions(): KernelDriver {
  const driver = new KernelDriver('acme');
  const { make } = driver;
  driver.run(make.create('acme', { limits: 1_000 }));
  driver.run(make.create('acme/run-1'));
  driver.run(make.create('acme/people'));
  driver.run(make.create('acme/people/maya', { limits: 60 }));
  driver.run(make.create('acme/models'));
  driver.run(make.create('acme/models/big', { limits: { day: per('day', 50) } }));
  return driver;
}

/** held, settled and overrun of every budget that is not at rest, by path. */
function sums(driver: KernelDriver): Record<string, readonly number[]> {
  const moved = [...driver.state.budgets()].map(({ def, counters: [lifetime], activeCount }) => {
    const { heldMicros = 0n, settledMicros = 0n, overrunMicros = 0n } = lifetime ?? {};
    return [
      def.path.replace('acme/', ''),
      [heldMicros, settledMicros, overrunMicros].map(Number),
      activeCount,
    ] as const;
  });
  return Object.fromEntries(moved.filter(([, each]) => each.some((n) => n > 0)).map(([path, each]) => [path, each]));
}

const all = (...each: readonly number[]) => ({
  acme: each,
  'run-1': each,
  people: each,
  'people/maya': each,
  models: each,
  'models/big': each,
});

function lapse(driver: KernelDriver): Answer {
  driver.advance(60_000);
  return driver.run(driver.make.expire());
}

describe('also', () => {
  it('charges each budget on any of the paths once', () => {
    const driver = withDimensions();
    const answer = granted(driver.run(driver.make.reserve('acme/run-1', 40, { also: ALSO })));
    expect(sums(driver)).toEqual(all(40, 0, 0));
    expect(answer.headroom).toEqual({ micros: 10n, budget: 'acme/models/big', limit: 'day' });
    expect(answer.reservation).toMatchObject({ budget: 'acme/run-1', also: ALSO });
    const numbers = answer.reservation.accounts.map(({ budgetNo, windowNo }) => [budgetNo, windowNo]);
    expect(numbers).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
      [5, 0],
      [4, 0],
      [6, 0],
      [6, 1],
    ]);
    expect([...driver.state.budgets()].every(({ activeCount }) => activeCount === 1)).toBe(true);
  });

  it.each([
    ['the same twice', ['acme/people/maya', 'acme/people/maya']],
    ['the budget itself', ['acme/run-1', 'acme/people/maya']],
    ['what is above', ['acme', 'acme/people', 'acme/people/maya']],
  ])('takes %s once', (_, also) => {
    const driver = withDimensions();
    driver.hold('acme/run-1', 40, { also });
    expect(sums(driver)).toEqual({
      acme: [40, 0, 0],
      'run-1': [40, 0, 0],
      people: [40, 0, 0],
      'people/maya': [40, 0, 0],
    });
  });

  it('is all or none: the tightest on any path refuses, and nothing moves', () => {
    const driver = withDimensions();
    driver.hold('acme/run-1', 40, { also: ALSO });
    const before = sums(driver);
    expect(refused(driver.run(driver.make.reserve('acme/run-1', 20, { also: ALSO })))).toMatchObject({
      reason: 'CAPACITY_HELD',
      budget: 'acme/models/big',
      limit: 'day',
      availableMicros: 10n,
      retryAfterMs: 1_000,
    });
    expect(sums(driver)).toEqual(before);
    expect(
      granted(driver.run(driver.make.reserve('acme/run-1', 20, { also: ALSO, min: 0 }))).reservation.figures
        .grantedMicros,
    ).toBe(10n);
    driver.hold('acme/run-1', 10, { also: ['acme/people/maya'] });
  });

  it('refuses for what is suspended or closed on a side path, nearest the root first, and for what is not there', () => {
    const driver = withDimensions();
    const ask = () => refused(driver.run(driver.make.reserve('acme/run-1', 1, { also: ALSO })));
    driver.run(driver.make.close('acme/run-1'));
    driver.run(driver.make.close('acme/models'));
    expect(ask()).toMatchObject({ reason: 'BUDGET_CLOSED', budget: 'acme/run-1' });
    driver.run(driver.make.suspend('acme/people/maya'));
    driver.run(driver.make.suspend('acme/models'));
    expect(ask()).toMatchObject({ reason: 'BUDGET_SUSPENDED', budget: 'acme/models' });
    expect(refused(driver.run(driver.make.reserve('acme/people', 1, { also: ['acme/nobody'] })))).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
      budget: 'acme/nobody',
    });
  });

  it('stops Extend and Renew too where a side path is suspended', () => {
    const driver = withDimensions();
    const id = driver.hold('acme/run-1', 1, { also: ALSO });
    driver.run(driver.make.suspend('acme/models/big'));
    for (const command of [driver.make.extend(id, 1), driver.make.renew(id, 90_000)]) {
      expect(refused(driver.run(command))).toMatchObject({ reason: 'BUDGET_SUSPENDED', budget: 'acme/models/big' });
    }
  });

  const ENDS: readonly (readonly [
    string,
    (driver: KernelDriver, id: string) => Answer | undefined,
    readonly number[] | undefined,
  ])[] = [
    ['Extend', (driver, id) => driver.run(driver.make.extend(id, 10)), [50, 0, 0]],
    ['a part', (driver, id) => driver.run(driver.make.settle(id, 15, { keepOpen: true })), [25, 15, 0]],
    ['Settle', (driver, id) => driver.run(driver.make.settle(id, 30)), [0, 30, 0]],
    ['a Settle past the tightest of all', (driver, id) => driver.run(driver.make.settle(id, 70)), [0, 50, 20]],
    ['Release', (driver, id) => driver.run(driver.make.release(id)), undefined],
    ['the lapse', (driver) => lapse(driver), undefined],
  ];
  it.each(ENDS)('%s moves all alike', (_, end, expected) => {
    const driver = withDimensions();
    end(driver, driver.hold('acme/run-1', 40, { also: ALSO }));
    expect(sums(driver)).toEqual(expected === undefined ? {} : all(...expected));
  });

  it('settles late on all alike, with the policy of the budget that was named', () => {
    const driver = withDimensions();
    driver.run(driver.make.update('acme/run-1', { onExpiry: 'charge' }));
    const id = driver.hold('acme/run-1', 40, { also: ALSO });
    driver.advance(60_000);
    driver.recordLapses();
    expect(sums(driver)).toEqual(all(0, 40, 0));
    granted(driver.run(driver.make.settle(id, 55)));
    expect(sums(driver)).toEqual(all(0, 50, 5));
  });

  it('asks bounds, rates and slots of all, and makes what a template on a side path says', () => {
    const driver = withDimensions();
    const { make } = driver;
    driver.run(
      make.update('acme/models/big', { shape: { maxReservationMicros: 5n, maxLeaseMs: 1_000, maxActive: 1 } }),
    );
    const ask = (max: number, ttlMs = 1_000) =>
      refused(driver.run(make.reserve('acme/run-1', max, { also: ALSO, ttlMs }))).reason;
    expect(ask(6)).toBe('MAX_RESERVATION_EXCEEDED');
    expect(ask(5, 1_001)).toBe('MAX_LEASE_EXCEEDED');
    driver.hold('acme/run-1', 5, { also: ALSO, ttlMs: 1_000 });
    expect(ask(1)).toBe('CONCURRENCY_LIMIT');
    driver.run(make.update('acme/people', { template: { to: make.terms({ limits: 7 }) } }));
    driver.hold('acme/run-1', 7, { also: ['acme/people/ravi', 'acme/people/ravi'] });
    expect(sums(driver)).toMatchObject({ 'people/ravi': [7, 0, 0], people: [12, 0, 0], acme: [12, 0, 0] });
  });
});
