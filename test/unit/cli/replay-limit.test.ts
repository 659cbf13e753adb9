// A proposed limit against holds that there were: refused where the service would have refused them, worked out by hand.
import { describe, expect, it } from 'vitest';
import { type PastHold, replayLimit } from '../../../src/app/cli/replay-limit.ts';
import { rollingRule, type WindowRule } from '../../../src/kernel/window.ts';
import { START_MS } from '../../support/start-time.ts';
import { UTC_CALENDAR } from '../../support/utc-calendar.ts';

const HOUR_MS = 3_600_000;

/** A hold from one hour after the start to another; undefined: it is live. */
const hold = (from: number, to: number | undefined, granted: bigint, cost: bigint): PastHold => ({
  createMs: START_MS + from * HOUR_MS,
  endMs: to === undefined ? undefined : START_MS + to * HOUR_MS,
  grantedMicros: granted,
  costMicros: cost,
});

const replay = (rule: WindowRule, amount: bigint, ...holds: readonly PastHold[]) => {
  const { refusedCount, refusedMicros, firstRefusedMs, peakMicros } = replayLimit(holds, amount, rule, UTC_CALENDAR);
  const firstHour = firstRefusedMs === undefined ? undefined : (firstRefusedMs - START_MS) / HOUR_MS;
  return [refusedCount, refusedMicros, firstHour, peakMicros];
};

describe('a lifetime limit', () => {
  const past = [hold(0, 2, 60n, 20n), hold(1, 3, 50n, 50n), hold(2, 4, 50n, 10n), hold(5, undefined, 40n, 0n)];

  it.each([
    [130n, [0, 0n, undefined, 120n]],
    [120n, [0, 0n, undefined, 120n]],
    [119n, [1, 10n, 2, 110n]],
    // Without the second the third has room.
    [109n, [1, 50n, 1, 70n]],
    [59n, [3, 30n, 0, 50n]],
    [0n, [4, 80n, 0, 0n]],
  ] as const)('of %i', (amount, expected) => {
    expect(replay({ kind: 'lifetime' }, amount, ...past)).toEqual(expected);
  });

  it('lets what ends as soon as it is made make room for the next', () => {
    const past = [hold(1, 1, 100n, 40n), hold(1, 1, 60n, 60n), hold(1, 1, 1n, 0n)];
    expect(replay({ kind: 'lifetime' }, 100n, ...past)).toEqual([1, 0n, 1, 100n]);
  });

  it('gives what ends at an instant to what begins at it', () => {
    expect(replay({ kind: 'lifetime' }, 100n, hold(1, 2, 100n, 0n), hold(0, 1, 100n, 0n))).toEqual([
      0,
      0n,
      undefined,
      100n,
    ]);
  });
});

it('a limit of the day counts a hold in the day in which it was made', () => {
  const rule: WindowRule = { kind: 'calendar', unit: 'day', timeZone: 'UTC' };
  const past = [hold(14, 16, 100n, 80n), hold(15, undefined, 70n, 0n), hold(17, 18, 31n, 5n), hold(17, 18, 30n, 4n)];
  expect(replay(rule, 100n, ...past)).toEqual([1, 5n, 17, 100n]);
});

it('a rolling limit counts live holds, and spend until it is as old as the window', () => {
  const rule = rollingRule(2 * HOUR_MS);
  const past = [hold(0, 1, 50n, 50n), hold(2, 2.5, 60n, 60n), hold(3, 9, 60n, 60n), hold(8, 8.5, 41n, 1n)];
  expect(replay(rule, 100n, ...past)).toEqual([2, 61n, 2, 60n]);
});

it('a limit of a fixed range has no room outside it', () => {
  const rule: WindowRule = { kind: 'range', startMs: START_MS + HOUR_MS, endMs: START_MS + 3 * HOUR_MS };
  expect(replay(rule, 100n, hold(0, 1, 1n, 1n), hold(1, 2, 9n, 9n), hold(3, 4, 1n, 2n))).toEqual([2, 3n, 0, 9n]);
});
