import { describe, expect, it } from 'vitest';
import type { CalendarUnit } from '../../../src/kernel/window.ts';
import { createCalendar, isTimeZone } from '../../../src/lane/calendar.ts';

function periodOf(unit: CalendarUnit, timeZone: string, at: string, calendar = createCalendar()): [string, string] {
  const { startMs, endMs } = calendar.period({ kind: 'calendar', unit, timeZone }, Date.parse(`${at}Z`));
  const written = (ms: number) => new Date(ms).toISOString().slice(0, ms % 60_000 === 0 ? 16 : 19);
  return [written(startMs), written(endMs)];
}

type Row = readonly [what: string, timeZone: string, at: string, start: string, end: string];

// All instants are in UTC.
const tables: Readonly<Record<CalendarUnit, readonly Row[]>> = {
  hour: [
    ['any', 'UTC', '2025-06-01T12:34:56.789', '2025-06-01T12:00', '2025-06-01T13:00'],
    ['its first instant', 'UTC', '2025-06-01T12:00', '2025-06-01T12:00', '2025-06-01T13:00'],
    ['its last instant', 'UTC', '2025-06-01T12:59:59.999', '2025-06-01T12:00', '2025-06-01T13:00'],
    ['half an hour off', 'Asia/Kolkata', '2025-06-01T12:00', '2025-06-01T11:30', '2025-06-01T12:30'],
    ['three quarters off', 'Asia/Kathmandu', '2025-06-01T12:00', '2025-06-01T11:15', '2025-06-01T12:15'],
    [
      'three quarters off, the other way',
      'Pacific/Chatham',
      '2025-07-01T12:20',
      '2025-07-01T12:15',
      '2025-07-01T13:15',
    ],
    ['off by seconds', 'Africa/Monrovia', '1960-06-01T00:00', '1960-05-31T23:44:30', '1960-06-01T00:44:30'],
    ['before a skipped one', 'Europe/Amsterdam', '2025-03-30T00:30', '2025-03-30T00:00', '2025-03-30T01:00'],
    ['after a skipped one', 'Europe/Amsterdam', '2025-03-30T01:30', '2025-03-30T01:00', '2025-03-30T02:00'],
    ['repeated, first time', 'Europe/Amsterdam', '2025-10-26T00:30', '2025-10-26T00:00', '2025-10-26T01:00'],
    ['repeated, second time', 'Europe/Amsterdam', '2025-10-26T01:30', '2025-10-26T01:00', '2025-10-26T02:00'],
    ['half skipped', 'Australia/Lord_Howe', '2024-10-05T15:45', '2024-10-05T15:30', '2024-10-05T16:00'],
    ['before the half skipped', 'Australia/Lord_Howe', '2024-10-05T15:00', '2024-10-05T14:30', '2024-10-05T15:30'],
    ['half repeated, whole', 'Australia/Lord_Howe', '2024-04-06T14:45', '2024-04-06T14:00', '2024-04-06T15:00'],
    ['half repeated, repeat', 'Australia/Lord_Howe', '2024-04-06T15:15', '2024-04-06T15:00', '2024-04-06T15:30'],
    ['half repeated, next', 'Australia/Lord_Howe', '2024-04-06T15:30', '2024-04-06T15:30', '2024-04-06T16:30'],
    ['cut by a change for good', 'America/Caracas', '2016-05-01T06:45', '2016-05-01T06:30', '2016-05-01T07:00'],
    ['after that change', 'America/Caracas', '2016-05-01T07:00', '2016-05-01T07:00', '2016-05-01T08:00'],
    ['a minute of the new date', 'America/St_Johns', '2010-11-07T02:30:30', '2010-11-07T02:30', '2010-11-07T02:31'],
    ['back in the old date', 'America/St_Johns', '2010-11-07T03:00', '2010-11-07T02:31', '2010-11-07T03:30'],
    ['the new date again', 'America/St_Johns', '2010-11-07T03:30', '2010-11-07T03:30', '2010-11-07T04:30'],
  ],
  day: [
    ['any', 'UTC', '2025-06-01T12:34', '2025-06-01T00:00', '2025-06-02T00:00'],
    ['its last instant', 'Asia/Kolkata', '2025-06-01T18:29:59.999', '2025-05-31T18:30', '2025-06-01T18:30'],
    ['23 hours', 'Europe/Amsterdam', '2025-03-30T12:00', '2025-03-29T23:00', '2025-03-30T22:00'],
    ['25 hours', 'Europe/Amsterdam', '2025-10-26T12:00', '2025-10-25T22:00', '2025-10-26T23:00'],
    ['23 and a half hours', 'Australia/Lord_Howe', '2024-10-06T00:00', '2024-10-05T13:30', '2024-10-06T13:00'],
    ['24 and a half hours', 'Australia/Lord_Howe', '2024-04-07T00:00', '2024-04-06T13:00', '2024-04-07T13:30'],
    ['22 hours', 'Antarctica/Troll', '2025-03-30T12:00', '2025-03-30T00:00', '2025-03-30T22:00'],
    ['no midnight', 'America/Sao_Paulo', '2018-11-04T12:00', '2018-11-04T03:00', '2018-11-05T02:00'],
    ['before no midnight', 'America/Sao_Paulo', '2018-11-04T02:59:59.999', '2018-11-03T03:00', '2018-11-04T03:00'],
    ['no midnight', 'Asia/Beirut', '2022-03-27T12:00', '2022-03-26T22:00', '2022-03-27T21:00'],
    ['no midnight', 'Africa/Cairo', '2023-04-28T12:00', '2023-04-27T22:00', '2023-04-28T21:00'],
    ['last hour twice', 'America/Sao_Paulo', '2018-02-18T02:30', '2018-02-17T02:00', '2018-02-18T03:00'],
    ['last hour twice', 'Africa/Cairo', '2023-10-26T21:30', '2023-10-25T21:00', '2023-10-26T22:00'],
    ['midnight twice', 'America/Havana', '2024-11-03T05:30', '2024-11-03T04:00', '2024-11-04T05:00'],
    ['midnight twice, first time', 'America/Havana', '2024-11-03T04:00', '2024-11-03T04:00', '2024-11-04T05:00'],
    ['the old date once more', 'America/St_Johns', '2010-11-07T03:00', '2010-11-07T02:30', '2010-11-08T03:30'],
    ['skips from 23:30 to 00:30', 'America/Toronto', '1919-03-31T12:00', '1919-03-31T04:30', '1919-04-01T04:00'],
    ['two changes in a week', 'America/Noronha', '2000-10-08T12:00', '2000-10-08T02:00', '2000-10-09T01:00'],
    ['before a skipped date', 'Pacific/Apia', '2011-12-29T12:00', '2011-12-29T10:00', '2011-12-30T10:00'],
    ['after a skipped date', 'Pacific/Apia', '2011-12-30T10:00', '2011-12-30T10:00', '2011-12-31T10:00'],
    ['a date twice', 'Pacific/Kwajalein', '1969-09-30T13:00', '1969-09-29T13:00', '1969-10-01T12:00'],
  ],
  week: [
    ['any', 'UTC', '2025-06-05T12:00', '2025-06-02T00:00', '2025-06-09T00:00'],
    ['its Sunday', 'UTC', '2025-06-08T23:59:59.999', '2025-06-02T00:00', '2025-06-09T00:00'],
    ['its Monday', 'UTC', '2025-06-09T00:00', '2025-06-09T00:00', '2025-06-16T00:00'],
    ['over the end of a year', 'UTC', '2025-01-01T00:00', '2024-12-30T00:00', '2025-01-06T00:00'],
    ['before 1970', 'UTC', '1969-12-31T00:00', '1969-12-29T00:00', '1970-01-05T00:00'],
    ['a Monday that is not in UTC', 'Asia/Kathmandu', '2025-06-01T18:15', '2025-06-01T18:15', '2025-06-08T18:15'],
    ['an hour short', 'America/New_York', '2025-03-09T12:00', '2025-03-03T05:00', '2025-03-10T04:00'],
    ['an hour long', 'America/New_York', '2025-11-02T12:00', '2025-10-27T04:00', '2025-11-03T05:00'],
    ['a date short', 'Pacific/Apia', '2011-12-31T00:00', '2011-12-26T10:00', '2012-01-01T10:00'],
  ],
  month: [
    ['any', 'UTC', '2025-06-05T12:00', '2025-06-01T00:00', '2025-07-01T00:00'],
    ['February', 'UTC', '2025-02-10T00:00', '2025-02-01T00:00', '2025-03-01T00:00'],
    ['February of a leap year', 'UTC', '2024-02-29T23:59:59.999', '2024-02-01T00:00', '2024-03-01T00:00'],
    ['February of 2100', 'UTC', '2100-02-28T12:00', '2100-02-01T00:00', '2100-03-01T00:00'],
    ['December', 'UTC', '2024-12-31T23:59:59.999', '2024-12-01T00:00', '2025-01-01T00:00'],
    ['from its 31st', 'Europe/Amsterdam', '2025-03-31T12:00', '2025-02-28T23:00', '2025-03-31T22:00'],
    ['with a clock that goes back', 'America/New_York', '2025-11-15T00:00', '2025-11-01T04:00', '2025-12-01T05:00'],
    ['a date short', 'Pacific/Apia', '2011-12-31T00:00', '2011-12-01T10:00', '2011-12-31T10:00'],
    ['its last date skipped', 'Pacific/Kiritimati', '1994-12-31T09:59', '1994-12-01T10:00', '1994-12-31T10:00'],
    ['no midnight on its first', 'Asia/Amman', '2022-04-15T00:00', '2022-03-31T21:00', '2022-04-30T21:00'],
  ],
};

for (const unit of ['hour', 'day', 'week', 'month'] as const) {
  it.each(tables[unit])(`finds the ${unit}: %s, %s at %s`, (_what, timeZone, at, start, end) => {
    expect(periodOf(unit, timeZone, at)).toEqual([start, end]);
  });
}

describe('createCalendar', () => {
  it('answers the same whatever was asked before', () => {
    const calendar = createCalendar();
    const asked = (at: string) => periodOf('day', 'Europe/Amsterdam', at, calendar);
    const first = asked('2025-03-30T12:00');
    expect(asked('2025-03-30T22:00')).toEqual(['2025-03-30T22:00', '2025-03-31T22:00']);
    expect(asked('2025-03-29T22:59:59.999')).toEqual(['2025-03-28T23:00', '2025-03-29T23:00']);
    expect(asked('2025-03-30T12:00')).toEqual(first);
  });

  it('keeps units and zones apart', () => {
    const calendar = createCalendar();
    const at = '2025-06-01T23:30';
    for (const [unit, timeZone, start] of [
      ['day', 'UTC', '2025-06-01T00:00'],
      ['month', 'UTC', '2025-06-01T00:00'],
      ['week', 'UTC', '2025-05-26T00:00'],
      ['day', 'Asia/Kolkata', '2025-06-01T18:30'],
      ['month', 'Asia/Kolkata', '2025-05-31T18:30'],
      ['day', 'UTC', '2025-06-01T00:00'],
    ] as const) {
      expect(periodOf(unit, timeZone, at, calendar)[0]).toBe(start);
    }
  });

  it('hands out the period it remembers', () => {
    const calendar = createCalendar();
    const rule = { kind: 'calendar', unit: 'hour', timeZone: 'Europe/Amsterdam' } as const;
    const period = calendar.period(rule, Date.parse('2025-06-01T12:00Z'));
    expect(calendar.period({ ...rule }, Date.parse('2025-06-01T12:59:59.999Z'))).toBe(period);
  });

  it('answers for more spellings of zones than it remembers', () => {
    const calendar = createCalendar();
    // A bit for each of twelve characters, eleven of them letters: 2,048 spellings of one zone.
    for (let spelling = 0; spelling < 4_096; spelling += 1) {
      const letters = [...'europe/paris'].map((letter, index) =>
        (spelling >> index) & 1 ? letter.toUpperCase() : letter,
      );
      expect(periodOf('day', letters.join(''), '2025-06-01T12:00', calendar)).toEqual([
        '2025-05-31T22:00',
        '2025-06-01T22:00',
      ]);
    }
  });

  it('throws for a zone that is none', () => {
    expect(() => periodOf('day', 'Mars/Olympus', '2025-06-01T12:00')).toThrow(RangeError);
  });
});

describe('isTimeZone', () => {
  it.each([
    'UTC',
    'utc',
    'Etc/UTC',
    'Etc/GMT+2',
    'GMT',
    'EST5EDT',
    'Europe/Amsterdam',
    'europe/amsterdam',
    'EUROPE/AMSTERDAM',
    'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince',
    'Asia/Calcutta',
    'Asia/Kolkata',
    'Europe/Kiev',
    'Europe/Kyiv',
    'US/Eastern',
  ])('accepts %j', (name) => {
    expect(isTimeZone(name)).toBe(true);
    expect(periodOf('hour', name, '2025-06-01T12:00')[0]).toMatch(/^2025-06-01T1[12]:/);
  });

  it.each([
    '',
    ' ',
    'Z',
    '+02:00',
    '-0200',
    '+02',
    'UTC+2',
    'UTC+02:00',
    'GMT+5',
    'PST',
    'pst',
    'IST',
    'SystemV/EST5',
    'Factory',
    'localtime',
    'Etc/Unknown',
    'Europe',
    'Europe/',
    'Europe//Amsterdam',
    '/Europe/Amsterdam',
    'Europe/Amsterdam ',
    ' Europe/Amsterdam',
    'Europe/Amsterdam\n',
    'Europe/Atlantis',
    '../etc/passwd',
    '2025-06-01T12:00[Europe/Amsterdam]',
    '[Europe/Amsterdam]',
    'Europe/\u0130stanbul',
    'A'.repeat(100_000),
  ])('refuses %j', (name) => {
    expect(isTimeZone(name)).toBe(false);
  });

  it('accepts every zone that Node lists', () => {
    expect(Intl.supportedValuesOf('timeZone').filter((name) => !isTimeZone(name))).toEqual([]);
  });
});
