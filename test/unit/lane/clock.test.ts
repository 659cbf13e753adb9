import { describe, expect, it } from 'vitest';
import { StoreClock } from '../../../src/lane/clock.ts';
import type { LogLevel } from '../../../src/lane/log.ts';

function tied() {
  const world = { monotonicMs: 1_000, logged: [] as LogLevel[] };
  const clock = new StoreClock(
    () => world.monotonicMs,
    (level) => world.logged.push(level),
  );
  return { world, clock };
}

describe('StoreClock', () => {
  it('is not read before it was tied to the store', () => {
    expect(() => tied().clock.nowMs()).toThrow(/before/);
  });

  it("takes the store's time at the middle of the round trip, and goes on with the monotonic clock", () => {
    const { world, clock } = tied();
    clock.follow(500_000, 40);
    expect(clock.nowMs()).toBe(500_020);
    world.monotonicMs += 7.9;
    expect(clock.nowMs()).toBe(500_027);
  });

  it('follows a small difference forwards', () => {
    const { clock } = tied();
    clock.follow(500_000, 0);
    clock.follow(500_300, 0);
    expect(clock.nowMs()).toBe(500_300);
  });

  it('waits out a small difference backwards and never goes back', () => {
    const { world, clock } = tied();
    clock.follow(500_000, 0);
    expect(clock.nowMs()).toBe(500_000);
    clock.follow(499_900, 0);
    expect(clock.nowMs()).toBe(500_000);
    world.monotonicMs += 50;
    expect(clock.nowMs()).toBe(500_000);
    world.monotonicMs += 51;
    expect(clock.nowMs()).toBe(500_001);
  });

  it.each([5_001, -5_001])('refuses and reports a jump of %d ms', (jumpMs) => {
    const { world, clock } = tied();
    clock.follow(500_000, 0);
    clock.follow(500_000 + jumpMs, 0);
    expect(clock.nowMs()).toBe(500_000);
    expect(clock.refusedJumpMs).toBe(jumpMs);
    expect(world.logged).toEqual(['error']);
    clock.follow(500_000, 0);
    expect(clock.refusedJumpMs).toBe(0);
  });

  it('is astray only after ten looks in a row that agree on the jump, and tells of it once', () => {
    const { world, clock } = tied();
    clock.follow(500_000, 0);
    const look = (jumpMs: number) => {
      world.monotonicMs += 1_500;
      clock.follow(500_000 + (world.monotonicMs - 1_000) + jumpMs, 0);
    };
    for (let i = 0; i < 9; i++) look(3_600_000 + i * 10);
    expect([clock.isAstray, world.logged]).toEqual([false, ['error']]);
    // One that disagrees, and one that finds nothing wrong, begin anew.
    look(-3_600_000);
    for (let i = 0; i < 8; i++) look(-3_600_000);
    look(0);
    for (let i = 0; i < 9; i++) look(3_600_000);
    expect([clock.isAstray, world.logged]).toEqual([false, ['error', 'error', 'error']]);
    look(3_600_000);
    expect(clock.isAstray).toBe(true);
  });

  it('can be tied anew however far away it is, and stands still until a time behind it has come', () => {
    const { world, clock } = tied();
    clock.tie(500_000, 0);
    clock.tie(4_100_000, 20);
    expect([clock.nowMs(), clock.refusedJumpMs, clock.isAstray]).toEqual([4_100_010, 0, false]);
    clock.tie(4_000_000, 0);
    world.monotonicMs += 100_000;
    expect(clock.nowMs()).toBe(4_100_010);
    world.monotonicMs += 11;
    expect(clock.nowMs()).toBe(4_100_011);
  });

  it('takes no slow answer for a jump', () => {
    const { world, clock } = tied();
    clock.follow(500_000, 0);
    world.monotonicMs += 12_000;
    // The store looked at its clock at the start of a round trip of 12 s.
    clock.follow(500_000, 12_000);
    expect(clock.refusedJumpMs).toBe(0);
  });
});
