// Every way in which an append can end, and what the callers of its batch are told.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import { type AppendResult, StoreUnavailableError } from '../../../src/store/port.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

const unavailable = () => Promise.reject(new StoreUnavailableError('cut'));
const conflict = () => Promise.resolve({ outcome: 'conflict' } as const);
const reasons = (answers: readonly Answer[]) => answers.map((answer) => refused(answer).reason);

describe('committed', () => {
  it('answers after the commit and not before', async () => {
    const world = await new LaneWorld().open();
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    let answered = false;
    const answer = world.lane.submit(world.make.reserve('t', 10)).then((each) => {
      answered = true;
      return each;
    });
    await settle();
    expect([world.appends.length, answered]).toEqual([1, false]);
    append.letGo();
    expect(granted(await answer).reservation.figures.grantedMicros).toBe(10n);
    expect(world.committed).toEqual([['t', 1]]);
  });

  it('gathers what comes meanwhile into the next batch, in order', async () => {
    const world = await new LaneWorld().open();
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const submit = (max: number) => world.lane.submit(world.make.reserve('t', max));
    const first = submit(10);
    await settle();
    const rest = [submit(50), submit(30), submit(20)];
    append.letGo();
    const answers = await Promise.all([first, ...rest]);
    expect(answers.map(({ kind }) => kind)).toEqual(['reservation', 'reservation', 'reservation', 'refusal']);
    expect(world.appends.map(({ batch }) => batch[0]?.entries.length)).toEqual([1, 3]);
  });

  it('checks the epoch for answers that append nothing', async () => {
    const world = await new LaneWorld().open();
    await world.lane.submit(world.make.getBudget('t'));
    expect(world.appends).toEqual([{ epoch: 1, batch: [] }]);
    world.appendFates.push(() => Promise.resolve({ outcome: 'fenced' }));
    expect(refused(await world.lane.submit(world.make.getBudget('t'))).reason).toBe('NOT_LEADER');
  });
});

describe('fenced', () => {
  it('tells everybody, forgets what it knew, and lets nobody in', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    await world.memory.holdWriterLease('other', 'there:2', undefined, 60_000);
    world.memory.database.lease = { ...world.memory.database.lease, epoch: 2 };
    world.leaderAddress = 'there:2';
    const answers = await Promise.all([
      world.lane.submit(world.make.reserve('t', 10)),
      world.lane.submit(world.make.getBudget('t')),
    ]);
    expect(reasons(answers)).toEqual(['NOT_LEADER', 'NOT_LEADER']);
    expect(refused(answers[0] as Answer)).toMatchObject({ leaderAddress: 'there:2', retryAfterMs: 1_000 });
    expect(world.fencedCount).toBe(1);
    expect(world.lane.cache.peek('u' as never)).toBeUndefined();
    expect(reasons([await world.lane.submit(world.make.reserve('t', 10))])).toEqual(['NOT_LEADER']);
    expect(world.appends).toHaveLength(1);
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(1);
  });

  it('while a batch is being loaded: what waits is told when its turn comes', async () => {
    const world = await new LaneWorld().open();
    world.lane.reset();
    const load = held<never>();
    world.loadFates.push(load.fate as never);
    const answer = world.lane.submit(world.make.reserve('t', 10));
    await settle();
    world.epoch = undefined;
    load.letGo();
    expect(reasons([await answer])).toEqual(['NOT_LEADER']);
    expect(world.appends).toEqual([]);
  });
});

describe('conflict', () => {
  it('is decided again on what the store has now', async () => {
    const world = await new LaneWorld().open();
    const other = await new LaneWorld().open([]);
    // Another writer gets in between: 95 of 100 are held.
    world.appendFates.push(async () => {
      const head = world.memory.database.tree('t' as never).head;
      other.memory.database.trees.set('t' as never, world.memory.database.tree('t' as never));
      expect(head.seq).toBe(1);
      await other.lane.submit(other.make.reserve('t', 95, { id: 'other00000' }));
      return { outcome: 'conflict' };
    });
    const refusal = refused(await world.lane.submit(world.make.reserve('t', 10)));
    expect(refusal).toMatchObject({ reason: 'CAPACITY_HELD', availableMicros: 5n });
    expect(world.loads).toHaveLength(1);
  });

  it('lost five times is CONTENTION, with RetryInfo, never "no budget"', async () => {
    const world = await new LaneWorld().open();
    world.appendFates.push(...Array.from({ length: 5 }, () => conflict));
    const [reserve, other] = [world.make.reserve('t', 10, { key: 'k' }), world.make.reserve('t', 10)];
    const answers = await Promise.all([world.lane.submit(reserve), world.lane.submit(other)]);
    expect(reasons(answers)).toEqual(['CONTENTION', 'CONTENTION']);
    expect(refused(answers[0] as Answer).retryAfterMs).toBeGreaterThan(0);
    expect(world.appends).toHaveLength(5);
    expect(granted(await world.lane.submit(reserve)).replayed).toBe(false);
  });

  it('lost four times is won', async () => {
    const world = await new LaneWorld().open();
    world.appendFates.push(...Array.from({ length: 4 }, () => conflict));
    granted(await world.lane.submit(world.make.reserve('t', 10)));
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(2);
  });

  it('leaves trees that only were read as they are', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.appendFates.push(conflict);
    const read = { ...world.make.getBudget('u'), treeId: 'u' as never };
    await Promise.all([world.lane.submit(world.make.reserve('t', 10)), world.lane.submit(read)]);
    expect(world.loads.map(({ treeId }) => treeId)).toEqual(['t']);
  });
});

describe('key_exists', () => {
  it('answers what the key was answered, though memory had forgotten it', async () => {
    const world = await new LaneWorld().open();
    const first = granted(await world.lane.submit(world.make.reserve('t', 10, { key: 'k' })));
    await world.project();
    world.lane.cache.peek('t' as never)?.state.evictRemembered(0);
    const again = granted(await world.lane.submit(world.make.reserve('t', 10, { key: 'k' })));
    expect(again).toMatchObject({ replayed: true, reservation: { id: first.reservation.id } });
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(2);
  });

  it('answers the others of its batch as well', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    const { make } = world;
    await world.lane.submit(make.reserve('t', 10, { key: 'k' }));
    await world.project();
    world.lane.cache.peek('t' as never)?.state.evictRemembered(0);
    const elsewhere = { ...make.reserve('u', 20, { key: 'x' }), treeId: 'u' as never };
    const answers = await Promise.all(
      [make.reserve('t', 10, { key: 'k' }), make.reserve('t', 11, { key: 'k' }), make.reserve('t', 5), elsewhere].map(
        (each) => world.lane.submit(each),
      ),
    );
    expect(answers.map((each) => (each.kind === 'refusal' ? each.reason : each.kind))).toEqual([
      'reservation',
      'IDEMPOTENCY_KEY_REUSED',
      'reservation',
      'reservation',
    ]);
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(3);
  });

  it('is looked for where the answer would append no key: a transient refusal must not hide a grant', async () => {
    const world = await new LaneWorld().open();
    const first = granted(await world.lane.submit(world.make.reserve('t', 90, { key: 'k' })));
    await world.project();
    world.lane.cache.peek('t' as never)?.state.evictRemembered(0);
    const again = granted(await world.lane.submit(world.make.reserve('t', 90, { key: 'k' })));
    expect(again).toMatchObject({ replayed: true, reservation: { id: first.reservation.id } });
    expect(refused(await world.lane.submit(world.make.reserve('t', 90, { key: 'new' }))).reason).toBe('CAPACITY_HELD');
  });
});

describe('an unknown outcome', () => {
  it('is found out by the very same append at the same heads', async () => {
    const world = await new LaneWorld().open();
    const lostAfterCommit = async (real: () => Promise<AppendResult>) => {
      await real();
      return unavailable();
    };
    world.appendFates.push(unavailable, lostAfterCommit);
    const answer = world.lane.submit(world.make.reserve('t', 10));
    await world.time.elapse(200);
    expect(granted(await answer).headroom.micros).toBe(90n);
    expect(world.appends).toHaveLength(3);
    expect(world.appends[1]).toEqual(world.appends[0]);
    expect(world.appends[2]).toEqual(world.appends[0]);
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(2);
  });

  it('that stays unknown is STORE_UNAVAILABLE for all, the door shut meanwhile, open once the store answers', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.memory.faults.isDown = true;
    const reserve = world.make.reserve('t', 10, { key: 'k' });
    const inFlight = world.lane.submit(reserve);
    await settle();
    const waiting = [world.lane.submit(world.make.getBudget('t'))];
    expect(reasons(await Promise.all(waiting))).toEqual(['STORE_UNAVAILABLE']);
    await world.time.elapse(10_000);
    expect(reasons([await inFlight])).toEqual(['STORE_UNAVAILABLE']);
    expect(world.lane.storeDown).toBe(true);
    world.memory.faults.isDown = false;
    expect(reasons([await world.lane.submit(reserve)])).toEqual(['STORE_UNAVAILABLE']);
    await world.time.elapse(200);
    expect(world.lane.storeDown).toBe(false);
    expect(granted(await world.lane.submit(reserve)).headroom.micros).toBe(90n);
    expect(world.time.sleeperCount).toBe(0);
  });

  it('that had committed is told to the retry with the key', async () => {
    const world = await new LaneWorld().open();
    world.appendFates.push(async (real) => {
      await real();
      world.memory.faults.isDown = true;
      return unavailable();
    });
    const reserve = world.make.reserve('t', 10, { key: 'k' });
    const answer = world.lane.submit(reserve);
    await world.time.elapse(10_000);
    expect(reasons([await answer])).toEqual(['STORE_UNAVAILABLE']);
    world.memory.faults.isDown = false;
    await world.time.elapse(200);
    expect(granted(await world.lane.submit(world.make.again(reserve))).replayed).toBe(true);
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(2);
  });

  it('of a load refuses those who waited for it', async () => {
    const world = await new LaneWorld().open();
    world.lane.reset();
    world.loadFates.push(unavailable);
    expect(reasons([await world.lane.submit(world.make.reserve('t', 1))])).toEqual(['STORE_UNAVAILABLE']);
    expect(world.lane.storeDown).toBe(true);
    await world.time.elapse(100);
    granted(await world.lane.submit(world.make.reserve('t', 1)));
  });
});
