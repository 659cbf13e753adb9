// For how long callers waited for room, as telemetry is told: once a caller, with how it ended, from when it came.
import { expect, test } from 'vitest';
import { PlaceKept } from '../../../src/lane/place-kept.ts';
import { waitEndOf } from '../../../src/lane/wait-end.ts';
import type { AppendResult } from '../../../src/store/port.ts';
import { held } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';
import { type WaitingWorld, worldForEach } from '../../support/waiting-world.ts';

let world: WaitingWorld;
worldForEach((made) => {
  world = made;
});

test('a caller that is granted has waited from when it came until that is committed', async () => {
  const id = await world.hold(100);
  const caller = await world.wait(50);
  await world.time.elapse(3_000);
  const append = held<AppendResult>();
  world.appendFates.push(append.fate);
  const releasing = world.release(id);
  await world.time.elapse(500);
  expect(world.waitEnds).toEqual([]);
  append.letGo();
  await releasing;
  await caller.answering;
  expect(world.waitEnds).toEqual([['granted', 3_500]]);
});

test('each of two that share a place has waited for itself', async () => {
  const id = await world.hold(100);
  const caller = await world.wait(50);
  await world.time.elapse(2_000);
  const again = caller.again();
  await world.time.elapse(1_000);
  await world.release(id);
  await again;
  expect(world.waitEnds).toEqual([
    ['granted', 3_000],
    ['granted', 1_000],
  ]);
});

test('one that is granted, or refused, at once has not waited', async () => {
  await world.call(50).answering;
  await world.call(1_000).answering;
  expect(world.waitEnds).toEqual([]);
});

test('one that is decided once more, since its append was lost, waits on', async () => {
  await world.hold(100);
  world.appendFates.push(async () => ({ outcome: 'conflict' }));
  const caller = await world.wait(50, { waitMs: 5_000 });
  await world.time.elapse(5_000);
  await world.elapse(5_000);
  await caller.answering;
  expect(world.waitEnds).toEqual([['timeout', 5_000]]);
});

test.each<[string, AppendResult | undefined, number, number]>([
  ['was fenced', { outcome: 'fenced' }, 0, 2],
  ['got no answer of the store', undefined, 4_000, 2],
  ['was lost five times', { outcome: 'conflict' }, 0, 1],
])('one that had found the place of another, in a batch that %s, was sent away', async (_, result, laterMs, count) => {
  await world.hold(100);
  const caller = await world.wait(50);
  await world.time.elapse(2_000);
  world.memory.faults.isDown = result === undefined;
  if (result !== undefined) world.appendFates.push(...Array.from({ length: 5 }, () => async () => result));
  const update = world.lane.submit(world.make.update('t', { owner: 'x' }));
  const again = caller.again(new AbortController().signal);
  await settle();
  await world.time.elapse(laterMs);
  expect([await update, await again].map(({ kind }) => kind)).toEqual(['refusal', 'refusal']);
  await settle();
  // The one that it joined is not of that batch.
  const all = [laterMs, 2_000 + laterMs].map((waitedMs) => ['sent_away', waitedMs]);
  expect(world.waitEnds.toSorted(([, a], [, b]) => a - b)).toEqual(all.slice(0, count));
});

test('one that came in a batch that is lost has not waited', async () => {
  await world.hold(100);
  world.appendFates.push(async () => ({ outcome: 'fenced' }));
  await world.call(50).answering;
  await settle();
  expect(world.waitEnds).toEqual([]);
});

test.each<[string, string, (id: string) => unknown]>([
  ['whose reservation is released', 'left', (id) => world.release(id)],
  ['whose budget is closed', 'refused', () => world.lane.submit(world.make.close('t'))],
  ['whose tree is out of service', 'refused', () => world.lane.quarantine('t' as never, 'a test', new Error('x'))],
  ['whose coordinator stops', 'sent_away', () => world.lane.stop()],
  ['whose coordinator forgot all', 'sent_away', () => world.lane.reset()],
])('one %s: %s', async (_, end, happen) => {
  await world.hold(100);
  const caller = await world.wait(50);
  await world.time.elapse(1_000);
  await happen(caller.command.id);
  await settle();
  expect(world.waitEnds).toEqual([[end, 1_000]]);
});

test.each([
  ['goes', 'left', undefined],
  ['is sent away', 'sent_away', new PlaceKept(10_000)],
])('one that %s: %s, and once', async (_, end, reason) => {
  const id = await world.hold(100);
  const caller = await world.wait(50);
  await world.time.elapse(1_000);
  caller.gone.abort(reason);
  await world.time.elapse(1_000);
  await world.release(id);
  await settle();
  expect(world.waitEnds).toEqual([[end, 1_000]]);
});

test('a wait whose end was not seen was sent away', () => {
  expect(waitEndOf({ kind: 'refusal', reason: 'CONTENTION', message: '' })).toBe('sent_away');
});
