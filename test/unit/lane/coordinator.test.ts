// The lane's parts together, as the api uses them.
import { describe, expect, it } from 'vitest';
import { startCoordinator } from '../../../src/lane/create-coordinator.ts';
import { newReservationId } from '../../../src/lane/ids.ts';
import { MemoryDatabase } from '../../../src/store/memory-database.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { AppendResult } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, START_MS } from '../../support/kernel-driver.ts';

const log = () => undefined;

function open(database = new MemoryDatabase(), address = 'here:1', reaper = false) {
  const world = { nowMs: START_MS };
  const store = createMemoryStore({ database });
  const start = () =>
    startCoordinator({ store, log, address, graceMs: 0, reaper, clock: { nowMs: () => world.nowMs } });
  return { world, store, start, database };
}

describe('catching up for a list', () => {
  it.each(['t', undefined])('records lapses and projects them, without a reaper, for %s', async (treeId) => {
    const { world, database, start } = open();
    const coordinator = await start();
    const make = new Commands('t');
    await coordinator.submit(make.create('t', { limits: 100 }));
    const id = coordinator.newReservationId();
    granted(await coordinator.submit(make.reserve('t', 10, { id, ttlMs: 1_000 })));
    world.nowMs += 1_000;
    expect(await coordinator.catchUp(treeId as never)).toBeUndefined();
    expect(database.tree('t' as never).reservation(id)?.figures.state).toBe('EXPIRED');
    await coordinator.stop();
  });

  describe('over all trees', () => {
    /** A coordinator with a lapse that is due in `t`, and what becomes of the append that would record it. */
    async function withLapse(fate: () => Promise<AppendResult>) {
      const { world, store, database } = open();
      const coordinator = await startCoordinator({
        store: {
          ...store,
          append: (epoch, batch) =>
            batch.some(({ entries }) => entries.some(({ type }) => type === 'Expired'))
              ? fate()
              : store.append(epoch, batch),
        },
        log,
        address: 'here:1',
        graceMs: 0,
        reaper: false,
        clock: { nowMs: () => world.nowMs },
      });
      const make = new Commands('t');
      await coordinator.submit(make.create('t', { limits: 100 }));
      granted(await coordinator.submit(make.reserve('t', 10, { ttlMs: 1_000 })));
      await coordinator.catchUp(undefined);
      world.nowMs += 1_000;
      return { coordinator, database };
    }

    it('is refused where a lapse could not be recorded, rather than answered with it left out', async () => {
      const { coordinator } = await withLapse(() => Promise.resolve({ outcome: 'conflict' }));
      expect(await coordinator.catchUp(undefined)).toMatchObject({ reason: 'CONTENTION' });
      await coordinator.stop();
    });

    it('fails with the fault by which a lapse could not be recorded, each time', async () => {
      const { coordinator } = await withLapse(() => Promise.reject(new Error('odd')));
      await expect(coordinator.catchUp(undefined)).rejects.toThrow('odd');
      await expect(coordinator.catchUp(undefined)).rejects.toThrow('odd');
      await coordinator.stop();
    });

    it('leaves out what is out of service', async () => {
      const { coordinator } = await withLapse(() => Promise.reject(new Error('odd')));
      coordinator.quarantine('t' as never, 'a person said so', undefined);
      expect(await coordinator.catchUp(undefined)).toBeUndefined();
      await coordinator.stop();
    });
  });

  it('is refused where the store does not answer', async () => {
    const { store, start } = open();
    const coordinator = await start();
    store.faults.isDown = true;
    expect(await coordinator.catchUp(undefined)).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    store.faults.isDown = false;
    await coordinator.stop();
  });
});

describe('a standby', () => {
  it('refuses everything and names the leader', async () => {
    const { database, start } = open();
    const leader = await start();
    const standby = await open(database, 'there:2').start();
    const refusal = { reason: 'NOT_LEADER', leaderAddress: 'here:1' };
    expect(await standby.submit(new Commands('t').getBudget('t'))).toMatchObject(refusal);
    expect(await standby.catchUp(undefined)).toMatchObject(refusal);
    expect(standby.status()).toMatchObject({ serving: false, leader: false, leaderAddress: 'here:1' });
    expect(leader.status()).toMatchObject({
      serving: true,
      leader: true,
      epoch: 1,
      quarantinedTrees: [],
      queueDepth: 0,
      waitingCount: 0,
    });
    await leader.stop();
    await standby.stop();
  });

  it('that starts after a stop goes on where the other ended', async () => {
    const { database, start } = open();
    const first = await start();
    const make = new Commands('t');
    await first.submit(make.create('t', { limits: 100 }));
    granted(await first.submit(make.reserve('t', 60, { key: 'k' })));
    await first.stop();
    expect(database.tree('t' as never).projectedSeq).toBe(2);
    const second = await open(database).start();
    expect(granted(await second.submit(make.reserve('t', 60, { key: 'k' })))).toMatchObject({ replayed: true });
    expect(await second.submit(make.reserve('t', 60))).toMatchObject({ reason: 'CAPACITY_HELD', availableMicros: 40n });
    await second.stop();
  });
});

describe('ids of reservations', () => {
  it('sort by time, differ within a millisecond, and are as short as they are said to be', () => {
    const ids = [START_MS, START_MS, START_MS + 1, START_MS + 1_000_000, START_MS * 2].map(newReservationId);
    expect(ids.map((id) => id.length)).toEqual([22, 22, 22, 22, 22]);
    expect(new Set(ids).size).toBe(5);
    const [, ...later] = ids;
    expect([...later].sort()).toEqual(later);
    for (const id of ids) expect(id).toMatch(/^[0-9a-z]{22}$/);
  });
});
