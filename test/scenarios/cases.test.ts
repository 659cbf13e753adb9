// Every scenario of the shared case files, played against the real service as `npm run scenario` plays it.
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { RestingProcesses } from '../support/resting-processes.ts';
import { AT_ONCE_DEFAULT, atMost } from './runner/at-most.ts';
import { parseScenarios, type Scenario } from './runner/parse-scenarios.ts';
import { playScenario } from './runner/play-scenario.ts';
import { formatResult } from './runner/report.ts';

const CASE_FILES = ['core.yaml', 'windows-and-shapes.yaml', 'modes-and-alerts.yaml', 'shares.yaml', 'waiting.yaml'];
// A scenario takes about a second; one with a restart waits for the dead writer's lease, and all wait for their turn.
const SCENARIO_TIMEOUT_MS = 60_000;

// Those that wait for a dead writer's lease, some seconds, keep nobody from a turn; vitest bounds the sum of both.
const WAITING_AT_ONCE = 2;

const inTurn = atMost(AT_ONCE_DEFAULT);
const inTurnOfWaiting = atMost(WAITING_AT_ONCE);
const turnOf = ({ steps }: Scenario) => (steps.some((step) => step.do === 'restart') ? inTurnOfWaiting : inTurn);

const processes = new RestingProcesses();
afterAll(() => processes.close());

describe.each(CASE_FILES)('%s', (file) => {
  const text = readFileSync(new URL(`./cases/${file}`, import.meta.url), 'utf8');
  for (const scenario of parseScenarios(text, file)) {
    test.concurrent(scenario.name, { timeout: SCENARIO_TIMEOUT_MS }, async () => {
      const result = await turnOf(scenario)(() => playScenario(scenario, processes));
      expect(result.differences, formatResult(result)).toEqual([]);
    });
  }
});
