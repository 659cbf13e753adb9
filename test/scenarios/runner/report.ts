// Prints results for people: every difference with all that is needed to find it, and nothing for what passed but a line.
import type { ScenarioResult } from './play-scenario.ts';

/** One line for a scenario, and one more for each of its differences. */
export function formatResult({ scenario, differences, elapsedMs }: ScenarioResult): string {
  const verdict = differences.length === 0 ? 'pass' : 'FAIL';
  const head = `${verdict}  ${scenario.file}: ${scenario.name} (${Math.round(elapsedMs)} ms)`;
  const lines = differences.map(
    ({ step, line, verb, field, expected, got }) =>
      `      step ${step} (line ${line}) ${verb}: ${field}: expected ${expected}, got ${got}`,
  );
  return [head, ...lines].join('\n');
}

/** The last line of a run. */
export function formatSummary(results: readonly ScenarioResult[]): string {
  const failed = results.filter((result) => result.differences.length > 0).length;
  return `${results.length - failed} passed, ${failed} failed`;
}
