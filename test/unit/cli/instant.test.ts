// One form of an instant everywhere: what is read is what was written, and no day or time that there is not passes for another.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant, parseSinceMs, readInstantMs } from '../../../src/app/cli/instant.ts';
import { UsageError } from '../../../src/app/cli/usage-error.ts';

const NOON_MS = Date.UTC(2026, 2, 1, 12);

describe('an instant', () => {
  it.each([
    ['2026-03-01', NOON_MS - 43_200_000],
    ['2026-03-01T12:00Z', NOON_MS],
    ['2026-03-01T12:00:00Z', NOON_MS],
    ['2026-03-01T12:00:00.5Z', NOON_MS + 500],
    ['2026-03-01T12:00:00.125Z', NOON_MS + 125],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['1970-01-01', 0],
  ])('is read: %s', (text, ms) => {
    expect(readInstantMs(text)).toBe(ms);
    expect(parseSinceMs(text, 0)).toBe(ms);
    const { seconds, nanos } = parseInstant(text);
    expect(Number(seconds) * 1_000 + nanos / 1_000_000).toBe(ms);
  });

  it.each([
    '2026-02-29',
    '2026-02-30',
    '2026-04-31T00:00:00Z',
    '2026-13-01',
    '2026-00-10',
    '2026-03-00',
    '2026-03-01T24:00:00Z',
    '2026-03-01T12:60Z',
    '2026-03-01T23:59:60Z',
    '2026-03-01T12:00:00',
    '2026-03-01T12:00:00+01:00',
    '2026-03-01 12:00:00Z',
    '1969-12-31',
    '2026-3-1',
  ])('is not %s', (text) => {
    expect(readInstantMs(text)).toBeUndefined();
    expect(() => parseInstant(text)).toThrow(`"${text}" is not a time`);
    expect(() => parseSinceMs(text, NOON_MS)).toThrow(`"${text}" is not a time`);
  });

  it('is the day that is written, or none', () => {
    const two = (of: number) => String(of).padStart(2, '0');
    const part = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(fc.integer({ min: 1970, max: 2100 }), part(13), part(32), part(25), (year, month, day, hour) => {
        const ms = readInstantMs(`${year}-${two(month)}-${two(day)}T${two(hour)}:30Z`);
        const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
        const isThere = month >= 1 && month <= 12 && day >= 1 && day <= lastDay && hour <= 23;
        expect(ms).toBe(isThere ? Date.UTC(year, month - 1, day, hour, 30) : undefined);
      }),
    );
  });
});

describe('since when', () => {
  it('is also so long ago', () => {
    expect(parseSinceMs('7d', NOON_MS)).toBe(NOON_MS - 604_800_000);
    expect(() => parseSinceMs('soon', NOON_MS)).toThrow(UsageError);
    expect(() => parseSinceMs('7', NOON_MS)).toThrow('"7" is not a time: ');
    expect(() => parseSinceMs('yesterday', NOON_MS)).toThrow(
      '"yesterday" is not a time: write 2026-03-01 or 2026-03-01T09:00:00Z, or 7d for so long ago',
    );
  });
});
