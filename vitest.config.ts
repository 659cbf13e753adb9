// The test projects: one folder under test/ each, from the quickest to the slowest. Only those that need a database start
// one, once for the whole run, in test/support/global-setup.ts.
import { defineConfig } from 'vitest/config';
import { TotalsReporter } from './scripts/totals-reporter.ts';

// Longest a single test may take, in milliseconds. Pure code answers in microseconds, a property runs its cases in a few
// seconds; a database on a busy two-core machine needs up to a second for a template copy, a fault test restarts servers.
const unitTimeoutMs = 5_000;
const propertyTimeoutMs = 30_000;
const databaseTimeoutMs = 30_000;
const faultsTimeoutMs = 60_000;

interface Project {
  readonly name: string;
  readonly testTimeoutMs: number;
  readonly database: boolean;
  readonly random: boolean;
}

const project = ({ name, testTimeoutMs, database, random }: Project) => ({
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
  },
});

export default defineConfig({
  test: {
    projects: [
      project({ name: 'unit', testTimeoutMs: unitTimeoutMs, database: false, random: false }),
      project({ name: 'property', testTimeoutMs: propertyTimeoutMs, database: false, random: true }),
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
