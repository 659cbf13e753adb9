// What callers leave behind who go while a fault, a lost race or an outage is under way: no grant is held for nobody, and no place kept.
import { describe, expect, test } from 'vitest';
import { PlaceKept } from '../../../src/lane/place-kept.ts';
import { type AppendResult, type Loaded, StoreUnavailableError } from '../../../src/store/port.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';
import { type WaitingWorld, worldForEach } from '../../support/waiting-world.ts';

let world: WaitingWorld;
worldForEach((made) => {
  world = made;
});

const conflict = (): Promise<AppendResult> => Promise.resolve({ outcome: 'conflict' });

describe('a grant to one that has gone is given back', () => {
  // Long enough that what was under way is told that nobody knows, and until the store is looked for once more.
  const storeAway = async (): Promise<void> => {
    world.memory.faults.isDown = true;
    await world.time.elapse(10_000);
    world.memory.faults.isDown = false;
    await world.time.elapse(1_000);
  };
  const untaken = ['Granted', 'Released'];

  test('where the connection was cut while it was committed', async () => {
    world.appendFates.push(async (real) => {
      await real();
      caller.gone.abort();
      throw new StoreUnavailableError('cut');
    });
    const caller = world.call(50);
    await settle();
    await storeAway();
    expect(refused(await caller.answering).reason).toBe('STORE_UNAVAILABLE');
    await world.elapse(1_000);
    await world.elapse(1_000);
    expect(await world.typesWritten()).toEqual(untaken);
  });

  test('where the lane forgot its tree before that was written', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate, conflict);
    const caller = world.call(50);
    await settle();
    caller.gone.abort();
    append.letGo();
    await world.elapse(1_000);
    await world.elapse(1_000);
    expect(await world.typesWritten()).toEqual(untaken);
  });

  test('once its time to come back is over, though the store was away meanwhile', async () => {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const caller = world.call(50);
    await settle();
    caller.gone.abort(new PlaceKept(10_000));
    append.letGo();
    await settle();
    world.memory.faults.isDown = true;
    const other = world.lane.submit(world.make.reserve('t', 1));
    await settle();
    await storeAway();
    expect(refused(await other).reason).toBe('STORE_UNAVAILABLE');
    await world.elapse(9_000);
    expect(await world.typesWritten()).toEqual(['Granted']);
    await world.elapse(1_000);
    expect(await world.typesWritten()).toEqual(untaken);
  });

  test('where a fault hid that it was committed, and it is in no memory any more', async () => {
    world.appendFates.push(async (real) => {
      await real();
      caller.gone.abort();
      await world.project();
      throw new Error('a test');
    });
    const other = world.lane.submit(world.make.getBudget('t'));
    const caller = world.call(50);
    await Promise.all([other, caller.answering]);
    await world.elapse(1_000);
    await world.elapse(1_000);
    expect(await world.typesWritten()).toEqual(untaken);
  });

  test('and is not where another has led since: that one may have handed it out', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const releasing = world.release(id);
    await settle();
    caller.gone.abort();
    world.lane.reset();
    append.letGo();
    await releasing;
    await world.elapse(11_000);
    await world.elapse(1_000);
    expect((await world.typesWritten()).slice(2)).toEqual(['Released', 'Granted']);
  });
});

describe('a place that nobody comes back to is given up', () => {
  test('though the repeat that joined it goes while it is decided once more', async () => {
    const id = await world.hold(100);
    const caller = await world.wait(50);
    const append = held<AppendResult>();
    world.appendFates.push(() => append.fate(conflict));
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const second = new AbortController();
    const other = world.lane.submit(world.make.renew(id, undefined));
    const again = caller.again(second.signal);
    await settle();
    caller.gone.abort();
    append.letGo();
    await settle();
    second.abort();
    load.letGo();
    await Promise.all([other, again]);
    await world.elapse(1_000);
    expect(await world.typesWritten()).toContain('LeftQueue');
  });

  test('but not by a request that has another body under the same key', async () => {
    await world.hold(100);
    await world.wait(50, { key: 'k' });
    world.lane.reset();
    await world.lane.submit(world.make.getBudget('t'));
    const other = world.call(60, { key: 'k' });
    other.gone.abort();
    await other.answering;
    await world.elapse(1_000);
    expect(await world.typesWritten()).toEqual(['Granted', 'Enqueued']);
  });

  test('though the batch that does so is decided once more', async () => {
    const before = world.make.reserve('t', 30, { key: 'before' });
    granted(await world.lane.submit(before));
    await world.wait(80);
    await world.project();
    world.lane.reset();
    await world.lane.submit(world.make.getBudget('t'));
    world.nowMs += 10_000;
    // Its key is found in the journal, and all that was decided with it is taken back.
    expect(granted(await world.lane.submit(world.make.again(before))).replayed).toBe(true);
    await world.elapse(1_000);
    expect((await world.typesWritten()).slice(2)).toEqual(['LeftQueue']);
    expect(granted(await world.lane.submit(world.make.reserve('t', 70))).headroom.micros).toBe(0n);
  });
});
