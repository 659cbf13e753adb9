// Many callers at once, every call of the store in an order that fast-check draws, races lost and answers lost between them.
// Whatever the order was, it must have been some order: each key was granted once, the journal replayed gives every answer,
// the sums are those of the answers, and no ceiling was passed.
import fc, { type Scheduler } from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import { apply } from '../../src/kernel/apply.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import type { TreeId } from '../../src/kernel/names.ts';
import { type RunningCoordinator, startCoordinator } from '../../src/lane/create-coordinator.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory-store.ts';
import { Commands } from '../support/commands.ts';
import { granted, KernelDriver, START_MS } from '../support/kernel-driver.ts';
import { settle } from '../support/manual-time.ts';
import { scheduleStore } from '../support/scheduled-store.ts';

const LIMIT = 100;

interface Request {
  readonly place: 'a' | 'b';
  readonly max: number;
  readonly min: number;
  /** Undefined: of its own. */
  readonly key: string | undefined;
  /** Settled in the same breath, once granted. */
  readonly settle: number | undefined;
}

const request: fc.Arbitrary<Request> = fc.record({
  place: fc.constantFrom('a' as const, 'b' as const),
  max: fc.integer({ min: 1, max: 60 }),
  min: fc.integer({ min: 1, max: 60 }),
  key: fc.option(fc.constantFrom('k1', 'k2'), { nil: undefined }),
  settle: fc.option(fc.integer({ min: 0, max: 70 }), { nil: undefined }),
});

// Lost races, and now and then an answer that is lost: then the next append goes well, since a store never says `conflict`
// of what it has committed.
type Troubles = MemoryStore['faults']['appends'];

const lostRaces: fc.Arbitrary<Troubles> = fc.array(
  fc.option(fc.constant('conflict' as const), { nil: undefined, freq: 2 }),
  { maxLength: 8 },
);
const faults: fc.Arbitrary<Troubles> = fc.oneof(
  { weight: 12, arbitrary: lostRaces },
  { weight: 1, arbitrary: lostRaces.map((races): Troubles => ['lost_answer', undefined, ...races]) },
);

// The lane decides ahead in turns of the event loop, which the scheduler by itself would not let pass.
async function letTurnsPass(task: () => Promise<void>): Promise<void> {
  await task();
  for (let turn = 0; turn < 4; turn++) await settle();
}

async function open(
  scheduler: Scheduler,
  batchCountMax: number,
): Promise<{ store: MemoryStore; start: () => Promise<RunningCoordinator> }> {
  const memory = createMemoryStore();
  const store = scheduleStore(scheduler, memory);
  const clock = { nowMs: () => START_MS };
  const options = { log: () => undefined, address: '', graceMs: 0, reaper: false, clock, batchCountMax };
  const first = await startCoordinator({ ...options, store });
  const make = new Commands();
  for (const [path, limits] of [
    ['t', LIMIT],
    ['t/a', 70],
    ['t/b', 70],
  ] as const) {
    await first.submit(make.create(path, { limits }));
  }
  // Another process takes over with nothing in memory, so that loads are part of the race.
  await first.stop();
  const second = await startCoordinator({ ...options, store });
  store.arm();
  const stop = async () => {
    store.disarm();
    await scheduler.waitIdle();
    await second.stop();
  };
  return { store: memory, start: async () => ({ ...second, stop }) };
}

async function callAll(coordinator: RunningCoordinator, requests: readonly Request[]): Promise<Told[]> {
  const make = new Commands();
  return Promise.all(
    requests.map(async ({ place, max, min, key, settle }, i): Promise<Told> => {
      const reserve = make.reserve(`t/${place}`, max, { min: Math.min(min, max), key: key ?? `own-${i}` });
      const answer = await coordinator.submit(reserve);
      if (answer.kind !== 'reservation' || settle === undefined) return { reserve, answer, settled: undefined };
      const settled = await coordinator.submit(make.settle(answer.reservation.id, settle, { key: 's' }));
      return { reserve, answer, settled };
    }),
  );
}

interface Told {
  readonly reserve: Command;
  readonly answer: Answer;
  readonly settled: Answer | undefined;
}

/** Everything that the answers say must be in the journal, and nothing else. */
function judge(entries: readonly Entry[], told: readonly Told[]): void {
  const replayed = new KernelDriver();
  for (const entry of entries) {
    apply(replayed.state, entry);
    for (const { def, counters } of replayed.state.budgets()) {
      const used = (counters[0]?.heldMicros ?? 0n) + (counters[0]?.settledMicros ?? 0n);
      expect(used).toBeLessThanOrEqual(def.limits[0]?.amountMicros ?? -1n);
    }
  }
  replayed.state.commit();
  const byKey = new Map<string, Set<string>>();
  const ids = new Set<string>();
  for (const { reserve, answer } of told) {
    if (answer.kind !== 'reservation') continue;
    const { id } = answer.reservation;
    ids.add(id);
    byKey.set(reserve.key?.digest ?? '', (byKey.get(reserve.key?.digest ?? '') ?? new Set()).add(id));
    expect(replayed.state.reservation(id)?.figures.grantedMicros).toBe(answer.reservation.figures.grantedMicros);
  }
  for (const granteds of byKey.values()) expect(granteds.size).toBe(1);
  expect(new Set([...replayed.state.reservations()].map(({ id }) => id))).toEqual(ids);
  for (const { settled } of told) {
    if (settled?.kind !== 'reservation') continue;
    const { id, figures } = granted(settled).reservation;
    expect(replayed.state.reservation(id)?.figures).toEqual(figures);
  }
}

it('callers at once are answered as if they had come one after another', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: 2, maxLength: 12 }),
      faults,
      fc.nat(3),
      // Batches so small that one is decided ahead of the other.
      fc.integer({ min: 1, max: 4 }),
      fc.scheduler({ act: letTurnsPass }),
      async (requests, troubles, listCount, batchCountMax, scheduler) => {
        const { store, start } = await open(scheduler, batchCountMax);
        const coordinator = await start();
        store.faults.appends.push(...troubles);
        const lists = Array.from({ length: listCount }, () => coordinator.catchUp('t' as TreeId));
        const [told] = await scheduler.waitFor(Promise.all([callAll(coordinator, requests), ...lists]));
        await coordinator.stop();
        judge(await store.readEntries('t' as TreeId, 0, Number.MAX_SAFE_INTEGER), told);
      },
    ),
    { numRuns: 150 },
  );
});
