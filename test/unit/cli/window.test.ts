// Windows, rates and templates are read as they are written, and nothing else passes for one.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { boundFields, formatBounds, NONE } from '../../../src/app/cli/bounds.ts';
import { formatRate, parseRate } from '../../../src/app/cli/rate.ts';
import { UsageError } from '../../../src/app/cli/usage-error.ts';
import { formatWindow, parseWindow } from '../../../src/app/cli/window.ts';
import { CalendarUnit, WindowSchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { RateKind, RateSchema, ShapeSchema } from '../../../src/gen/budgetd/v1/terms_pb.ts';

describe('parseWindow', () => {
  const calendar = (unit: CalendarUnit, timeZone = ''): MessageInitShape<typeof WindowSchema> => ({
    kind: { case: 'calendar', value: { unit, timeZone } },
  });

  it.each([
    ['lifetime', { kind: { case: 'lifetime', value: {} } }],
    ['hour', calendar(CalendarUnit.HOUR)],
    ['week', calendar(CalendarUnit.WEEK)],
    ['month@America/New_York', calendar(CalendarUnit.MONTH, 'America/New_York')],
    ['day@Etc/GMT+8', calendar(CalendarUnit.DAY, 'Etc/GMT+8')],
    ['rolling:1h30m', { kind: { case: 'rolling', value: { duration: { seconds: 5_400n, nanos: 0 } } } }],
    ['rolling:30d', { kind: { case: 'rolling', value: { duration: { seconds: 2_592_000n, nanos: 0 } } } }],
    [
      'range:2026-03-01..2026-04-01T12:00:00Z',
      {
        kind: {
          case: 'range',
          value: {
            startTime: { seconds: 1_772_323_200n, nanos: 0 },
            endTime: { seconds: 1_775_044_800n, nanos: 0 },
          },
        },
      },
    ],
  ] satisfies [string, MessageInitShape<typeof WindowSchema>][])('reads %s, and writes it again', (text, window) => {
    expect(parseWindow(text)).toEqual(window);
    expect(formatWindow(create(WindowSchema, window as MessageInitShape<typeof WindowSchema>))).toBe(text);
  });

  it('leaves out the zone that is the default', () => {
    expect(formatWindow(create(WindowSchema, calendar(CalendarUnit.DAY, 'UTC')))).toBe('day');
    expect(formatWindow(undefined)).toBe('lifetime');
  });

  it.each([
    '',
    'year',
    'day@',
    'day:Europe/Amsterdam',
    'rolling',
    'rolling:',
    'rolling:60',
    'rolling@1h',
    'lifetime@UTC',
    'range:2026-03-01',
    'range:2026-03-01..',
    'range:2026-03-01..2026-03-02..2026-03-03',
    'range:2026-13-01..2027-01-01',
    'range:2026-03-01T09:00..2026-03-02',
    'range:1969-12-31..1970-01-02',
    'range:2026-02-30..2026-04-01',
    'range:2026-02-01..2026-04-31',
    'range:2026-02-29T09:00:00Z..2026-04-01',
    'range:2026-03-01T24:00:00Z..2026-04-01',
  ])('refuses %j', (text) => {
    expect(() => parseWindow(text)).toThrow(UsageError);
  });
});

describe('rates', () => {
  it.each([
    ['60 requests/1m', { kind: RateKind.REQUESTS, count: 60n, per: { seconds: 60n, nanos: 0 }, burst: 0n }],
    [
      '5 tool_calls/1s500ms',
      { kind: RateKind.TOOL_CALLS, count: 5n, per: { seconds: 1n, nanos: 500_000_000 }, burst: 0n },
    ],
    ['9 tokens/1h burst 20', { kind: RateKind.TOKENS, count: 9n, per: { seconds: 3_600n, nanos: 0 }, burst: 20n }],
  ] as const)('reads %s, and writes it again', (text, rate) => {
    expect(parseRate(text)).toEqual(rate);
    expect(formatRate(create(RateSchema, rate))).toBe(text);
  });

  it.each([
    '60',
    '60 requests',
    '60 calls/1m',
    '-1 requests/1m',
    '60 requests/60',
    '1 tokens/1s burst',
    '1 tokens/1s burst 0',
    '1.5 tokens/1s',
  ])('refuses %j', (text) => {
    expect(() => parseRate(text)).toThrow(UsageError);
  });
});

describe('bounds', () => {
  it('name what they change, and take away what is "none"', () => {
    const typed = { maxActive: 0, maxLease: 300_000, maxDepth: NONE, rate: NONE, childTemplate: NONE } as const;
    expect(boundFields(typed)).toEqual({
      fields: { shape: { maxActive: 0, maxLease: { seconds: 300n, nanos: 0 } } },
      paths: ['shape.max_active', 'shape.max_depth', 'shape.max_lease', 'rates', 'child_template'],
    });
    expect(boundFields({})).toEqual({ fields: {}, paths: [] });
  });

  it('are shown in the words of the options', () => {
    const shape = create(ShapeSchema, {
      maxReservationMicros: 2_500_000n,
      maxActive: 0,
      maxLease: { seconds: 90n },
      closeAfter: { seconds: 86_400n },
    });
    expect(formatBounds(shape, 'USD')).toEqual([
      'reservation ≤ 2.5 USD',
      'active ≤ 0',
      'lease ≤ 1m30s',
      'closes after 1d idle',
    ]);
    expect(formatBounds(undefined, 'USD')).toEqual([]);
  });
});
