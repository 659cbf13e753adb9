// The lane over the store in memory against the model, with lost races and lost answers.
import { it } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { checkAgainstModel } from './all-commands.ts';
import { openLane } from './lane-target.ts';

it('the lane over the memory store answers as the model does', async () => {
  await checkAgainstModel(
    async (treeId, graceMs) => {
      const store = createMemoryStore();
      // One trouble at a time: a store never says `conflict` of what it has committed.
      const spoil = (how: 'conflict' | 'lost_answer') => {
        store.faults.appends.splice(0, 1, how);
      };
      return openLane(store, treeId, graceMs, spoil);
    },
    { numRuns: 60, maxCommands: 40 },
  );
});
