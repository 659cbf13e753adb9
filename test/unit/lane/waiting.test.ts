// Callers that wait: told once it is committed and not before, noticed when they go, and never left without an answer.
import { describe, expect, test, vi } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import type { Command } from '../../../src/kernel/command.ts';
import { overloaded } from '../../../src/lane/refusals.ts';
import type { AppendResult } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';
import { type Caller, type WaitingWorld, worldForEach } from '../../support/waiting-world.ts';
import { per } from '../../support/windows.ts';

let world: WaitingWorld;
worldForEach((made) => {
  world = made;
});

describe('a caller that waits', () => {
  test('is told of the grant once it is committed, and not before', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const releasing = world.release(id);
    await settle();
    expect(caller.answer).toBeUndefined();
    append.letGo();
    await releasing;
    expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Released', 'Granted']);
    expect(world.lane.waitingCount).toBe(0);
  });

  test('is told when its time is over, though nothing else happens', async () => {
    await world.hold(100);
    const caller = await world.wait(50, { waitMs: 5_000 });
    await world.elapse(4_999);
    expect(caller.answer).toBeUndefined();
    await world.elapse(1);
    expect(refused(caller.answer as Answer).reason).toBe('QUEUE_TIMEOUT');
  });

  test('is granted what a lease that lapsed gives back, though nothing else happens', async () => {
    await world.hold(100);
    const caller = await world.wait(50, { waitMs: 600_000 });
    await world.elapse(60_000);
    expect(granted(caller.answer as Answer).reservation.figures.grantedMicros).toBe(50n);
  });

  test('shares its place with a repeat, and both are told', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const again = caller.again();
    await settle();
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued']);
    await world.release(id);
    const answers = [granted(await caller.answering), granted(await again)];
    expect(answers[0]?.reservation.id).toBe(answers[1]?.reservation.id);
  });

  test('many of one batch are granted in that batch', async () => {
    const id = await world.hold(100);
    const callers = [await world.wait(30), await world.wait(30), await world.wait(30)];
    await Promise.all([world.release(id), ...callers.map(({ answering }) => answering)]);
    expect(callers.map(({ answer }) => granted(answer as Answer).reservation.figures.state)).toEqual([
      'ACTIVE',
      'ACTIVE',
      'ACTIVE',
    ]);
    expect(world.appends.at(-1)?.batch[0]?.entries).toHaveLength(4);
  });
});

describe('a caller that goes', () => {
  test('leaves the queue at once, and who was behind it comes next', async () => {
    const id = await world.hold(60);
    const big = await world.wait(100);
    const small = await world.wait(40);
    big.gone.abort();
    await settle();
    expect(granted(small.answer as Answer).reservation.figures.grantedMicros).toBe(40n);
    await world.release(id);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Enqueued', 'LeftQueue', 'Granted', 'Released']);
  });

  test('does not take the place of another that shares it', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const again = caller.again();
    await settle();
    caller.gone.abort();
    await settle();
    await world.release(id);
    expect(granted(await again).reservation.figures.grantedMicros).toBe(50n);
  });

  test('before it is decided is not decided', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const first = world.lane.submit(world.make.reserve('t', 1));
    await settle();
    const caller = world.call(50);
    caller.gone.abort();
    append.letGo();
    await first;
    expect(refused(await caller.answering).reason).toBe('QUEUE_TIMEOUT');
    expect(await world.typesWritten()).toEqual(['Granted']);
  });

  test('while its grant is committed has it taken back', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const releasing = world.release(id);
    await settle();
    caller.gone.abort();
    append.letGo();
    await releasing;
    await settle();
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Released', 'Granted', 'Released']);
    expect(refused(await caller.again())).toMatchObject({
      reason: 'RESERVATION_RELEASED',
      message: expect.stringContaining('ask with another key'),
    });
  });

  test('while it is granted at once has that taken back too', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const caller = world.call(50);
    await settle();
    caller.gone.abort();
    append.letGo();
    await caller.answering;
    await settle();
    expect(await world.typesWritten()).toEqual(['Granted', 'Released']);
  });

  test('whose grant has left memory by then has it taken back all the same', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const caller = world.call(50);
    await settle();
    const release = vi.spyOn(world.lane, 'submit').mockResolvedValueOnce(overloaded('a test'));
    caller.gone.abort();
    append.letGo();
    const { id } = granted(await caller.answering).reservation;
    await settle();
    release.mockRestore();
    await world.project();
    world.lane.cache.peek('t' as never)?.state.evictReservation(id as never);
    await world.elapse(1_000);
    await settle();
    expect(await world.typesWritten()).toEqual(['Granted', 'Released']);
  });

  test('while the store is away leaves the queue when it is back', async () => {
    await world.hold(60);
    const gone = await world.wait(100);
    const behind = await world.wait(40);
    world.memory.faults.isDown = true;
    gone.gone.abort();
    await world.time.elapse(10_000);
    expect(refused(behind.answer as Answer).reason).toBe('STORE_UNAVAILABLE');
    world.memory.faults.isDown = false;
    await world.time.elapse(200);
    const again = behind.again();
    await settle();
    await world.elapse(1_000);
    await world.elapse(1_000);
    expect(granted(await again).reservation.figures.grantedMicros).toBe(40n);
  });

  test('in another tree, while the store is away, leaves the queue there too', async () => {
    const elsewhere = new Commands('u');
    await world.lane.submit(elsewhere.create('u', { limits: 100 }));
    await world.lane.submit(elsewhere.reserve('u', 60));
    const [big, small] = [100, 40].map((max) => elsewhere.reserve('u', max, { waitMs: 600_000, key: `${max}` }));
    const told: Promise<Answer>[] = [];
    for (const command of [big, small]) {
      told.push(world.lane.submit(command as Command));
      await settle();
    }
    await world.elapse(11_000);
    world.memory.faults.isDown = true;
    const failed = world.lane.submit(world.make.getBudget('t'));
    await world.time.elapse(10_000);
    expect((await Promise.all([failed, ...told])).map((answer) => refused(answer).reason)).toEqual(
      Array(3).fill('STORE_UNAVAILABLE'),
    );
    world.memory.faults.isDown = false;
    await world.time.elapse(200);
    const again = world.lane.submit(elsewhere.again(small as Command));
    await settle();
    await world.elapse(10_000);
    expect(granted(await again).reservation.figures.grantedMicros).toBe(40n);
  });

  test('while it is put into the queue leaves it', async () => {
    await world.hold(100);
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const caller = world.call(50);
    await settle();
    caller.gone.abort();
    append.letGo();
    await settle();
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'LeftQueue']);
    expect(world.lane.waitingCount).toBe(0);
  });
});

describe('an append that fails', () => {
  test('puts who was to wait into the queue once more', async () => {
    const id = await world.hold(100);
    world.appendFates.push(() => Promise.resolve({ outcome: 'conflict' }));
    const caller = await world.wait(50);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued']);
    await world.release(id);
    expect(granted(await caller.answering).reservation.figures.grantedMicros).toBe(50n);
  });

  test('grants nobody, and they are offered again', async () => {
    const id = await world.hold(100);
    const callers = [await world.wait(30), await world.wait(80)];
    world.appendFates.push(() => Promise.resolve({ outcome: 'conflict' }));
    await world.release(id);
    await settle();
    expect(granted(callers[0]?.answer as Answer).reservation.figures.grantedMicros).toBe(30n);
    expect(callers[1]?.answer).toBeUndefined();
    await world.release(granted(callers[0]?.answer as Answer).reservation.id);
    expect(granted(await (callers[1] as Caller).answering).reservation.figures.grantedMicros).toBe(80n);
  });

  test('for a key that is known loses nobody who was to wait', async () => {
    const known = world.make.reserve('t', 0, { key: 'known' });
    await world.lane.submit(known);
    const id = await world.hold(100);
    const caller = await world.wait(50);
    await world.project();
    world.lane.cache.peek('t' as never)?.state.evictRemembered(0);
    const both = [world.lane.submit(world.make.again(known)), caller.again()];
    await settle();
    await world.release(id);
    const [repeat, again] = (await Promise.all(both)).map(granted);
    expect(repeat).toMatchObject({ replayed: true });
    expect(again?.reservation.figures.grantedMicros).toBe(50n);
  });

  test('for want of the store has everybody told, and their places are kept', async () => {
    await world.hold(60);
    const big = await world.wait(100);
    const small = await world.wait(40);
    world.memory.faults.isDown = true;
    const failed = world.lane.submit(world.make.getBudget('t'));
    await world.time.elapse(10_000);
    expect(refused(await failed).reason).toBe('STORE_UNAVAILABLE');
    expect([big, small].map(({ answer }) => refused(answer as Answer).reason)).toEqual([
      'STORE_UNAVAILABLE',
      'STORE_UNAVAILABLE',
    ]);
    world.memory.faults.isDown = false;
    await world.time.elapse(200);
    const again = small.again();
    await settle();
    // The other one, whom nobody asks for, keeps its place for a while.
    await world.elapse(9_999);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Enqueued']);
    await world.elapse(1);
    expect(granted(await again).reservation.figures.grantedMicros).toBe(40n);
  });
});

describe('a leader that is none any more', () => {
  test('tells everybody, and the next one finds their places', async () => {
    const id = await world.hold(100);
    const first = await world.wait(70);
    const second = await world.wait(50);
    const { epoch } = world;
    world.memory.database.lease = { ...world.memory.database.lease, epoch: 7 };
    expect(refused(await world.lane.submit(world.make.getBudget('t'))).reason).toBe('NOT_LEADER');
    expect([first, second].map(({ answer }) => refused(answer as Answer).reason)).toEqual(['NOT_LEADER', 'NOT_LEADER']);
    expect(epoch).not.toBe(7);
    world.epoch = 7;
    const answers = [second.again(), first.again()];
    await settle();
    await world.release(id);
    expect(granted(await (answers[1] as Promise<Answer>)).reservation.figures.grantedMicros).toBe(70n);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued', 'Enqueued', 'Released', 'Granted']);
  });

  test('that stops tells everybody', async () => {
    await world.hold(100);
    const caller = await world.wait(50);
    await world.lane.stop();
    expect(refused(caller.answer as Answer).reason).toBe('NOT_LEADER');
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued']);
  });

  test('a tree out of service tells those who wait in it', async () => {
    await world.hold(100);
    const caller = await world.wait(50);
    world.lane.quarantine('t' as never, 'a test', new Error('x'));
    await settle();
    expect(refused(caller.answer as Answer).reason).toBe('TREE_QUARANTINED');
  });
});

test('a projected queue comes back from the store', async () => {
  const id = await world.hold(100);
  const caller = await world.wait(50);
  await world.project();
  world.lane.reset();
  await settle();
  expect(refused(caller.answer as Answer).reason).toBe('NOT_LEADER');
  const again = caller.again();
  await settle();
  expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued']);
  await world.release(id);
  expect(granted(await again).reservation.figures.grantedMicros).toBe(50n);
  await world.project();
  world.lane.reset();
  expect(granted(await caller.again())).toMatchObject({ replayed: true });
});

test('one that waits leaves at once though a window of its budget was never used', async () => {
  const { make, lane } = world;
  await lane.submit(make.create('t/a', { limits: { hourly: per('hour', 100) } }));
  await world.hold(100);
  const command = make.reserve('t/a', 10, { waitMs: 600_000, key: 'hourly' });
  const answering = lane.submit(command);
  await settle();
  const released = lane.submit(make.release(command.id));
  await settle();
  await settle();
  expect(world.loads.length).toBeLessThan(2);
  expect(refused(await answering).reason).toBe('RESERVATION_RELEASED');
  expect(granted(await released).reservation.figures.state).toBe('RELEASED');
});
