// Lengths of time are read to the millisecond, and a number without a unit is never guessed at.
import { create } from '@bufbuild/protobuf';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import {
  durationFromMs,
  durationToMs,
  formatDurationMs,
  formatWaitMs,
  parseDurationMs,
  writeDurationMs,
} from '../../../src/app/cli/duration.ts';
import { UsageError } from '../../../src/app/cli/usage-error.ts';

describe('parseDurationMs', () => {
  it.each([
    ['60s', 60_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1h0m1s', 3_601_000],
    ['1500ms', 1_500],
    ['2s500ms', 2_500],
    ['0s', 0],
    ['0', 0],
    ['7d', 604_800_000],
    ['1d12h', 129_600_000],
  ])('reads %s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '60', '00', '1.5s', '-5s', '5 m', '30m1h', '5s5s', '5x', '99999999999999999h'])('refuses %j', (text) => {
    expect(() => parseDurationMs(text)).toThrow(UsageError);
  });
});

it('rounds a wait up, so that nobody comes too early', () => {
  expect([3_625_000, 3_600_000, 23_280, 2_001, 2_000, 999, 59_999, 86_400_001].map(formatWaitMs)).toEqual([
    ...['1h 1m', '1h', '24s', '2.1s', '2s', '999ms', '1m', '1d 1h'],
  ]);
});

it('writes every length so that it is read again', () => {
  for (const ms of [0, 1, 999, 1_000, 60_000, 5_400_000, 90_061_001, 31_622_400_000]) {
    expect(parseDurationMs(writeDurationMs(ms))).toBe(ms);
  }
  expect(writeDurationMs(90_061_001)).toBe('1d1h1m1s1ms');
});

describe('formatDurationMs', () => {
  it.each([
    [0, '0ms'],
    [250, '250ms'],
    [1_000, '1s'],
    [1_560, '1.5s'],
    [42_900, '42s'],
    [303_000, '5m 3s'],
    [300_000, '5m'],
    [5_400_000, '1h 30m'],
    [187_200_000, '2d 4h'],
    [-5_000, '-5s'],
  ])('writes %d as %s', (ms, text) => {
    expect(formatDurationMs(ms)).toBe(text);
  });
});

it('goes to the wire and back without a loss', () => {
  for (const ms of [0, 1, 999, 1_000, 90_061_001]) {
    expect(durationToMs(create(DurationSchema, durationFromMs(ms)))).toBe(ms);
  }
  expect(durationToMs(undefined)).toBe(0);
});
