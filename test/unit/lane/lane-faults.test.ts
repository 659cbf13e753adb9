// Faults that are no race and no outage: one command's, one tree's, or the program's. Each is felt by whom it belongs to
// and by nobody else.
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/kernel/command.ts';
import { InvariantError } from '../../../src/kernel/invariant.ts';
import type { Pricing } from '../../../src/kernel/price.ts';
import type { ModelCall } from '../../../src/pricing/model-call.ts';
import { type AppendResult, CorruptJournalError, type Loaded, type TreeAppend } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';
import { callOf, testPricing } from '../../support/test-prices.ts';

const on = (treeId: string, command: Command): Command => ({ ...command, treeId: treeId as never });

/** Appends of batches with such an entry fail, for no reason that a store has a name for. */
function poison(world: LaneWorld, isBad: (part: TreeAppend) => boolean, count: number): void {
  const fate = (real: () => Promise<AppendResult>) =>
    world.appends.at(-1)?.batch.some(isBad) ? Promise.reject(new Error('poisoned')) : real();
  world.appendFates.push(...Array.from({ length: count }, () => fate));
}

const asksFor = (micros: bigint) => (part: TreeAppend) =>
  part.entries.some((entry) => entry.type === 'Granted' && entry.reservation.figures.requestedMicros === micros);

/** As from a real database: not before everything else that can go on has. */
const arriveLater = async (real: () => Promise<Loaded>): Promise<Loaded> => {
  await settle();
  return real();
};

describe('a poisoned command', () => {
  it('fails alone: the others of its batch are granted, each once', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    poison(world, asksFor(13n), 9);
    const submit = (command: Command) => world.lane.submit(command).catch((error: unknown) => error);
    const answers = await Promise.all([
      submit(world.make.reserve('t', 10)),
      submit(world.make.reserve('t', 13)),
      submit(world.make.reserve('t', 20)),
      submit(on('u', world.make.reserve('u', 30))),
    ]);
    expect(answers.map((each) => (each instanceof Error ? each.message : (each as { kind: string }).kind))).toEqual([
      'reservation',
      'poisoned',
      'reservation',
      'reservation',
    ]);
    expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ lifetime: { heldMicros: 30n } });
    expect(await world.lane.submit(on('u', world.make.getBudget('u')))).toMatchObject({
      lifetime: { heldMicros: 30n },
    });
  });

  it('whose entry could not be read again is not written, fails alone, and leaves its tree as it was', async () => {
    const sound = testPricing();
    // As if nothing bounded what a call declares.
    const pricing: Pricing = {
      ...sound,
      price: (call, ...more) => {
        const priced = sound.price(call, ...more);
        if (priced.kind !== 'price' || (call.call as ModelCall).inputTokens !== 13) return priced;
        return { ...priced, record: { ...priced.record, inputTokensMax: 9n * 10n ** 18n + 9n * 10n ** 18n } };
      },
    };
    const world = await new LaneWorld({ pricing }).open();
    const reserve = (inputTokens: number) =>
      world.lane.submit(world.make.reserve('t', 0, { call: callOf('local/free', { inputTokens }) }));
    const [before, bad, after] = await Promise.allSettled([reserve(1), reserve(13), reserve(2)]);
    expect(bad).toMatchObject({ status: 'rejected', reason: expect.any(InvariantError) });
    for (const each of [before, after])
      expect(each).toMatchObject({ status: 'fulfilled', value: { kind: 'reservation' } });
    world.lane.reset();
    expect((await reserve(3)).kind).toBe('reservation');
  });

  it('that breaks an invariant fails alone and takes back only its own', async () => {
    const world = await new LaneWorld().open();
    const taken = granted(await world.lane.submit(world.make.reserve('t', 10))).reservation.id;
    const results = await Promise.allSettled([
      world.lane.submit(world.make.reserve('t', 20)),
      world.lane.submit(world.make.reserve('t', 5, { id: taken })),
      world.lane.submit(world.make.reserve('t', 30)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: expect.any(InvariantError) as InvariantError });
    expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ lifetime: { heldMicros: 60n } });
  });

  it('is told in one line of the log with all others of its batch', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 1))).reservation;
    const other = new Commands('u');
    const taken = granted(await world.lane.submit(other.reserve('u', 1))).reservation.id;
    const results = await Promise.allSettled([
      ...Array.from({ length: 20 }, () => world.lane.submit(world.make.reserve('t', 1, { id }))),
      ...Array.from({ length: 20 }, () => world.lane.submit(other.reserve('u', 1, { id: taken }))),
    ]);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(world.logged).toEqual(['commands failed']);
    expect(world.logFields[0]).toMatchObject({ commands: 40, trees: 2, first: { treeId: 't', command: 'Reserve' } });
  });

  it('is found though each of its batch has to wait for its tree again', async () => {
    const world = await new LaneWorld().open();
    poison(world, asksFor(13n), 9);
    world.loadFates.push(...Array.from({ length: 9 }, () => arriveLater));
    const results = await Promise.allSettled([
      world.lane.submit(world.make.reserve('t', 10)),
      world.lane.submit(world.make.reserve('t', 13)),
      world.lane.submit(world.make.reserve('t', 20)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(world.appendFates.length).toBeGreaterThan(4);
  });

  it('whose entry does not fit its tree shows that the tree is at fault: it is quarantined, and nothing is written', async () => {
    const world = await new LaneWorld().open();
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 10))).reservation;
    const state = world.lane.cache.peek('t' as never)?.state;
    const reservation = state?.reservation(id);
    if (state === undefined || reservation === undefined) throw new Error('the hold is in memory');
    // Giving this back would take the budget below 0.
    state.putReservation({ ...reservation, figures: { ...reservation.figures, heldMicros: 99n } });
    state.commit();
    const answers = await Promise.all([
      world.lane.submit(world.make.reserve('t', 20)),
      world.lane.submit(world.make.release(id)),
      world.lane.submit(world.make.reserve('t', 30)),
    ]);
    expect(answers.map((answer) => refused(answer).reason)).toEqual(Array(3).fill('TREE_QUARANTINED'));
    expect(world.lane.quarantinedTrees).toEqual(['t']);
    const entries = await world.memory.readEntries('t' as never, 0, 99);
    expect(entries.map(({ type }) => type)).toEqual(['BudgetCreated', 'Granted']);
  });

  it('that was only in bad company is not failed by the next poisoned batch', async () => {
    const world = await new LaneWorld().open();
    poison(world, asksFor(13n), 1);
    // Alone it loses a race, and meets the other again.
    world.appendFates.push(() => Promise.resolve({ outcome: 'conflict' }));
    poison(world, asksFor(13n), 9);
    const results = await Promise.allSettled([
      world.lane.submit(world.make.reserve('t', 10)),
      world.lane.submit(world.make.reserve('t', 13)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});

describe('a tree whose records are at fault', () => {
  const corrupt = new CorruptJournalError('entry 3 is not what was written');
  const fates: readonly (readonly [string, (real: () => Promise<Loaded>) => Promise<Loaded>])[] = [
    ['cannot be read', () => Promise.reject(corrupt)],
    ['does not fit together', async (real) => ({ ...(await real()), head: { seq: 9, hash: '', atMs: 0 } })],
    [
      'has a gap in its tail',
      async (real) => {
        const loaded = await real();
        return { ...loaded, tail: loaded.tail.map((entry) => ({ ...entry, seq: entry.seq + 1 })) };
      },
    ],
  ];

  it.each(fates)('%s: it is quarantined alone', async (_, fate) => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.lane.reset();
    world.loadFates.push(fate);
    const answers = await Promise.all([
      world.lane.submit(world.make.reserve('t', 1)),
      world.lane.submit(world.make.getBudget('t')),
      world.lane.submit(on('u', world.make.reserve('u', 1))),
    ]);
    expect(answers.slice(0, 2).map((each) => refused(each).reason)).toEqual(['TREE_QUARANTINED', 'TREE_QUARANTINED']);
    granted(answers[2]);
    expect(world.lane.quarantinedTrees).toEqual(['t']);
    const { loads } = world;
    const loadCount = loads.length;
    expect(refused(await world.lane.submit(world.make.reserve('t', 1))).reason).toBe('TREE_QUARANTINED');
    expect(loads).toHaveLength(loadCount);
    expect(world.memory.database.tree('t' as never).quarantine).toBeDefined();
    expect(world.lane.depth).toBe(0);
  });

  it('and is known as such by the store is not loaded into service', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    await world.memory.quarantine('t' as never, 'a person said so');
    world.lane.reset();
    expect(refused(await world.lane.submit(world.make.reserve('t', 1)))).toMatchObject({
      reason: 'TREE_QUARANTINED',
      message: expect.stringContaining('a person said so') as string,
    });
    granted(await world.lane.submit(on('u', world.make.reserve('u', 1))));
  });

  it('so that its lapses cannot be recorded is quarantined alone', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 10, { ttlMs: 1_000 }))).reservation;
    const state = world.lane.cache.peek('t' as never)?.state;
    const reservation = state?.reservation(id);
    if (state === undefined || reservation === undefined) throw new Error('the hold is in memory');
    // More is held by the hold than its budget knows of.
    state.putReservation({ ...reservation, figures: { ...reservation.figures, heldMicros: 99n } });
    state.commit();
    world.nowMs += 1_000;
    const answers = await Promise.all([
      world.lane.submit(world.make.getBudget('t')),
      world.lane.submit(on('u', world.make.reserve('u', 1))),
    ]);
    expect(refused(answers[0]).reason).toBe('TREE_QUARANTINED');
    granted(answers[1]);
  });
});

describe('a fault that nobody foresaw', () => {
  it('in reading a tree fails its commands, and the next ones start afresh', async () => {
    const world = await new LaneWorld().open(['t', 'u']);
    world.lane.reset();
    world.loadFates.push(() => Promise.reject(new Error('odd')));
    const [odd, fine] = await Promise.allSettled([
      world.lane.submit(world.make.reserve('t', 1)),
      world.lane.submit(on('u', world.make.reserve('u', 1))),
    ]);
    expect([odd.status, fine.status]).toEqual(['rejected', 'fulfilled']);
    granted(await world.lane.submit(world.make.reserve('t', 1)));
    expect(world.lane.quarantinedTrees).toEqual([]);
  });

  it('in the lane itself leaves nobody without an answer, and the lane goes on', async () => {
    const world = await new LaneWorld().open();
    const { nowMs } = world;
    Object.defineProperty(world, 'nowMs', {
      configurable: true,
      get: () => {
        throw new Error('no clock');
      },
    });
    await expect(world.lane.submit(world.make.reserve('t', 1))).rejects.toThrow('no clock');
    Object.defineProperty(world, 'nowMs', { configurable: true, value: nowMs, writable: true });
    granted(await world.lane.submit(world.make.reserve('t', 1)));
    await world.lane.stop();
  });

  it('with more lapses than a batch takes, is told to who waits instead of tried for ever', async () => {
    const world = await new LaneWorld().open(['t'], 1_000_000);
    const holds = Array.from({ length: 1_001 }, () => world.make.reserve('t', 1, { ttlMs: 1_000 }));
    await Promise.all(holds.map((each) => world.lane.submit(each)));
    world.nowMs += 1_000;
    poison(world, ({ entries }) => entries.some(({ type }) => type === 'Expired'), 4);
    await expect(world.lane.submit(world.make.getBudget('t'))).rejects.toThrow('poisoned');
    world.appendFates.length = 0;
    expect(await world.lane.submit(world.make.getBudget('t'))).toMatchObject({ activeCount: 0 });
  });
});

describe('stop', () => {
  it('finishes what was let in and refuses what comes after', async () => {
    const world = await new LaneWorld().open();
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const inFlight = world.lane.submit(world.make.reserve('t', 10));
    await settle();
    const waiting = world.lane.submit(world.make.reserve('t', 20));
    const stopped = world.lane.stop();
    const late = world.lane.submit(world.make.reserve('t', 30));
    expect(refused(await late)).toMatchObject({ reason: 'NOT_LEADER' });
    append.letGo();
    await stopped;
    granted(await inFlight);
    granted(await waiting);
    expect(await world.memory.readEntries('t' as never, 0, 99)).toHaveLength(3);
  });

  it('waits for commands that wait for records', async () => {
    const world = await new LaneWorld().open();
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const parked = world.lane.submit(world.make.reserve('t', 10));
    await settle();
    const stopped = world.lane.stop();
    load.letGo();
    granted(await parked);
    await stopped;
  });

  it('ends at once where nothing waits', async () => {
    const world = await new LaneWorld().open();
    await world.lane.stop();
    expect(refused(await world.lane.submit(world.make.getBudget('t'))).reason).toBe('NOT_LEADER');
  });
});

describe('the door', () => {
  it('turns away only new work where the projection is behind', async () => {
    const world = await new LaneWorld().open();
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 10))).reservation;
    world.overload = 'the projection is behind';
    expect(refused(await world.lane.submit(world.make.reserve('t', 1)))).toMatchObject({ reason: 'OVERLOADED' });
    granted(await world.lane.submit(world.make.settle(id, 5)));
  });
});
