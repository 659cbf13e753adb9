// The kernel alone against the model.
import { it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import { KernelDriver } from '../support/kernel-driver.ts';
import { checkAgainstModel } from './all-commands.ts';
import type { Target } from './model-command.ts';

async function openKernel(treeId: string, graceMs: number): Promise<Target> {
  let driver = new KernelDriver(treeId);
  driver.graceMs = graceMs;
  const { make } = driver;
  return {
    make,
    submit: async (command) => driver.run(command),
    advance: (ms) => driver.advance(ms),
    // The same tree, rebuilt from its entries.
    restart: async () => {
      const next = new KernelDriver(treeId);
      next.nowMs = driver.nowMs;
      next.graceMs = graceMs;
      for (const entry of driver.journal) apply(next.state, entry);
      next.state.commit();
      next.journal.push(...driver.journal);
      driver = next;
    },
    spoilNextAppend: () => undefined,
    stop: async () => undefined,
  };
}

it('the kernel answers as the model does', async () => {
  await checkAgainstModel(openKernel, { numRuns: 600, maxCommands: 60 });
});
