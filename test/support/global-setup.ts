// One PostgreSQL for all test projects of a run, and one migrated template. Projects set up one after the other, so the
// first starts it and the last to end stops it.
import { startPostgres, stopPostgres } from './postgres.ts';

const COUNT_KEY = Symbol.for('budgetd.test.projects');
const shared = globalThis as { [COUNT_KEY]?: { projectCount: number; stop: () => Promise<void> } };

/** Called by vitest before the tests of a project. Returns what it calls after them. */
export default async function setup(): Promise<() => Promise<void>> {
  shared[COUNT_KEY] ??= { projectCount: 0, stop: stopPostgres };
  const state = shared[COUNT_KEY];
  state.projectCount += 1;
  if (state.projectCount === 1) await startPostgres();
  return async () => {
    state.projectCount -= 1;
    if (state.projectCount > 0) return;
    delete shared[COUNT_KEY];
    await state.stop();
  };
}
