// Ends a test run with one plain line, "N passed, N failed, N skipped", that people and machines can read without knowing
// the runner. It stands alone because the runner's own summary counts files and tests in a layout of its own.
import type { Reporter, TestModule } from 'vitest/node';

/** Counts every test of the run; the totals are the last thing the process prints, below any coverage table. */
export class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const totals = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      const failedBefore = totals.failed;
      for (const test of module.children.allTests()) totals[test.result().state] += 1;
      // A file that fails to load, or whose hooks fail, may have no failed test to count.
      if (module.state() === 'failed' && totals.failed === failedBefore) totals.failed += 1;
    }
    const skipped = totals.skipped + totals.pending;
    const line = `${totals.passed} passed, ${totals.failed} failed, ${skipped} skipped`;
    process.once('exit', () => process.stdout.write(`\n${line}\n`));
  }
}
