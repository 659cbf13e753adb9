// Whether commands are decided here is told the moment it changes, so that health is never behind the refusal that a
// caller just got.
import { expect, it } from 'vitest';
import type { Command } from '../../../src/kernel/command.ts';
import { startCoordinator } from '../../../src/lane/create-coordinator.ts';
import { MemoryDatabase } from '../../../src/store/memory-database.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { START_MS } from '../../support/kernel-driver.ts';

async function open(wrap: (store: Store) => Store = (store) => store, database = new MemoryDatabase()) {
  const told: (boolean | string)[] = [];
  const store = createMemoryStore({ database, nowMs: () => START_MS });
  const coordinator = await startCoordinator({
    store: wrap(store),
    log: () => undefined,
    address: 'here:1',
    graceMs: 0,
    reaper: false,
    clock: { nowMs: () => START_MS },
    onServingChange: (serving) => told.push(serving),
  });
  const make = new Commands('t');
  /** Submits, and notes the reason that the answer gives. */
  const submit = async (command: Command = make.getBudget('t')): Promise<void> => {
    const answer = await coordinator.submit(command);
    told.push(answer.kind === 'refusal' ? answer.reason : answer.kind);
  };
  return { told, store, database, coordinator, submit, make };
}

it('begins when the lease is taken, and ends before the stop lets go of it', async () => {
  const { told, coordinator } = await open();
  expect([...told, coordinator.status().serving]).toEqual([true, true]);
  const stopping = coordinator.stop();
  expect([...told, coordinator.status().serving]).toEqual([true, false, false]);
  await stopping;
  expect(told).toEqual([true, false]);
});

it('is never told of a standby', async () => {
  const leader = await open();
  const standby = await open(undefined, leader.database);
  await standby.submit();
  expect(standby.told).toEqual(['NOT_LEADER']);
  await standby.coordinator.stop();
  await leader.coordinator.stop();
});

it('is lost before the caller that found out is told', async () => {
  const { told, coordinator, submit, make, database } = await open();
  await submit(make.create('t', { limits: 100 }));
  database.lease = { ...database.lease, epoch: database.lease.epoch + 1, holder: 'another' };
  await submit(make.reserve('t', 1));
  expect(told).toEqual([true, 'budget', false, 'NOT_LEADER']);
  await coordinator.stop();
});

it('is lost with the store before anybody is told, and comes back with it', async () => {
  const { told, store, coordinator, submit } = await open();
  store.faults.isDown = true;
  await submit();
  expect(told).toEqual([true, false, 'STORE_UNAVAILABLE']);
  await submit();
  expect(told).toEqual([true, false, 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
  store.faults.isDown = false;
  await expect.poll(() => told).toEqual([true, false, 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE', true]);
  await submit();
  expect(told.at(-1)).toBe('BUDGET_NOT_FOUND');
  await coordinator.stop();
});

it('measures the trees in memory and the holds that are open in them', async () => {
  const { coordinator, submit, make } = await open();
  await submit(make.create('t', { limits: 100 }));
  await submit(make.create('t/a', { limits: 100 }));
  await submit(make.reserve('t/a', 10));
  await submit(make.reserve('t', 10));
  expect(coordinator.measure()).toEqual({ cachedTrees: 1, openHolds: 2, refusedClockJumpMs: 0 });
  await coordinator.stop();
});
