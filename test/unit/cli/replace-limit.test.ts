// set-limit changes the one limit that is meant, and loses none of the others.
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { replaceLimit } from '../../../src/app/cli/replace-limit.ts';
import { UsageError } from '../../../src/app/cli/usage-error.ts';
import { CalendarUnit, LimitSchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';

const lifetime = create(LimitSchema, {
  name: 'lifetime',
  amountMicros: 10n,
  window: { kind: { case: 'lifetime', value: {} } },
});
const second = create(LimitSchema, { name: 'second', amountMicros: 20n });

describe('replaceLimit', () => {
  it('takes the only limit where none is named, and keeps its window', () => {
    expect(replaceLimit([lifetime], {}, 30n)).toEqual([{ ...lifetime, amountMicros: 30n }]);
  });

  it('takes the named one of several', () => {
    expect(replaceLimit([lifetime, second], { limit: 'second' }, 30n)).toEqual([
      lifetime,
      { ...second, amountMicros: 30n },
    ]);
  });

  it('adds only when told to, and in which window', () => {
    const hour = { kind: { case: 'rolling', value: { duration: { seconds: 3_600n, nanos: 0 } } } } as const;
    expect(replaceLimit([lifetime], { limit: 'third', window: hour, add: true }, 30n)).toEqual([
      lifetime,
      { name: 'third', amountMicros: 30n, window: hour },
    ]);
    expect(() => replaceLimit([lifetime], { limit: 'third', add: true }, 30n)).toThrow(
      'say in which window the new limit third counts: --window',
    );
    expect(() => replaceLimit([lifetime], { limit: 'third' }, 30n)).toThrow(
      'no limit is named third (there are: lifetime); --add makes it',
    );
    expect(() => replaceLimit([lifetime], { limit: 'lifetime', window: hour, add: true }, 30n)).toThrow(
      'limit lifetime counts lifetime, not rolling:1h',
    );
  });

  it.each([
    ['day', 'day', { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: '' } }],
    [
      'day@Asia/Tokyo',
      'day:Asia/Tokyo',
      { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: 'Asia/Tokyo' } },
    ],
    [
      'day:Asia/Tokyo',
      'day:Asia/Tokyo',
      { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: 'Asia/Tokyo' } },
    ],
    ['rolling:90m', 'rolling:1h30m', { case: 'rolling', value: { duration: { seconds: 5_400n, nanos: 0 } } }],
  ])('takes the window of a new limit from its name %s, and finds it by either spelling', (typed, name, kind) => {
    const [, added] = replaceLimit([lifetime], { limit: typed, add: true }, 30n);
    expect(added).toEqual({ name, amountMicros: 30n, window: { kind } });
    const there = create(LimitSchema, { name, amountMicros: 5n });
    expect(replaceLimit([lifetime, there], { limit: typed }, 30n)[1]).toMatchObject({ name, amountMicros: 30n });
  });

  it('takes a limit away, the one that is meant and no other', () => {
    expect(replaceLimit([lifetime, second], { limit: 'second' }, undefined)).toEqual([lifetime]);
    expect(replaceLimit([lifetime], {}, undefined)).toEqual([]);
    expect(() => replaceLimit([lifetime, second], {}, undefined)).toThrow('say which limit');
    expect(() => replaceLimit([lifetime], { limit: 'third', add: true }, undefined)).toThrow(
      'no limit is named third (there are: lifetime)',
    );
  });

  it('knows a limit by its window, and adds one with it', () => {
    const day = { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: 'Asia/Tokyo' } } } as const;
    const daily = create(LimitSchema, { name: 'mine', amountMicros: 5n, window: day });
    expect(replaceLimit([lifetime, daily], { window: day }, 30n)).toEqual([lifetime, { ...daily, amountMicros: 30n }]);
    expect(replaceLimit([lifetime], { window: day, add: true }, 30n)).toEqual([
      lifetime,
      { name: '', amountMicros: 30n, window: day },
    ]);
    expect(() => replaceLimit([lifetime], { window: day }, 30n)).toThrow('no limit is of day@Asia/Tokyo');
    const twice = [daily, { ...daily, name: 'other' }];
    expect(() => replaceLimit(twice, { window: day }, 30n)).toThrow('several limits count day@Asia/Tokyo');
    expect(replaceLimit(twice, { window: day, limit: 'mine' }, 30n)[0]).toMatchObject({ amountMicros: 30n });
  });

  it.each([[[lifetime, second]], [[]]])('refuses to guess among %#', (limits) => {
    expect(() => replaceLimit(limits, {}, 30n)).toThrow(UsageError);
  });
});
