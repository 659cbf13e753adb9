// Budgets that came after those who wait for them: whatever is loaded again, they are known before anything is granted.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import type { BudgetPath } from '../../../src/kernel/names.ts';
import { granted } from '../../support/kernel-driver.ts';
import { LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';
import { per } from '../../support/windows.ts';

let world: LaneWorld;
let answer: Answer | undefined;
let blocker: string;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  answer = undefined;
  world = await new LaneWorld().open(['t'], 100);
  const { lane, make } = world;
  await lane.submit(make.create('t/a', { template: make.terms({ template: make.terms({}) }) }));
  blocker = granted(await lane.submit(make.reserve('t', 90))).reservation.id;
});

afterEach(() => {
  vi.useRealTimers();
});

async function wait(budget: string, also: readonly string[] = []): Promise<void> {
  const { lane, make } = world;
  const asked = lane.submit(make.reserve(budget, 40, { waitMs: 60_000, key: 'w', also }));
  asked.then(
    (each) => {
      answer = each;
    },
    () => undefined,
  );
  await settle();
  expect(answer).toBeUndefined();
}

// An edit that needs the past of its budget has the whole tree loaded again.
async function reload(): Promise<void> {
  const { lane, make } = world;
  await lane.submit(make.update('t', { limits: { lifetime: 100, daily: per('day', 100) } }));
}

async function journal() {
  return world.memory.readEntries(world.make.treeId, 0, 999);
}

async function made(): Promise<readonly string[]> {
  return (await journal()).flatMap((entry) => (entry.type === 'BudgetCreated' ? [entry.def.path] : []));
}

test.each([
  ['that it names', 't/a/run', []],
  ['above the one that it names', 't/a/run/step', []],
  ['that it names besides', 't', ['t/a/run']],
])('a budget %s, made since, is not made again', async (_, budget, also) => {
  await wait(budget, also);
  await world.lane.submit(world.make.create('t/a/run', { limits: { own: 45 }, template: world.make.terms({}) }));
  await reload();
  await world.lane.submit(world.make.release(blocker));
  await settle();
  const { reservation } = granted(answer as Answer);
  expect(reservation.accounts.map(({ budgetNo }) => budgetNo)).toContain(3);
  expect(new Set(await made()).size).toBe((await made()).length);
  await world.project();
  const loaded = await world.memory.load({
    treeId: world.make.treeId,
    paths: ['t/a/run' as BudgetPath],
    reservationIds: [],
    leases: undefined,
    withTail: false,
  });
  expect(loaded.budgets.find(({ def }) => def.path === 't/a/run')).toMatchObject({ activeCount: 1, def: { no: 3 } });
});

test('what one waits for that is not projected yet is asked for before anything is decided', async () => {
  await world.lane.submit(world.make.create('t/a/run', { limits: { own: 45 } }));
  await world.project();
  await wait('t/a/run');
  world.loads.length = 0;
  world.lane.cache.drop(world.make.treeId);
  await world.lane.submit(world.make.release(blocker));
  await settle();
  expect(world.loads.flatMap(({ paths }) => paths)).toContain('t/a/run');
  expect((await journal()).at(-1)).toMatchObject({ type: 'Granted', reservation: { budgetNo: 3 } });
  expect(await made()).toStrictEqual(['t', 't/a', 't/a/run']);
});

test('a budget that is not there is asked for once, whatever else is decided', async () => {
  await wait('t/a/run');
  await reload();
  world.loads.length = 0;
  for (let no = 0; no < 3; no += 1) await world.lane.submit(world.make.reserve('t', 1));
  expect(world.loads.filter(({ paths }) => paths.includes('t/a/run' as BudgetPath)).length).toBeLessThan(2);
  await world.lane.submit(world.make.release(blocker));
  await settle();
  expect(await made()).toStrictEqual(['t', 't/a', 't/a/run']);
});
