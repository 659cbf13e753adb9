// Callers that go, are sent away or lose sight of what they wait for, and come back: what they were granted is theirs, and nobody is forgotten.
import { describe, expect, test, vi } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import { PlaceKept } from '../../../src/lane/place-kept.ts';
import { overloaded } from '../../../src/lane/refusals.ts';
import type { AppendResult, Loaded } from '../../../src/store/port.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { type Fate, held } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';
import { WaitingWorld, worldForEach } from '../../support/waiting-world.ts';

let world: WaitingWorld;
worldForEach((made) => {
  world = made;
});

const repeater = new AbortController().signal;

describe('a repeat of one that has gone', () => {
  test('that is answered with the grant keeps it', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const caller = world.call(50);
    await settle();
    caller.gone.abort();
    const again = caller.again(repeater);
    await settle();
    append.letGo();
    const { id } = granted(await again).reservation;
    await settle();
    expect(await world.typesWritten()).toEqual(['Granted']);
    expect(granted(await world.lane.submit(world.make.settle(id, 40))).reservation.figures.state).toBe('SETTLED');
  });

  test('that is granted while the end of the other is outstanding keeps it', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const submit = vi.spyOn(world.lane, 'submit').mockResolvedValueOnce(overloaded('a test'));
    caller.gone.abort();
    await settle();
    submit.mockRestore();
    const releasing = world.release(id);
    const again = caller.again(repeater);
    await releasing;
    granted(await again);
    await world.elapse(1_000);
    await world.elapse(10_000);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Released', 'Granted']);
  });

  test('that is granted in the batch in which the other is to be let go keeps it', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const other = world.lane.submit(world.make.create('t/a'));
    await settle();
    const again = caller.again(repeater);
    const releasing = world.release(id);
    caller.gone.abort();
    append.letGo();
    await Promise.all([other, releasing]);
    granted(await again);
    await world.elapse(11_000);
    expect((await world.typesWritten()).slice(3)).toEqual(['Released', 'Granted']);
  });

  test('and that goes too leaves the grant to nobody', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const caller = world.call(50);
    await settle();
    const second = new AbortController();
    const again = caller.again(second.signal);
    caller.gone.abort();
    second.abort();
    append.letGo();
    await again;
    await world.elapse(1_000);
    expect(await world.typesWritten()).toEqual(['Granted', 'Released']);
  });

  test('that came just before it went has its place', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const other = world.lane.submit(world.make.create('t/a'));
    await settle();
    const again = caller.again(repeater);
    caller.gone.abort();
    append.letGo();
    await other;
    await world.release(id);
    expect(granted(await again).reservation.figures.grantedMicros).toBe(50n);
  });
});

describe('one that is sent away', () => {
  const kept = new PlaceKept(10_000);

  test('is granted nothing until it is back, and then is at once', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    caller.gone.abort(kept);
    await world.release(id);
    await world.elapse(9_000);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Released']);
    expect(granted(await caller.again()).reservation.figures.grantedMicros).toBe(50n);
    await world.elapse(1_000);
    await world.elapse(60);
    expect((await world.typesWritten()).slice(3)).toEqual(['Granted']);
  });

  test('is let go when it does not come back', async () => {
    await world.hold(60);
    const big = await world.wait(100);
    const small = await world.wait(40);
    big.gone.abort(kept);
    await world.elapse(9_999);
    expect(small.answer).toBeUndefined();
    await world.elapse(1);
    expect(granted(small.answer as Answer).reservation.figures.grantedMicros).toBe(40n);
    expect(world.lane.waitingCount).toBe(0);
  });

  test('keeps its place though the tree is loaded anew long after the lead began', async () => {
    await world.hold(60);
    const big = await world.wait(100, { waitMs: 600_000 });
    await world.elapse(20_000);
    big.gone.abort(kept);
    world.lane.cache.drop('t' as never);
    await world.elapse(9_000);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued']);
    await world.elapse(1_000);
    expect((await world.typesWritten()).slice(2)).toEqual(['LeftQueue']);
  });

  test('while its grant is committed finds it when it is back', async () => {
    const id = await world.hold(100);
    const [back, lost] = [await world.wait(30), await world.wait(40)];
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const releasing = world.release(id);
    await settle();
    back.gone.abort(kept);
    lost.gone.abort(kept);
    append.letGo();
    await releasing;
    await world.elapse(9_000);
    expect(granted(await back.again())).toMatchObject({ replayed: true });
    await world.elapse(1_000);
    expect((await world.typesWritten()).slice(4)).toEqual(['Granted', 'Granted', 'Released']);
    expect(refused(await lost.again()).reason).toBe('RESERVATION_RELEASED');
  });
});

describe('those who are back in time keep their places', () => {
  test.each([
    ['in one batch', 256, 5],
    ['in several', 2, 5],
    ['in more than one takes', 256, 300],
  ])('though they are decided late, %s', async (_, batchCountMax, count) => {
    world = new WaitingWorld({ batchCountMax });
    await world.open();
    await world.hold(100);
    const callers = [];
    for (let no = 0; no < count; no += 1) callers.push(await world.wait(10));
    const late = await world.wait(10);
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const asking = world.lane.submit(world.make.getBudget('t'));
    await settle();
    world.nowMs += 5_000;
    for (const caller of callers) caller.again(repeater).catch(expect.unreachable);
    await settle();
    world.nowMs += 6_000;
    load.letGo();
    await asking;
    await settle();
    for (let turn = 0; turn < 3; turn += 1) await world.elapse(1_000);
    const entries = await world.memory.readEntries('t' as never, count, 999);
    const left = entries.flatMap((entry) => (entry.type === 'LeftQueue' ? entry.leaves.map(({ id }) => id) : []));
    expect(left).toEqual([late.command.id]);
    expect(world.lane.waitingCount).toBe(count);
  });

  test('and one that is sent away before it is decided does not keep it', async () => {
    world = new WaitingWorld({ batchCountMax: 1 });
    await world.open();
    await world.hold(100);
    const caller = await world.wait(10);
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const asking = world.lane.submit(world.make.getBudget('t'));
    const again = caller.again(repeater);
    await settle();
    world.nowMs += 11_000;
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    load.letGo();
    await settle();
    await world.time.elapse(60_000);
    append.letGo();
    await asking;
    expect(refused(await again).reason).toBe('OVERLOADED');
    for (let turn = 0; turn < 3; turn += 1) await world.elapse(1_000);
    expect((await world.typesWritten()).at(-1)).toBe('LeftQueue');
    expect(world.lane.waitingCount).toBe(0);
  });
});

describe('what became of a wait behind the back of the lane', () => {
  const FATES: [string, Fate<AppendResult>][] = [
    [
      'a fault after the commit',
      async (real) => {
        await real();
        throw new Error('a test');
      },
    ],
    [
      'a conflict that was none',
      async (real) => {
        await real();
        return { outcome: 'conflict' };
      },
    ],
  ];

  test.each(FATES)('is told after %s: a grant', async (_, fate) => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    world.appendFates.push(fate);
    await world.release(id).catch(() => undefined);
    await world.elapse(1_000);
    expect(granted(caller.answer as Answer).reservation.figures.grantedMicros).toBe(50n);
    expect(world.lane.waitingCount).toBe(0);
    await world.elapse(11_000);
    const { command } = caller;
    expect(granted(await world.lane.submit(world.make.getReservation(command.id))).reservation.figures.state).toBe(
      'ACTIVE',
    );
  });

  test.each(FATES)('is told after %s: a refusal', async (_, fate) => {
    await world.hold(100);
    const caller = await world.wait(50);
    world.appendFates.push(fate);
    await world.release(caller.command.id).catch(() => undefined);
    await world.elapse(1_000);
    expect(refused(caller.answer as Answer).reason).toBe('RESERVATION_RELEASED');
    expect(world.lane.waitingCount).toBe(0);
  });

  test('is asked for again where the journal is projected by then', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    world.appendFates.push(async (real) => {
      await real();
      await world.project();
      throw new Error('a test');
    });
    await world.release(id).catch(() => undefined);
    await world.elapse(1_000);
    expect(refused(caller.answer as Answer)).toMatchObject({ reason: 'CONTENTION', retryAfterMs: 250 });
    expect(granted(await caller.again())).toMatchObject({ replayed: true });
  });

  test('is nothing where it still waits', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    world.lane.cache.drop('t' as never);
    await world.elapse(1_000);
    expect(caller.answer).toBeUndefined();
    await world.release(id);
    expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
  });

  test('is told where the tree is found to be out of service', async () => {
    await world.hold(100);
    const caller = await world.wait(50);
    world.lane.cache.drop('t' as never);
    world.loadFates.push(async (real) => ({ ...(await real()), quarantine: 'a test' }));
    await world.elapse(1_000);
    expect(refused(caller.answer as Answer).reason).toBe('TREE_QUARANTINED');
  });
});

test('one that went before it was put into the queue is looked for once', async () => {
  await world.hold(100);
  const append = held<AppendResult>();
  world.appendFates.push(async () => {
    await append.fate(() => Promise.resolve({ outcome: 'conflict' }));
    return { outcome: 'conflict' };
  });
  const caller = world.call(50);
  await settle();
  caller.gone.abort();
  append.letGo();
  await settle();
  const submit = vi.spyOn(world.lane, 'submit');
  for (let second = 0; second < 20; second += 1) await world.elapse(1_000);
  expect(submit.mock.calls.filter(([{ kind }]) => kind === 'LeaveQueue')).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a tree that is touched long after the lead began lets those go who never came back', async () => {
  await world.hold(60);
  const big = await world.wait(100, { waitMs: 600_000 });
  const small = await world.wait(40, { waitMs: 600_000 });
  world.lane.reset();
  await Promise.all([big.answering, small.answering]);
  world.lane.noteServing();
  world.nowMs += 11_000;
  expect(granted(await small.again()).reservation.figures.grantedMicros).toBe(40n);
});

test('one that comes back late has its place where nobody was there to give it up', async () => {
  const id = await world.hold(100);
  const [late, lost] = [await world.wait(60, { waitMs: 600_000 }), await world.wait(50, { waitMs: 600_000 })];
  world.lane.reset();
  await Promise.all([late.answering, lost.answering]);
  world.lane.noteServing();
  world.nowMs += 11_000;
  const again = late.again();
  await settle();
  await world.release(id);
  expect(granted(await again).reservation.id).toBe(late.command.id);
  expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Enqueued', 'LeftQueue', 'Released', 'Granted']);
});

test.each(['in memory', 'in the journal'])('an end that is final is what its key leads to %s', async (where) => {
  const { make, lane } = world;
  const id = await world.hold(100);
  const [released, tooMuch] = [await world.wait(40), await world.wait(80)];
  await world.release(released.command.id);
  await lane.submit(make.update('t', { limits: 50 }));
  const told = [await released.answering, await tooMuch.answering];
  expect(told.map((each) => refused(each).reason)).toEqual(['RESERVATION_RELEASED', 'EXCEEDS_LIMIT']);
  await world.release(id);
  await lane.submit(make.update('t', { limits: 300 }));
  if (where === 'in the journal') {
    await world.project();
    lane.reset();
  }
  const searchCount = world.searches.length;
  expect([await released.again(), await tooMuch.again()]).toEqual(told);
  expect(world.searches.length > searchCount).toBe(where === 'in the journal');
});
