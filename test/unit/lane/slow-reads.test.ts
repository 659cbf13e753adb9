// A store that is there and slow for one tree: felt by those who asked for that tree, and by nobody else.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import { type Loaded, StoreTimeoutError, StoreUnavailableError, TAIL_COUNT_MAX } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

const timedOut = () => Promise.reject(new StoreTimeoutError('57014'));
const reasons = (answers: readonly Answer[]) => answers.map((answer) => refused(answer).reason);

describe('a read that takes too long', () => {
  it('of records refuses those who waited for it, with a time to come back, and leaves the door open', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.lane.reset();
    world.loadFates.push(timedOut);
    const answers = await Promise.all(
      [world.make.reserve('t', 1), world.make.getBudget('t')].map((each) => world.lane.submit(each)),
    );
    expect(reasons(answers)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
    expect(refused(answers[0] as Answer).retryAfterMs).toBeGreaterThan(0);
    expect(world.lane.storeDown).toBe(false);
    expect(world.logged).toEqual(['a tree could not be read in time']);
    expect(world.logFields[0]).toMatchObject({ treeId: 't', commands: 2 });
    granted(await world.lane.submit(new Commands('u').reserve('u', 1)));
    granted(await world.lane.submit(world.make.reserve('t', 1)));
    expect(world.time.sleeperCount).toBe(0);
  });

  it('of keys does so too', async () => {
    const world = await new LaneWorld().open();
    granted(await world.lane.submit(world.make.reserve('t', 90)));
    // A refusal that is not remembered is not given before the journal was searched.
    world.searchFates.push(timedOut);
    const refusal = refused(await world.lane.submit(world.make.reserve('t', 50, { key: 'k' })));
    expect(refusal).toMatchObject({ reason: 'STORE_UNAVAILABLE', retryAfterMs: 1_000 });
    expect(world.lane.storeDown).toBe(false);
    granted(await world.lane.submit(world.make.reserve('t', 10)));
  });

  it('is not a store that is gone', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.lane.reset();
    world.loadFates.push(() => Promise.reject(new StoreUnavailableError('ECONNREFUSED')));
    expect(reasons([await world.lane.submit(world.make.reserve('t', 1))])).toEqual(['STORE_UNAVAILABLE']);
    expect(world.lane.storeDown).toBe(true);
    expect(reasons([await world.lane.submit(new Commands('u').reserve('u', 1))])).toEqual(['STORE_UNAVAILABLE']);
  });
});

describe('a tail that is too long to load', () => {
  const tooLong = async (real: () => Promise<Loaded>): Promise<Loaded> => ({
    ...(await real()),
    tail: [],
    tailTooLong: true,
  });

  it('is projected first, then the tree is loaded, while others go on', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    granted(await world.lane.submit(world.make.reserve('t', 60)));
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push((real) => load.fate(() => tooLong(real)));
    const waiting = world.lane.submit(world.make.reserve('t', 40));
    await settle();
    granted(await world.lane.submit(new Commands('u').reserve('u', 1)));
    load.letGo();
    expect(granted(await waiting).headroom.micros).toBe(0n);
    expect(world.caughtUp).toEqual(['t']);
    expect(world.lane.cache.peek('t' as never)?.projectedSeq).toBe(2);
  });

  it('that stays too long refuses those who wait for it, and nothing is decided on half a tree', async () => {
    const world = await new LaneWorld().open();
    world.lane.reset();
    world.loadFates.push(tooLong, tooLong, tooLong);
    expect(reasons([await world.lane.submit(world.make.reserve('t', 1))])).toEqual(['STORE_UNAVAILABLE']);
    expect([world.lane.storeDown, world.lane.quarantinedTrees]).toEqual([false, []]);
    granted(await world.lane.submit(world.make.reserve('t', 1)));
  });

  it('is what the store says of more than its bound', { timeout: 20_000 }, async () => {
    const world = await new LaneWorld().open(['t'], 1_000_000);
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 1))).reservation;
    let ttlMs = 60_000;
    const renew = (): Promise<Answer> => {
      ttlMs += 1;
      return world.lane.submit(world.make.renew(id, ttlMs));
    };
    const count = TAIL_COUNT_MAX - 1;
    for (let no = 0; no < count; no += 1_000)
      await Promise.all(Array.from({ length: Math.min(1_000, count - no) }, renew));
    world.lane.reset();
    granted(await world.lane.submit(world.make.reserve('t', 1)));
    expect(world.caughtUp).toEqual(['t']);
  });
});
