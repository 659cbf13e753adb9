// Cursors of watches: what goes in comes out, and nothing else is taken for one.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeCursor, encodeCursor, type Place } from '../../src/api/events/event-cursor.ts';
import type { TreeId } from '../../src/kernel/names.ts';

const treeId = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$/).map((text) => text as TreeId);
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const position = fc.record({ seq: count, told: count });
const place: fc.Arbitrary<Place> = fc.oneof(
  fc.record({ kind: fc.constant('tree' as const), treeId, position }),
  fc.record({
    kind: fc.constant('all' as const),
    fromMs: count,
    through: fc.oneof(fc.constant('' as const), treeId),
    throughMs: count,
    listed: fc.array(fc.tuple(treeId, position), { maxLength: 5 }).map((pairs) => new Map(pairs)),
  }),
);

it('stand for the place that they were made of', () => {
  fc.assert(
    fc.property(place, (given) => {
      const cursor = encodeCursor(given);
      expect(decodeCursor(cursor)).toEqual(given);
      if (given.kind === 'tree') expect(cursor.length).toBeLessThan(256);
    }),
  );
});

it.each([
  '',
  'nonsense',
  't,acme,1',
  't,acme,1,0,0',
  't,acme,-1,0',
  't,acme,1.5,0',
  't,acme,01,0',
  't,acme,9007199254740993,0',
  't,acme/run,1,0',
  't,,1,0',
  'a,0,,0,acme,1',
  'a,0,,0,a b,1,0',
  'a,0,,,acme,1,0',
  'a,0,a/b,0',
  'b,0,,0',
])('are not made of "%s"', (text) => {
  expect(decodeCursor(Buffer.from(text).toString('base64url'))).toBeUndefined();
  expect(decodeCursor(text)).toBeUndefined();
});

it('are taken only as they were given', () => {
  const cursor = encodeCursor({ kind: 'tree', treeId: 'acme' as TreeId, position: { seq: 1, told: 0 } });
  for (const other of [`${cursor}=`, `${cursor} `, cursor.slice(0, -1), `${cursor}A`]) {
    expect(decodeCursor(other)).toBeUndefined();
  }
});
