// Who goes on when: a few at once, the others in the order they came, and nobody waits longer than it said.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Turns } from '../../../src/store/turns.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('lets as many go on as it was told, and the next as soon as one gives back', async () => {
  const turns = new Turns(2);
  const went: number[] = [];
  const take = (no: number) => turns.take(1_000).then((taken) => went.push(taken ? no : -no));
  await Promise.all([take(1), take(2)]);
  const later = [take(3), take(4)];
  await vi.advanceTimersByTimeAsync(999);
  expect(went).toStrictEqual([1, 2]);
  turns.giveBack();
  await later[0];
  expect(went).toStrictEqual([1, 2, 3]);
  await vi.advanceTimersByTimeAsync(1);
  expect(went).toStrictEqual([1, 2, 3, -4]);
});

it('loses no turn to one who has gone', async () => {
  const turns = new Turns(1);
  expect(await turns.take(10)).toBe(true);
  const gone = turns.take(10);
  await vi.advanceTimersByTimeAsync(10);
  expect(await gone).toBe(false);
  turns.giveBack();
  expect(await turns.take(10)).toBe(true);
  const next = turns.take(10);
  await vi.advanceTimersByTimeAsync(10);
  expect(await next).toBe(false);
});
