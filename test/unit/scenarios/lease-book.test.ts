// `advance` must stop at every instant at which something falls due, in order, and at no other.
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { ReservationSchema, ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { LeaseBook } from '../../scenarios/runner/lease-book.ts';

const lease = (reservationId: string, expireMs: number, state: ReservationState = ReservationState.ACTIVE) =>
  create(ReservationSchema, { reservationId, budget: 's', state, expireTime: timestampFromMs(expireMs) });

test('the end of a lease and its reclaim are due, in order', () => {
  const book = new LeaseBook(5);
  book.see(lease('b', 30));
  book.see(lease('a', 10));
  book.expect({ atMs: 12, budget: 'q' });
  expect(book.dueBetween(0, 100)).toEqual([
    { atMs: 10, budget: 's' },
    { atMs: 12, budget: 'q' },
    { atMs: 15, budget: 's' },
    { atMs: 30, budget: 's' },
    { atMs: 35, budget: 's' },
  ]);
});

test('only what lies after the one instant and not past the other', () => {
  const book = new LeaseBook(0);
  for (const atMs of [10, 20, 30]) book.see(lease(`r${atMs}`, atMs));
  expect(book.dueBetween(10, 20)).toEqual([{ atMs: 20, budget: 's' }]);
});

test('a renewed lease is due at its new end, an ended one never', () => {
  const book = new LeaseBook(0);
  book.see(lease('a', 10));
  book.see(lease('a', 50));
  book.see(lease('b', 20));
  book.see(lease('b', 20, ReservationState.SETTLED));
  expect(book.dueBetween(0, 100)).toEqual([{ atMs: 50, budget: 's' }]);
});

test('leases of one budget with one end are one instant', () => {
  const book = new LeaseBook(0);
  book.see(lease('a', 10));
  book.see(lease('b', 10));
  expect(book.dueBetween(0, 100)).toHaveLength(1);
});
