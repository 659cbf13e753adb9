// The auditor compares the marks of alerts with the journal. What else it finds is in the fault runs and in the service tests.
import { expect, it } from 'vitest';
import { verifyTree } from '../../../src/app/verify-tree.ts';
import type { Alerted } from '../../../src/kernel/entry.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { alerted, appendTo, created, definition, NO_HEAD, START_MS, tree } from '../../store/sample-entries.ts';

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
