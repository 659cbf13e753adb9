// Idempotency (DESIGN, promise 3): the same key and request gets the same answer and has no second effect; another request
// under the key is refused; what waiting can cure is not remembered.
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/kernel/command.ts';
import { budgetOf, granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function withBudget(): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  return driver;
}

/** Runs a repeat that must write nothing and move nothing. */
function repeat(driver: KernelDriver, command: Command) {
  const before = { journal: driver.journal.length, balances: driver.balances('t') };
  const answer = driver.run(command);
  expect({ journal: driver.journal.length, balances: driver.balances('t') }).toEqual(before);
  return answer;
}

const kinds: Readonly<Record<string, (driver: KernelDriver, id: string) => Command>> = {
  Reserve: ({ make }) => make.reserve('t', 30, { key: 'k' }),
  'Reserve, in part': ({ make }) => make.reserve('t', 500, { min: 1, key: 'k' }),
  'Reserve, refused for good': ({ make }) => make.reserve('t', 500, { key: 'k' }),
  Extend: ({ make }, id) => make.extend(id, 20, { key: 'k' }),
  'Extend, refused for good': ({ make }, id) => make.extend(id, 500, { key: 'k' }),
  Settle: ({ make }, id) => make.settle(id, 7, { key: 'k' }),
  'Settle of a part': ({ make }, id) => make.settle(id, 7, { keepOpen: true, key: 'k' }),
  Release: ({ make }, id) => make.release(id, { key: 'k' }),
  Renew: ({ make }, id) => make.renew(id, 90_000, { key: 'k' }),
  'Renew that moved nothing': ({ make }, id) => make.renew(id, 1_000, { key: 'k' }),
  CreateBudget: ({ make }) => make.create('t/new', { key: 'k' }),
  UpdateBudget: ({ make }) => make.update('t', { owner: 'x', revision: 1, key: 'k' }),
  SuspendBudget: ({ make }) => make.suspend('t', { key: 'k' }),
  ResumeBudget: ({ make }) => make.resume('t', { key: 'k' }),
  CloseBudget: ({ make }) => make.close('t', { key: 'k' }),
  TopUp: ({ make }) => make.topUp('t', 40, { key: 'k' }),
};

it('a Settle whose report is refused by now is answered as before, and a new one is refused before anything is looked for', () => {
  const driver = withBudget();
  const id = driver.hold('t', 30);
  const settle = driver.make.settle(id, 7, { key: 'k' });
  const first = granted(driver.run(settle));
  const usage = { kind: 'refusal', reason: 'USAGE_INVALID', message: 'usage.raw.json must be JSON' } as const;
  const again = granted(repeat(driver, { ...settle, actualMicros: undefined, usage }));
  expect(again).toEqual({ ...first, replayed: true });
  const fresh = { ...driver.make.settle(id, undefined, { key: 'other' }), usage };
  expect(repeat(driver, fresh)).toBe(usage);
  expect(driver.state.remembered('other')).toBeUndefined();
});

// What may differ between an answer and its repeat.
const asRepeat = (answer: object): object =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) =>
      name === 'replayed' ? true : typeof value === 'bigint' ? `${value}` : value,
    ),
  ) as object;

describe('the same key and the same request', () => {
  it.each(Object.keys(kinds))('%s: the same answer, no second effect', (kind) => {
    const driver = withBudget();
    const id = driver.hold('t', 10);
    const build = kinds[kind] as (typeof kinds)[string];
    const first = driver.run(build(driver, id));
    driver.advance(5);
    const again = repeat(driver, build(driver, id));
    expect(asRepeat(again)).toEqual(asRepeat(first));
    if (again.kind !== 'refusal') expect(JSON.stringify(again, plain)).toContain('"replayed":true');
  });

  it.each(Object.keys(kinds))('%s: another request is refused and moves nothing', (kind) => {
    const driver = withBudget();
    const id = driver.hold('t', 10);
    const command = (kinds[kind] as (typeof kinds)[string])(driver, id);
    driver.run(command);
    const other = { ...command, key: { digest: command.key?.digest ?? '', fingerprint: 'AAAAAAAAAAAAAAAAAAAAAA' } };
    const refusal = refused(repeat(driver, other));
    expect(refusal.reason).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  it('names the reservation that the key belongs to', () => {
    const driver = withBudget();
    const id = driver.hold('t', 10, { key: 'k' });
    expect(refused(driver.run(driver.make.reserve('t', 11, { key: 'k' })))).toMatchObject({
      reason: 'IDEMPOTENCY_KEY_REUSED',
      reservationId: `t:${id}`,
    });
  });

  it('is checked before existence, state and suspension', () => {
    const driver = withBudget();
    const id = driver.hold('t', 10, { key: 'k' });
    driver.run(driver.make.suspend('t'));
    expect(granted(repeat(driver, driver.make.reserve('t', 10, { key: 'k' }))).reservation.id).toBe(id);
  });

  it('belongs to its budget or reservation and its method', () => {
    const driver = withBudget();
    driver.run(driver.make.create('t/a'));
    driver.run(driver.make.create('t/b'));
    const a = driver.hold('t/a', 10, { key: 'k' });
    const b = driver.hold('t/b', 20, { key: 'k' });
    expect(a).not.toBe(b);
    granted(driver.run(driver.make.extend(a, 1, { key: 'k' })));
    granted(driver.run(driver.make.settle(a, 1, { key: 'k' })));
    granted(driver.run(driver.make.settle(b, 2, { key: 'k' })));
    expect(driver.balances('t')).toMatchObject({ held: 0n, settled: 3n });
  });
});

describe('a remembered grant', () => {
  it('is handed out with the lease as it runs now and the figures of the grant', () => {
    const driver = withBudget();
    const id = driver.hold('t', 30, { key: 'k', ttlMs: 60_000 });
    driver.run(driver.make.extend(id, 5, { key: 'e' }));
    driver.run(driver.make.settle(id, 10, { keepOpen: true }));
    driver.advance(10_000);
    driver.run(driver.make.renew(id, 80_000));
    const reserve = granted(repeat(driver, driver.make.reserve('t', 30, { key: 'k' })));
    expect(reserve.reservation.figures).toMatchObject({ grantedMicros: 30n, heldMicros: 30n, settledMicros: 0n });
    expect(reserve.reservation.figures).toMatchObject({ expireMs: START_MS + 90_000, ttlMs: 80_000 });
    expect(reserve.headroom.micros).toBe(70n);
    const extend = granted(repeat(driver, driver.make.extend(id, 5, { key: 'e' })));
    expect(extend.reservation.figures).toMatchObject({ grantedMicros: 35n, expireMs: START_MS + 90_000 });
  });

  const ends: readonly (readonly [string, string, (driver: KernelDriver, id: string) => void])[] = [
    ['a settlement', 'RESERVATION_SETTLED', (driver, id) => driver.run(driver.make.settle(id, 1))],
    ['a release', 'RESERVATION_RELEASED', (driver, id) => driver.run(driver.make.release(id))],
    ['the lapse', 'RESERVATION_EXPIRED', (driver) => driver.advance(65_000)],
    ['expire_time, within the grace', 'LEASE_EXPIRED', (driver) => driver.advance(60_000)],
  ];

  it.each(ends)('is not handed out after %s', (_, reason, end) => {
    const driver = withBudget();
    driver.graceMs = 5_000;
    const id = driver.hold('t', 30, { key: 'k' });
    driver.run(driver.make.extend(id, 5, { key: 'e' }));
    end(driver, id);
    for (const command of [driver.make.reserve('t', 30, { key: 'k' }), driver.make.extend(id, 5, { key: 'e' })]) {
      expect(refused(driver.run(command))).toMatchObject({ reason, reservationId: `t:${id}` });
    }
  });

  it('of a settlement or release stays the answer for good', () => {
    const driver = withBudget();
    const [a, b] = [driver.hold('t', 30), driver.hold('t', 30)];
    const settled = driver.run(driver.make.settle(a, 7, { key: 'k' }));
    const released = driver.run(driver.make.release(b, { key: 'k' }));
    driver.advance(1_000_000);
    expect(asRepeat(driver.run(driver.make.settle(a, 7, { key: 'k' })))).toEqual(asRepeat(settled));
    expect(asRepeat(driver.run(driver.make.release(b, { key: 'k' })))).toEqual(asRepeat(released));
  });
});

describe('a refusal', () => {
  it('that waiting cannot cure is remembered, though a top-up has cured it', () => {
    const driver = withBudget();
    driver.run(driver.make.settle(driver.hold('t', 90), 90));
    const refuse = () => refused(driver.run(driver.make.reserve('t', 50, { key: 'k' })));
    const first = refuse();
    expect(first).toMatchObject({ reason: 'BUDGET_EXHAUSTED', availableMicros: 10n });
    driver.run(driver.make.topUp('t', 1_000));
    expect(refuse()).toEqual(first);
    driver.hold('t', 50, { key: 'k2' });
  });

  const transient: readonly (readonly [string, (driver: KernelDriver) => void, (driver: KernelDriver) => void])[] = [
    ['CAPACITY_HELD', (d) => d.hold('t', 80, { id: 'other00000' }), (d) => d.run(d.make.release('other00000'))],
    ['BUDGET_SUSPENDED', (d) => d.run(d.make.suspend('t')), (d) => d.run(d.make.resume('t'))],
  ];

  it.each(transient)('%s is not: the same key may try again', (reason, spoil, mend) => {
    const driver = withBudget();
    spoil(driver);
    expect(refused(driver.run(driver.make.reserve('t', 50, { key: 'k' })))).toMatchObject({ reason });
    mend(driver);
    expect(granted(driver.run(driver.make.reserve('t', 50, { key: 'k' }))).replayed).toBe(false);
  });

  it('that judged nothing about money is neither remembered nor written down', () => {
    const driver = withBudget();
    const { length } = driver.journal;
    const { make } = driver;
    for (const command of [
      make.reserve('t/x', 1, { key: 'k' }),
      make.settle('nowhere000', 1, { key: 'k' }),
      make.create('t', { limits: 1, key: 'k' }),
      make.create('t/x', { unit: 'INR', key: 'k' }),
      make.update('t', { revision: 9, key: 'k' }),
      make.topUp('t', 1, { limit: 'x', key: 'k' }),
    ]) {
      refused(driver.run(command));
      expect(driver.state.remembered(command.key?.digest ?? '')).toBeUndefined();
    }
    expect(driver.journal).toHaveLength(length);
  });
});

describe('a repeat of an edit', () => {
  it('answers the revision that it made, not the one that is', () => {
    const driver = withBudget();
    driver.run(driver.make.update('t', { owner: 'x', key: 'k' }));
    driver.run(driver.make.update('t', { owner: 'y' }));
    expect(budgetOf(driver.run(driver.make.update('t', { owner: 'x', key: 'k' }))).def).toMatchObject({
      owner: 'x',
      revision: 2,
    });
    expect(driver.state.budgetAt('t' as never)?.def.owner).toBe('y');
  });
});

describe('a repeat of an edit, after others', () => {
  it('says of the budget itself what it said then, and of its ancestors what is now', () => {
    const driver = withBudget();
    driver.run(driver.make.create('t/c', { limits: 50 }));
    const suspend = driver.make.suspend('t/c', { key: 'k1' });
    driver.run(suspend);
    driver.run(driver.make.resume('t/c', { key: 'k2' }));
    expect(budgetOf(repeat(driver, suspend))).toMatchObject({
      def: { suspended: true, revision: 2 },
      suspendedBy: 't/c',
    });
    expect(budgetOf(driver.run(driver.make.resume('t/c', { key: 'k2' })))).toMatchObject({
      def: { suspended: false, revision: 3 },
      suspendedBy: '',
    });
    driver.run(driver.make.suspend('t'));
    expect(budgetOf(repeat(driver, suspend)).suspendedBy).toBe('t');
    driver.run(driver.make.resume('t'));
    driver.run(driver.make.close('t/c'));
    expect(budgetOf(repeat(driver, suspend))).toMatchObject({ suspendedBy: 't/c', closedBy: '' });
    driver.run(driver.make.close('t'));
    expect(budgetOf(repeat(driver, suspend))).toMatchObject({ suspendedBy: 't/c', closedBy: 't' });
  });

  it('measures what is used now against the limits that it made', () => {
    const driver = withBudget();
    const update = driver.make.update('t', { limits: { a: 80 }, key: 'k' });
    driver.run(update);
    driver.run(driver.make.update('t', { limits: { b: 500 } }));
    driver.hold('t', 30);
    expect(budgetOf(repeat(driver, update))).toMatchObject({
      def: { limits: [{ name: 'a' }] },
      standings: [{ limit: { name: 'a' }, counter: { heldMicros: 30n } }],
      headroom: { micros: 50n, budget: 't', limit: 'a' },
    });
  });
});

const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);
