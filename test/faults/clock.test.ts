// The store's clock jumps under a running coordinator: no lease moves by it, no grant hangs on it, and somebody is told. A
// database whose clock really jumps takes a machine of its own, so the store reports it here.
import { afterEach, expect, it } from 'vitest';
import { type RunningCoordinator, startCoordinator } from '../../src/lane/create-coordinator.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { Commands } from '../support/commands.ts';
import { granted } from '../support/kernel-driver.ts';
import { elapse, until } from './fault-world.ts';

const HOUR_MS = 3_600_000;
const make = new Commands('t');
let coordinator: RunningCoordinator;

afterEach(() => coordinator.stop());

it.each([
  ['ahead', HOUR_MS],
  ['back', -HOUR_MS],
])('the clock of the database jumps %s by an hour', async (_, jumpMs) => {
  let skewMs = 0;
  const alarms: string[] = [];
  const store = createMemoryStore({ nowMs: () => Date.now() + skewMs });
  coordinator = await startCoordinator({
    store: {
      ...store,
      // The lease itself is kept; only the time that comes with it jumps.
      holdWriterLease: async (holder, address, epoch, ttlMs, graceMs) => {
        const jumpedMs = skewMs;
        skewMs = 0;
        const lease = await store.holdWriterLease(holder, address, epoch, ttlMs, graceMs);
        skewMs = jumpedMs;
        return { ...lease, storeNowMs: lease.storeNowMs + jumpedMs };
      },
    },
    log: (level, message) => {
      if (level === 'error') alarms.push(message);
    },
    address: 'here:1',
    graceMs: 0,
    reaper: true,
  });
  await coordinator.submit(make.create('t', { limits: 100 }));
  const hold = granted(await coordinator.submit(make.reserve('t', 60, { ttlMs: 60_000 }))).reservation;
  const beforeMs = coordinator.nowMs();
  skewMs = jumpMs;
  await until('the jump is seen', () => alarms.length > 0);
  expect(alarms[0]).toBe("the database's clock jumped; not followed");
  // Long enough for another look at the store's clock, and for the reaper.
  await elapse(1_600);
  const passedMs = coordinator.nowMs() - beforeMs;
  expect(passedMs).toBeGreaterThanOrEqual(1_600);
  expect(passedMs).toBeLessThan(60_000);
  const now = granted(await coordinator.submit(make.getReservation(hold.id))).reservation.figures;
  expect(now).toMatchObject({ state: 'ACTIVE', expireMs: hold.figures.expireMs });
  granted(await coordinator.submit(make.reserve('t', 40, { ttlMs: 60_000 })));
  expect(coordinator.status()).toMatchObject({ leader: true, serving: true });
});
