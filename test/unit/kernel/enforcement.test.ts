// Modes, kept capacity and alternatives: how far a budget's word binds.
import { describe, expect, it } from 'vitest';
import type { Enforcement } from '../../../src/kernel/enforcement.ts';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

function budget(enforcement: Partial<Enforcement>, limits = 100): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits, enforcement }));
  return driver;
}

const reserve = (driver: KernelDriver, path: string, max: number, options = {}) =>
  driver.run(driver.make.reserve(path, max, options));

describe('a mode', () => {
  it('of a run that is made with it binds from its first Reserve on', () => {
    const driver = new KernelDriver();
    const template = driver.make.terms({ limits: 10, enforcement: { mode: 'observe' } });
    driver.run(driver.make.create('t', { limits: 1_000, shape: { maxDepth: 1 }, template }));
    const { reservation } = granted(reserve(driver, 't/r', 20));
    expect(reservation.shadow).toEqual({ mode: 'observe', reason: 'EXCEEDS_LIMIT', budget: 't/r' });
  });

  it.each(['observe', 'warn'] as const)('%s grants all and says what enforcement would have said', (mode) => {
    const driver = budget({ mode });
    expect(granted(reserve(driver, 't', 90)).reservation).toMatchObject({ shadow: undefined });
    const { reservation, headroom } = granted(reserve(driver, 't', 150));
    expect(reservation.figures.grantedMicros).toBe(150n);
    expect(reservation.shadow).toEqual({ mode, reason: 'EXCEEDS_LIMIT', budget: 't' });
    expect(headroom).toEqual({ micros: 0n, budget: 't', limit: 'lifetime' });
    expect(granted(reserve(driver, 't', 1)).reservation.shadow).toMatchObject({ reason: 'CAPACITY_HELD' });
  });

  it.each(['observe', 'warn'] as const)('%s judges spend on what is settled, whatever is held', (mode) => {
    const driver = budget({ mode });
    const first = driver.hold('t', 150);
    const second = driver.hold('t', 50);
    driver.run(driver.make.settle(first, 80));
    driver.run(driver.make.settle(second, 50));
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 100n, overrun: 30n, available: 0n });
    expect(granted(reserve(driver, 't', 1)).reservation.shadow).toMatchObject({ reason: 'BUDGET_EXHAUSTED' });
  });

  it('soft refuses past its tolerance, and covers as far', () => {
    const driver = budget({ mode: 'soft', toleranceMicros: 20n });
    expect(refused(reserve(driver, 't', 121))).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
    const id = granted(reserve(driver, 't', 120)).reservation.id;
    expect(refused(reserve(driver, 't', 1))).toMatchObject({ reason: 'CAPACITY_HELD' });
    driver.run(driver.make.settle(id, 130));
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 120n, overrun: 10n, available: 0n });
  });

  it('of a child says nothing for its parent', () => {
    const driver = budget({});
    driver.run(driver.make.create('t/c', { limits: 10, enforcement: { mode: 'observe' } }));
    expect(granted(reserve(driver, 't/c', 50)).reservation.shadow).toMatchObject({ budget: 't/c', mode: 'observe' });
    expect(refused(reserve(driver, 't/c', 60))).toMatchObject({ reason: 'CAPACITY_HELD', budget: 't' });
    expect(granted(reserve(driver, 't/c', 60, { min: 1 })).reservation.figures.grantedMicros).toBe(50n);
    // The split is the same at every level: what the child does not cover is overrun above too.
    driver.run(driver.make.settle('r000000001', 50));
    expect(driver.balances('t')).toMatchObject({ settled: 10n, overrun: 40n });
  });

  it('that watches has no settlement refused, also where a child takes no overrun', () => {
    const driver = budget({ mode: 'observe' });
    driver.run(driver.make.create('t/c', { limits: 200, overrun: 'reject' }));
    driver.run(driver.make.settle(driver.hold('t', 100), 100));
    const id = driver.hold('t/c', 10);
    granted(driver.run(driver.make.settle(id, 20)));
    expect(driver.balances('t/c')).toMatchObject({ settled: 0n, overrun: 20n });
  });

  it('that watches lets rates, slots and sizes pass, and never suspension or closing', () => {
    const driver = new KernelDriver();
    const rates = [{ kind: 'requests', count: 1, perMs: 60_000, burst: 1 }] as const;
    const shape = { maxActive: 1, maxReservationMicros: 5n };
    driver.run(driver.make.create('t', { limits: 100, rates, shape, enforcement: { mode: 'observe' } }));
    expect(granted(reserve(driver, 't', 9)).reservation.shadow).toMatchObject({ reason: 'MAX_RESERVATION_EXCEEDED' });
    expect(granted(reserve(driver, 't', 5)).reservation.shadow).toMatchObject({ reason: 'RATE_LIMITED' });
    driver.run(driver.make.suspend('t'));
    expect(refused(reserve(driver, 't', 5))).toMatchObject({ reason: 'BUDGET_SUSPENDED' });
    driver.run(driver.make.resume('t'));
    driver.run(driver.make.close('t'));
    expect(refused(reserve(driver, 't', 5))).toMatchObject({ reason: 'BUDGET_CLOSED' });
  });

  it('is switched while holds live', () => {
    const driver = budget({ mode: 'observe' });
    const id = driver.hold('t', 150);
    driver.run(driver.make.update('t', { enforcement: { mode: 'enforce' } }));
    expect(refused(reserve(driver, 't', 1))).toMatchObject({ reason: 'CAPACITY_HELD' });
    // A hold that was granted is honoured: it covers its cost.
    driver.run(driver.make.settle(id, 150));
    expect(driver.balances('t')).toEqual({ held: 0n, settled: 150n, overrun: 0n, available: 0n });
  });
});

describe('kept capacity', () => {
  const kept = [
    { priority: 'critical', micros: 30n },
    { priority: 'interactive', micros: 20n },
  ] as const;

  it.each([
    ['background', 50n],
    ['normal', 50n],
    ['interactive', 70n],
    ['critical', 100n],
  ] as const)('leaves %s work %s of 100', (priority, most) => {
    const driver = budget({ kept });
    const { figures } = granted(reserve(driver, 't', 100, { min: 0, priority })).reservation;
    expect(figures.grantedMicros).toBe(most);
  });

  it('is held back, not spent', () => {
    const driver = budget({ kept });
    expect(refused(reserve(driver, 't', 51))).toMatchObject({ reason: 'EXCEEDS_LIMIT', requestedMicros: 51n });
    const id = driver.hold('t', 50);
    expect(refused(reserve(driver, 't', 1))).toMatchObject({ reason: 'CAPACITY_HELD', retryAfterMs: 1_000 });
    driver.run(driver.make.settle(id, 50));
    expect(refused(reserve(driver, 't', 1))).toMatchObject({ reason: 'BUDGET_EXHAUSTED', availableMicros: 0n });
    expect(granted(reserve(driver, 't', 50, { priority: 'critical' })).headroom.micros).toBe(0n);
  });

  it('is out of reach of an Extend of a lower class, and covers what is really spent', () => {
    const driver = budget({ kept });
    const id = driver.hold('t', 50);
    expect(refused(driver.run(driver.make.extend(id, 1)))).toMatchObject({ reason: 'CAPACITY_HELD' });
    driver.run(driver.make.settle(id, 80));
    expect(driver.balances('t')).toMatchObject({ settled: 80n, overrun: 0n });
  });
});

describe('alternatives', () => {
  const alternatives = [
    { label: 'small', maxMicros: 8n },
    { label: 'tiny', maxMicros: 2n },
  ];

  it('are tried in order where the binding budget degrades', () => {
    const driver = budget({ onExhaustion: 'degrade' });
    driver.hold('t', 90);
    const given = [1, 2].map(() => granted(reserve(driver, 't', 50, { alternatives })).reservation);
    expect(given.map(({ alternative, figures }) => [alternative, figures.grantedMicros])).toEqual([
      ['small', 8n],
      ['tiny', 2n],
    ]);
    expect(refused(reserve(driver, 't', 50, { alternatives }))).toMatchObject({
      reason: 'CAPACITY_HELD',
      requestedMicros: 50n,
    });
  });

  it('are not looked at where there is room, or where the binding budget blocks', () => {
    const driver = budget({ onExhaustion: 'degrade' });
    expect(granted(reserve(driver, 't', 50, { alternatives })).reservation.alternative).toBe('');
    driver.run(driver.make.create('t/c', { limits: 5 }));
    expect(refused(reserve(driver, 't/c', 50, { alternatives }))).toMatchObject({ budget: 't/c' });
  });

  it('take one rate token and one key between them', () => {
    const driver = new KernelDriver();
    const rates = [{ kind: 'requests', count: 1, perMs: 60_000, burst: 1 }] as const;
    driver.run(driver.make.create('t', { limits: 10, rates, enforcement: { onExhaustion: 'degrade' } }));
    const command = driver.make.reserve('t', 50, { alternatives, key: 'k' });
    const first = granted(driver.run(command)).reservation;
    const again = granted(driver.run(driver.make.again(command)));
    expect(again).toMatchObject({ replayed: true, reservation: { id: first.id, alternative: 'small' } });
    expect(refused(reserve(driver, 't', 50, { alternatives }))).toMatchObject({ reason: 'EXCEEDS_LIMIT' });
  });
});
