import { describe, expect, it } from 'vitest';
import {
  type BudgetPath,
  chainOf,
  parentOf,
  parsePath,
  parseReservationId,
  publicReservationId,
  type ReservationId,
  type TreeId,
  treeOf,
} from '../../../src/kernel/names.ts';

const segments = (count: number) => Array.from({ length: count }, () => 's').join('/');

describe('parsePath', () => {
  it.each(['a', 'acme/triage/run-42', '_', '-a', 'A.b-c_d', 'a'.repeat(63), segments(16)])('takes %j', (text) => {
    expect(parsePath(text)).toBe(text);
  });

  it.each(['', '/', 'a/', '/a', 'a//b', '.', '.a', 'a/.b', 'a b', 'é', 'a:b', 'a\n', 'a'.repeat(64), segments(17)])(
    'refuses %j',
    (text) => {
      expect(parsePath(text)).toEqual({ problem: expect.stringMatching(/^(must|each)/) as string });
    },
  );
});

describe('ways through a tree', () => {
  it.each([
    ['a', 'a', undefined, ['a']],
    ['a/b', 'a', 'a', ['a', 'a/b']],
    ['a/b/c', 'a', 'a/b', ['a', 'a/b', 'a/b/c']],
  ])('of %s', (path, tree, parent, chain) => {
    expect(treeOf(path as BudgetPath)).toBe(tree);
    expect(parentOf(path as BudgetPath)).toBe(parent);
    expect(chainOf(path as BudgetPath)).toEqual(chain);
  });
});

describe('public ids of reservations', () => {
  it('lead back to tree and reservation', () => {
    const text = publicReservationId('acme' as TreeId, '0123456789' as ReservationId);
    expect(parseReservationId(text)).toEqual({ treeId: 'acme', id: '0123456789' });
  });

  it.each([
    '',
    'acme',
    ':0123456789',
    'acme:',
    'acme:short',
    'a/b:0123456789',
    'a:b:0123456789',
    `a:${'x'.repeat(41)}`,
  ])('refuse %j', (text) => {
    expect(parseReservationId(text)).toBeUndefined();
  });
});
