// Windows and rates through the lane, over a store that forgets nothing: what counts is exact although commands go on,
// records come and go, and the lane begins anew. Every case ends with the auditor's own sums.
import { describe, expect, it } from 'vitest';
import type { BudgetAnswer, LimitStanding } from '../../../src/kernel/answer.ts';
import type { BudgetPath } from '../../../src/kernel/names.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import type { AppendResult } from '../../../src/store/port.ts';
import { expectAudited, look } from '../../support/audited-lane.ts';
import { budgetOf, granted, refused, START_MS } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MIDNIGHT_MS = START_MS - (START_MS % DAY_MS) + DAY_MS;
const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
const HOUR = rollingRule(HOUR_MS);

const openWorld = (limit = 1_000_000) => new LaneWorld().open(['t'], limit);

const standing = async (world: LaneWorld, path: string, name: string): Promise<LimitStanding> => {
  const found = (await look(world, path)).standings.find(({ limit }) => limit.name === name);
  if (found === undefined) throw new Error(`${path} has no limit ${name}`);
  return found;
};

const lifetimeSums = ({ heldMicros, settledMicros, overrunMicros }: BudgetAnswer['lifetime']) => ({
  heldMicros,
  settledMicros,
  overrunMicros,
});

/** Reserves and settles, for as long as it is told to. */
const busy = async (world: LaneWorld, path: string, count: number, spend: (no: number) => number) => {
  for (let no = 0; no < count; no++) {
    const answer = await world.lane.submit(world.make.reserve(path, 10, { ttlMs: 2 * DAY_MS }));
    const { id } = granted(answer).reservation;
    const settled = await world.lane.submit(world.make.settle(id, spend(no), no % 3 === 0 ? { keepOpen: true } : {}));
    expect(settled.kind).toBe('reservation');
  }
};

describe('a window that is added while commands go on', () => {
  it.each([
    ['of a calendar', DAY],
    ['that rolls', HOUR],
    ['of a range', { kind: 'range', startMs: MIDNIGHT_MS, endMs: MIDNIGHT_MS + DAY_MS } as const],
  ])('%s counts what was spent since its start, to the last of it', async (_, rule) => {
    const world = await openWorld();
    const { lane, make } = world;
    await lane.submit(make.create('t/a'));
    await lane.submit(make.create('t/b'));
    await busy(world, 't/a', 4, () => 7);
    const old = (await look(world, 't/a')).lifetime;
    world.nowMs = MIDNIGHT_MS + HOUR_MS;
    const running = [1, 2, 3, 4].map((no) => busy(world, no % 2 === 0 ? 't/a' : 't/b', 12, () => no));
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    const edit = lane.submit(make.update('t/a', { limits: { all: 500_000, some: { amount: 400_000, rule } } }));
    await Promise.all(running);
    budgetOf(await edit);
    const types = world.appends.flatMap(({ batch }) => batch[0]?.entries ?? []).map(({ type }) => type);
    const place = types.lastIndexOf('BudgetUpdated');
    expect(types.slice(0, place).filter((type) => type === 'Settled').length).toBeGreaterThan(4);
    expect(types.slice(place).filter((type) => type === 'Settled').length).toBeGreaterThan(10);
    const { counter } = await standing(world, 't/a', 'some');
    const { lifetime } = await look(world, 't/a');
    const isRolling = rule.kind === 'rolling';
    expect(counter).toMatchObject({
      // Holds of before the day are not in it, but every live hold is in what rolls.
      heldMicros: lifetime.heldMicros - (isRolling ? 0n : old.heldMicros),
      overrunMicros: 0n,
    });
    // What the first holds settled in part, nobody knows when: in what rolls it counts from now on.
    const early = isRolling ? 2n * 7n : 0n;
    expect(counter.settledMicros).toBe(lifetime.settledMicros - old.settledMicros + early);
    expect(lifetime.settledMicros).toBe(old.settledMicros + 12n * 2n + 12n * 4n);
    await expectAudited(world);
  });

  it('waits for the batch that is under way when it is decided ahead of its end', async () => {
    const world = await new LaneWorld({ batchCountMax: 4 }).open(['t'], 1_000_000);
    const { lane, make } = world;
    await lane.submit(make.reserve('t', 1));
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const first = Array.from({ length: 4 }, () => lane.submit(make.reserve('t', 10)));
    await new Promise((resolve) => setImmediate(resolve));
    const edit = lane.submit(make.update('t', { limits: { day: { amount: 60, rule: DAY } } }));
    const second = Array.from({ length: 7 }, () => lane.submit(make.reserve('t', 10)));
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    append.letGo();
    budgetOf(await edit);
    for (const answer of await Promise.all(first)) granted(answer);
    const reasons = (await Promise.all(second)).map((answer) =>
      answer.kind === 'refusal' ? answer.reason : answer.kind,
    );
    expect(reasons).toEqual(['reservation', ...Array.from({ length: 6 }, () => 'CAPACITY_HELD')]);
    expect((await standing(world, 't', 'day')).counter.heldMicros).toBe(51n);
    // Nothing was decided on what was about to change, and so nothing was written twice.
    const written = world.appends.flatMap(({ batch }) => batch).reduce((sum, { entries }) => sum + entries.length, 0);
    expect(written).toBe((lane.cache.peek('t' as never)?.head.seq ?? 0) - 1);
    await expectAudited(world);
  });

  it('binds at once, and on what was held before it', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    const hold = granted(await lane.submit(make.reserve('t', 60))).reservation.id;
    budgetOf(await lane.submit(make.update('t', { limits: { all: 1_000, day: { amount: 100, rule: DAY } } })));
    expect(refused(await lane.submit(make.reserve('t', 41)))).toMatchObject({ reason: 'CAPACITY_HELD', limit: 'day' });
    await lane.submit(make.settle(hold, 50));
    expect(granted(await lane.submit(make.reserve('t', 50))).headroom).toMatchObject({ micros: 0n, limit: 'day' });
    await expectAudited(world);
  });

  it('lets the other commands of its tree wait, and no other tree', async () => {
    const world = await new LaneWorld().open(['t', 'u'], 1_000);
    const { lane, make } = world;
    await lane.submit(make.reserve('t', 60));
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    world.loadFates.push(async (real) => {
      await gate;
      return real();
    });
    const order: string[] = [];
    const edit = lane.submit(make.update('t', { limits: { all: 1_000, day: { amount: 100, rule: DAY } } }));
    const after = lane.submit(make.reserve('t', 41));
    const noted = [edit.then(() => order.push('edit')), after.then(() => order.push('reserve'))];
    budgetOf(await lane.submit({ ...make.getBudget('u'), treeId: 'u' as never }));
    expect(order).toEqual([]);
    letGo();
    await Promise.all(noted);
    expect(refused(await after).limit).toBe('day');
    expect(order).toEqual(['edit', 'reserve']);
    await expectAudited(world);
  });

  it('is decided after lapses that are due, and counts them', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    await lane.submit(make.update('t', { onExpiry: 'charge' }));
    await lane.submit(make.reserve('t', 60, { ttlMs: 1_000 }));
    await lane.submit(make.reserve('t', 5, { ttlMs: 9_000 }));
    world.nowMs += 1_000;
    budgetOf(await lane.submit(make.update('t', { limits: { day: { amount: 100, rule: DAY } } })));
    expect((await standing(world, 't', 'day')).counter).toMatchObject({ heldMicros: 5n, settledMicros: 60n });
    await expectAudited(world);
  });

  it.each([
    ['of a calendar', DAY],
    ['that rolls', HOUR],
    ['of a range', { kind: 'range', startMs: MIDNIGHT_MS - DAY_MS, endMs: MIDNIGHT_MS } as const],
  ])('%s is read for once, although leases lapse all the time', async (_, rule) => {
    const world = await openWorld();
    const { lane, make, memory } = world;
    await lane.submit(make.create('t/a'));
    await lane.submit(make.create('t/b', { onExpiry: 'charge' }));
    // Two that outlive the edit, and many that lapse one after the other, some with a part settled.
    for (const path of ['t/a', 't/b']) {
      granted(await lane.submit(make.reserve(path, 500, { ttlMs: 2 * DAY_MS })));
    }
    for (let no = 0; no < 100; no++) {
      const { id } = granted(
        await lane.submit(make.reserve(no % 2 === 0 ? 't/a' : 't/b', 10, { ttlMs: 1_000 + no * 20 })),
      ).reservation;
      if (no % 10 === 9) granted(await lane.submit(make.settle(id, 3, { keepOpen: true })));
    }
    let readCount = 0;
    Object.assign(world.store, {
      readHistory: async (...args: Parameters<typeof memory.readHistory>) => {
        readCount += 1;
        const history = await memory.readHistory(...args);
        // Two leases run out while it is read.
        world.nowMs += 40;
        return history;
      },
    });
    world.nowMs += 1_000;
    budgetOf(await lane.submit(make.update('t', { limits: { some: { amount: 100_000, rule } } })));
    expect(readCount).toBe(1);
    const { lifetime } = await look(world, 't');
    expect(lifetime).toMatchObject({ heldMicros: 1_000n + 97n * 10n - 10n * 3n, settledMicros: 10n * 3n + 10n });
    expect((await standing(world, 't', 'some')).counter).toMatchObject(lifetimeSums(lifetime));
    world.nowMs += 10_000;
    expect((await standing(world, 't', 'some')).counter).toMatchObject(lifetimeSums((await look(world, 't')).lifetime));
    await expectAudited(world);
  });

  it('is refused as contended where its past is never read at the end of the journal, and nothing else suffers', async () => {
    const world = await openWorld();
    const { lane, make, memory } = world;
    await lane.submit(make.reserve('t', 60));
    let readCount = 0;
    Object.assign(world.store, {
      readHistory: async (...args: Parameters<typeof memory.readHistory>) => {
        readCount += 1;
        const history = await memory.readHistory(...args);
        return { ...history, seq: history.seq - 1 };
      },
    });
    const edit = lane.submit(make.update('t', { limits: { day: { amount: 100, rule: DAY } } }));
    const other = lane.submit(make.reserve('t', 1));
    expect(refused(await edit).reason).toBe('CONTENTION');
    granted(await other);
    expect(readCount).toBe(5);
  });

  it('fails alone where its past can not be read', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    await lane.submit(make.reserve('t', 60));
    const fault = new Error('no sums today');
    Object.assign(world.store, { readHistory: () => Promise.reject(fault) });
    const edit = lane.submit(make.update('t', { limits: { day: { amount: 100, rule: DAY } } }));
    const other = lane.submit(make.reserve('t', 1));
    await expect(edit).rejects.toBe(fault);
    granted(await other);
  });

  it('is not asked for by a repeat, nor by an edit of an old revision', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    await lane.submit(make.reserve('t', 60));
    const limits = { all: 1_000, day: { amount: 100, rule: DAY } };
    const edit = make.update('t', { limits, key: 'k' });
    budgetOf(await lane.submit(edit));
    const loadCount = world.loads.length;
    expect(budgetOf(await lane.submit(make.again(edit))).replayed).toBe(true);
    const other = { ...limits, hour: { amount: 100, rule: HOUR } };
    expect(refused(await lane.submit(make.update('t', { limits: other, revision: 1 }))).reason).toBe('ETAG_MISMATCH');
    expect(world.loads).toHaveLength(loadCount);
  });
});

describe('periods that turn', () => {
  const withDay = async () => {
    const world = await openWorld();
    await world.lane.submit(world.make.create('t/a', { limits: { day: { amount: 100, rule: DAY } } }));
    return world;
  };
  const countersOf = (world: LaneWorld) =>
    world.lane.cache
      .peek('t' as never)
      ?.state.budgetAt('t/a' as BudgetPath)
      ?.counters.filter(({ windowNo }) => windowNo === 1);
  const dayOf = async (world: LaneWorld, periodMs: number) => {
    await world.project();
    for await (const budget of world.memory.readBudgets('t' as never)) {
      const found = budget.counters.find((each) => each.windowNo === 1 && each.periodMs === periodMs);
      if (found !== undefined) return found;
    }
    throw new Error(`nothing was counted on the day of ${periodMs}`);
  };
  const firstDayMs = MIDNIGHT_MS - DAY_MS;

  it('keep a live hold of the day before, and let the day go once it holds nothing', async () => {
    const world = await withDay();
    const { lane, make } = world;
    const { id } = granted(await lane.submit(make.reserve('t/a', 100, { ttlMs: 2 * DAY_MS }))).reservation;
    world.nowMs = MIDNIGHT_MS;
    const next = granted(await lane.submit(make.reserve('t/a', 100, { ttlMs: 2 * DAY_MS }))).reservation.id;
    world.nowMs += 61_000;
    await lane.submit(make.renew(next, 3 * DAY_MS));
    expect(countersOf(world)?.map(({ periodMs }) => periodMs)).toEqual([firstDayMs, MIDNIGHT_MS]);
    expect(granted(await lane.submit(make.settle(id, 80))).reservation.figures.settledMicros).toBe(80n);
    // A further day makes the lane look again.
    world.nowMs = MIDNIGHT_MS + DAY_MS;
    granted(await lane.submit(make.reserve('t/a', 1)));
    world.nowMs += 61_000;
    await lane.submit(make.renew(next, 4 * DAY_MS));
    await lane.submit(make.getBudget('t/a'));
    expect(countersOf(world)?.map(({ periodMs }) => periodMs)).toEqual([MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS]);
    expect(await dayOf(world, firstDayMs)).toMatchObject({ heldMicros: 0n, settledMicros: 80n });
    await expectAudited(world);
  });

  it.each([['projected'], ['still in the tail']])(
    'bring back a day that left memory for what settles late in it, %s',
    async (how) => {
      const world = await withDay();
      const { lane, make } = world;
      const { id } = granted(await lane.submit(make.reserve('t/a', 70, { ttlMs: 1_000 }))).reservation;
      granted(await lane.submit(make.reserve('t/a', 20, { ttlMs: 1_000 })));
      world.nowMs = MIDNIGHT_MS;
      granted(await lane.submit(make.reserve('t/a', 100)));
      if (how === 'projected') await world.project();
      lane.cache.peek('t' as never)?.state.evictPast(world.nowMs);
      expect(countersOf(world)?.map(({ periodMs }) => periodMs)).toEqual([MIDNIGHT_MS]);
      const loadCount = world.loads.length;
      // Today is full; the hold's own day is not.
      const late = granted(await lane.submit(make.settle(id, 120)));
      expect(late.reservation.figures).toMatchObject({ settledMicros: 100n, overrunMicros: 20n, late: true });
      expect(world.loads).toHaveLength(loadCount + 1);
      expect(await dayOf(world, firstDayMs)).toMatchObject({ heldMicros: 0n, settledMicros: 100n, overrunMicros: 20n });
      expect(await dayOf(world, MIDNIGHT_MS)).toMatchObject({ heldMicros: 100n, settledMicros: 0n });
      await expectAudited(world);
    },
  );

  it('bring back a day that a window counts from before it was there', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    const { id } = granted(await lane.submit(make.reserve('t', 70, { ttlMs: 1_000 }))).reservation;
    world.nowMs += 1_000;
    budgetOf(await lane.submit(make.update('t', { limits: { day: { amount: 100, rule: DAY } } })));
    granted(await lane.submit(make.reserve('t', 40, { ttlMs: 1_000 })));
    world.nowMs = MIDNIGHT_MS;
    granted(await lane.submit(make.reserve('t', 90)));
    lane.cache.peek('t' as never)?.state.evictPast(world.nowMs);
    const late = granted(await lane.submit(make.settle(id, 120)));
    expect(late.reservation.figures).toMatchObject({ settledMicros: 100n, overrunMicros: 20n });
    expect(late.headroom).toMatchObject({ micros: 0n, limit: 'day' });
    await expectAudited(world);
  });

  it('bring back a day of a window that took the place of another', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    await lane.submit(make.create('t/a', { limits: { hour: { amount: 100, rule: HOUR } } }));
    const { id } = granted(await lane.submit(make.reserve('t/a', 70, { ttlMs: 1_000 }))).reservation;
    world.nowMs += 1_000;
    budgetOf(await lane.submit(make.update('t/a', { limits: { day: { amount: 100, rule: DAY } } })));
    const other = granted(await lane.submit(make.reserve('t/a', 40))).reservation.id;
    await lane.submit(make.settle(other, 30));
    world.nowMs = MIDNIGHT_MS;
    granted(await lane.submit(make.reserve('t/a', 90)));
    lane.cache.peek('t' as never)?.state.evictPast(world.nowMs);
    expect(granted(await lane.submit(make.settle(id, 60))).headroom).toMatchObject({ micros: 10n, limit: 'day' });
    await expectAudited(world);
  });

  it('come back once, however many name them', async () => {
    const world = await withDay();
    const { lane, make } = world;
    // Each has accounts of its own: they are shared where one path alone is named.
    const also = ['t'];
    const ids: string[] = [];
    for (let no = 0; no < 3; no++) {
      ids.push(granted(await lane.submit(make.reserve('t/a', 9, { ttlMs: 1_000, also }))).reservation.id);
    }
    world.nowMs = MIDNIGHT_MS;
    granted(await lane.submit(make.reserve('t/a', 1)));
    await world.project();
    lane.reset();
    await lane.submit(make.getBudget('t/a'));
    for (const answer of await Promise.all(ids.map((id) => lane.submit(make.settle(id, 5))))) granted(answer);
    expect(countersOf(world)?.map(({ periodMs }) => periodMs)).toEqual([firstDayMs, MIDNIGHT_MS]);
    expect(await dayOf(world, firstDayMs)).toMatchObject({ settledMicros: 15n });
    await expectAudited(world);
  });

  it('take a load for each repeat of what is past, and no more', async () => {
    const world = await withDay();
    const { lane, make } = world;
    const { id } = granted(await lane.submit(make.reserve('t/a', 70))).reservation;
    await lane.submit(make.settle(id, 70));
    world.nowMs = MIDNIGHT_MS;
    granted(await lane.submit(make.reserve('t/a', 1)));
    lane.cache.peek('t' as never)?.state.evictPast(world.nowMs);
    const loadCount = world.loads.length;
    for (let no = 0; no < 3; no++) {
      expect(granted(await lane.submit(make.getReservation(id))).headroom).toMatchObject({ micros: 30n, limit: 'day' });
    }
    expect(world.loads).toHaveLength(loadCount + 1);
  });
});

describe('a lane that begins anew', () => {
  it('gives the same answers on what rolls and on rates, projected or not', async () => {
    const world = await openWorld();
    const { lane, make } = world;
    const rates = [
      { kind: 'requests', count: 3, perMs: 60_000, burst: 9 },
      { kind: 'tokens', count: 7, perMs: 1_000, burst: 100 },
    ] as const;
    await lane.submit(make.create('t/a', { limits: { hour: { amount: 1_000, rule: HOUR } }, rates }));
    const told = async () => {
      const { standings, rates: levels, headroom, activeCount, lifetime } = await look(world, 't/a');
      return { standings, levels, headroom, activeCount, lifetime };
    };
    for (let no = 0; no < 12; no++) {
      const answer = await lane.submit(make.reserve('t/a', 10 + no, { tokens: 20 }));
      if (answer.kind === 'reservation') await lane.submit(make.settle(answer.reservation.id, 5 + no));
      world.nowMs += 11 * 60_000;
      const before = await told();
      if (no % 3 === 0) await world.project();
      lane.reset();
      expect(await told()).toEqual(before);
    }
    const { counter } = await standing(world, 't/a', 'hour');
    const { lifetime } = await look(world, 't/a');
    expect(counter.settledMicros).toBeLessThan(lifetime.settledMicros);
    expect(counter.settledMicros).toBeGreaterThan(0n);
    await expectAudited(world);
  });
});
