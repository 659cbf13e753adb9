// The auditor compares the marks of alerts, and what waits, with the journal. What else it finds is in the fault runs and in the
// service tests.
import { expect, it } from 'vitest';
import { verifyTree } from '../../../src/app/verify-tree.ts';
import type { Alerted, Entry } from '../../../src/kernel/entry.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import {
  alerted,
  appendTo,
  created,
  definition,
  enqueued,
  granted,
  held,
  leftQueue,
  NO_HEAD,
  rid,
  START_MS,
  tree,
} from '../../store/sample-entries.ts';

const budgets = [
  created({ seq: 1, atMs: START_MS }, definition(1, 't', undefined)),
  created({ seq: 2, atMs: START_MS }, definition(2, 't/team', 1)),
];

/** What is found of a tree whose journal has one alert and whose projection was made of another. */
async function differences(written: Alerted, projected: Alerted): Promise<readonly string[]> {
  const store = createMemoryStore();
  const treeId = tree('t');
  await appendTo(store, 0, { treeId, expected: NO_HEAD, entries: [...budgets, written] });
  await store.project([{ treeId, entries: [...budgets, projected] }]);
  return (await verifyTree(store, treeId)).differences;
}

it('marks of alerts that are as the journal has them agree', async () => {
  const alert = alerted({ seq: 3 }, [2, 1, 0, 80], [1, 1, 0, 80]);
  expect(await differences(alert, alert)).toStrictEqual([]);
});

it.each([
  ['a share that was never reached', [2, 1, 0, 80], [2, 1, 0, 100]],
  ['another period', [2, 1, 0, 80], [2, 1, 1_000, 80]],
] as const)('%s is found', async (_, written, projected) => {
  const found = await differences(alerted({ seq: 3 }, written), alerted({ seq: 3 }, projected));
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/^budget t\/team differs: the journal gives .*"alertMarks":\[\{/);
});

/** What is found of a tree whose journal and projection have these. */
async function differencesOf(...entries: readonly Entry[]): Promise<readonly string[]> {
  const store = createMemoryStore();
  const treeId = tree('t');
  await appendTo(store, 0, { treeId, expected: NO_HEAD, entries: [...budgets, ...entries] });
  await store.project([{ treeId, entries: [...budgets, ...entries] }]);
  return (await verifyTree(store, treeId)).differences;
}

const ANN = { actingFor: 'Ann', labels: [['a', '1']] } as const;
const onTeam = { path: 't/team', nos: [1, 2] };
const waits = (seq: number, id: string) => enqueued({ seq, personal: ANN }, rid(id), onTeam, START_MS + 9_000);
const grant = (seq: number, id: string, enqueuedSeq?: number) =>
  granted({ seq }, rid(id), enqueuedSeq === undefined ? onTeam : { ...onTeam, enqueuedSeq }, held(5n, START_MS + 99));

it('what waits, was granted out of the queue or left it agrees', async () => {
  const left = leftQueue({ seq: 6 }, rid('b'));
  expect(await differencesOf(waits(3, 'a'), waits(4, 'b'), waits(5, 'c'), left, grant(7, 'a', 3))).toStrictEqual([]);
});

it.each([
  ['out of a place that another entry gave', [waits(3, 'a'), grant(4, 'a', 2)], 'grants .* out of the queue'],
  ['twice', [grant(3, 'a'), grant(4, 'a')], 'grants .* which there is already'],
])('a grant %s is found', async (_, entries, text) => {
  const found = await differencesOf(...entries);
  expect(found.join('\n')).toMatch(new RegExp(`entry 4 ${text}`));
});

it('an end of a wait that never began is found', async () => {
  const store = createMemoryStore();
  const treeId = tree('t');
  await appendTo(store, 0, { treeId, expected: NO_HEAD, entries: [...budgets, leftQueue({ seq: 3 }, rid('a'))] });
  await store.project([{ treeId, entries: budgets }]);
  expect((await verifyTree(store, treeId)).differences).toContain(
    `entry 3 changes reservation ${rid('a')}, which was never granted`,
  );
});

it('a budget that was made twice is found', async () => {
  const store = createMemoryStore();
  const treeId = tree('t');
  const again = created({ seq: 3 }, definition(3, 't/team', 1));
  await appendTo(store, 0, { treeId, expected: NO_HEAD, entries: [...budgets, again] });
  await store.project([{ treeId, entries: budgets }]);
  expect((await verifyTree(store, treeId)).differences).toStrictEqual([
    'entry 3 makes budget t/team, which there is already',
  ]);
});
