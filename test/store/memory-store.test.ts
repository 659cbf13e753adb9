// The store in memory keeps the contract, and its faults are those that they say they are.
import { expect, it } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { StoreUnavailableError } from '../../src/store/port.ts';
import { NO_HEAD, threeLevels, tree } from './sample-entries.ts';
import { describeStoreContract } from './store-contract.ts';

describeStoreContract('the memory store', async () => ({
  store: createMemoryStore(),
  close: async () => undefined,
}));

const part = { treeId: tree('acme'), expected: NO_HEAD, entries: threeLevels('acme') };

it('an answer that is lost was committed; unavailable and conflict wrote nothing', async () => {
  const store = createMemoryStore();
  const { epoch } = await store.holdWriterLease('a', '', undefined, 1_000);
  store.faults.appends.push('unavailable', 'conflict', 'lost_answer');
  await expect(store.append(epoch, [part])).rejects.toThrow(StoreUnavailableError);
  expect(await store.append(epoch, [part])).toStrictEqual({ outcome: 'conflict' });
  expect(await store.readEntries(part.treeId, 0, 9)).toStrictEqual([]);
  await expect(store.append(epoch, [part])).rejects.toThrow(StoreUnavailableError);
  expect(await store.readEntries(part.treeId, 0, 9)).toStrictEqual(part.entries);
  expect((await store.append(epoch, [part])).outcome).toBe('committed');
});

it('answers nothing while it is down', async () => {
  const store = createMemoryStore();
  store.faults.isDown = true;
  await expect(store.append(0, [])).rejects.toThrow(StoreUnavailableError);
  await expect(store.unprojectedTrees(1)).rejects.toThrow(StoreUnavailableError);
  store.faults.isDown = false;
  expect((await store.append(0, [])).outcome).toBe('committed');
});
