// The test projects: one folder under test/ each, from the quickest to the slowest. Only those that need a database start
// one, once for the whole run, in test/support/global-setup.ts.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import type { InlineConfig } from 'vitest/node';
import { TotalsReporter } from './scripts/totals-reporter.ts';

// Longest a single test may take, in milliseconds: it hangs then. Pure code answers in microseconds, a property runs its cases in
// a few seconds; a database on a busy two-core machine needs up to a second for a template copy, a fault test restarts servers.
// Several times what they take on such a machine, so that nothing fails for other work beside it.
const unitTimeoutMs = 10_000;
const propertyTimeoutMs = 120_000;
const databaseTimeoutMs = 60_000;
const faultsTimeoutMs = 120_000;

// Workers: one processor is left to what the tests start or measure, PostgreSQL and services among it, which is what vitest
// does by itself (so one worker on two processors). Properties only compute, and no test of them looks at a clock: they
// take all processors, in a turn of their own so that nothing else shares them.
const COMPUTING: ProjectConfig = { maxWorkers: availableParallelism(), sequence: { groupOrder: 1 } };

// Most of a unit test's time was loading the same sources for each file. They keep no state of a test in their modules, and
// tests put back the timers and functions that they replace, so the files of a worker load them once. A test that leaves any fails.
const LOADED_ONCE: ProjectConfig = { isolate: false, setupFiles: ['test/support/nothing-left.ts'] };

interface Project {
  readonly name: string;
  readonly testTimeoutMs: number;
  readonly database: boolean;
  readonly random: boolean;
  /** Properties of vitest's own, where the project differs. */
  readonly more?: ProjectConfig;
}

type ProjectConfig = Pick<InlineConfig, 'isolate' | 'maxWorkers' | 'sequence' | 'setupFiles'>;

const project = ({ name, testTimeoutMs, database, random, more }: Project) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node',
    testTimeout: testTimeoutMs,
    hookTimeout: Math.max(testTimeoutMs, databaseTimeoutMs),
    globalSetup: [
      ...(database ? ['test/support/global-setup.ts'] : []),
      ...(random ? ['test/support/fast-check-seed.ts'] : []),
    ],
    setupFiles: random ? ['test/support/fast-check-seed.ts'] : [],
    ...more,
  },
});

export default defineConfig({
  test: {
    projects: [
      project({ name: 'unit', testTimeoutMs: unitTimeoutMs, database: false, random: false, more: LOADED_ONCE }),
      project({ name: 'property', testTimeoutMs: propertyTimeoutMs, database: false, random: true, more: COMPUTING }),
      project({ name: 'model', testTimeoutMs: propertyTimeoutMs, database: true, random: true }),
      project({ name: 'store', testTimeoutMs: databaseTimeoutMs, database: true, random: false }),
      project({ name: 'service', testTimeoutMs: databaseTimeoutMs, database: true, random: false }),
      project({ name: 'scenarios', testTimeoutMs: databaseTimeoutMs, database: true, random: false }),
      project({ name: 'faults', testTimeoutMs: faultsTimeoutMs, database: true, random: false }),
    ],
    reporters: ['default', new TotalsReporter()],
    coverage: {
      provider: 'v8',
      include: ['src/kernel/**/*.ts', 'src/pricing/**/*.ts'],
      reporter: [['text', { skipFull: true }], 'text-summary'],
      thresholds: { branches: 90 },
    },
  },
});
