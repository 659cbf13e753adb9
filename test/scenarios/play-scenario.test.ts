// The runner must be able to fail: scenarios with wrong expectations, played against the real service, give exactly their
// differences, each at its step.
import { expect, test } from 'vitest';
import { parseScenarios } from './runner/parse-scenarios.ts';
import { playScenario } from './runner/play-scenario.ts';

async function play(text: string) {
  const [scenario] = parseScenarios(text, 'wrong.yaml');
  if (scenario === undefined) throw new Error('no scenario');
  return (await playScenario(scenario)).differences;
}

test('each wrong expectation is found, and the steps after it are played', async () => {
  const differences = await play(`- name: wrong
  budgets: [{name: s, limits: [{amount: 100}], settled: 10, held: 20}]
  steps:
    - {do: reserve, as: A, budget: s, max: 30, expect: {granted: 31, expires_in: 60}}
    - {do: check, balances: {s: {held: 50, settled: 10, available: 41}}, reservations: {A: {state: SETTLED}}, budgets: 2}
    - {do: reserve, as: N, budget: s, max: 50, expect: {error: RESOURCE_EXHAUSTED, reason: BUDGET_EXHAUSTED, retry: true}}
    - {do: release, reservation: N}
    - {do: parallel, repeat: 2, steps: [{do: reserve, budget: s, max: 40}], expect: {granted_count: 2}}
    - {do: advance, by: 24h}
    - {do: check, balances: {s: {held: 0, settled: 10, available: 90}}}
    - {do: verify}
`);
  expect(differences.map(({ step, line, field }) => `${step}:${line} ${field}`)).toEqual([
    '1:4 granted',
    '2:5 balances.s.available',
    '2:5 reservations.A.state',
    '2:5 budgets',
    '3:6 reason',
    '4:7 step',
    '5:8 granted_count',
  ]);
});

test('what the service does not have yet ends the scenario, loudly', async () => {
  const differences = await play(`- name: not yet
  budgets: [{name: s, limits: [{amount: 100}]}]
  steps:
    - {do: reserve, as: A, budget: s, max: 1}
    - {do: approve, reservation: A}
    - {do: reserve, budget: s, max: 1, expect: {granted: 2}}
`);
  expect(differences).toEqual([
    expect.objectContaining({ step: 2, verb: 'approve', got: 'not supported by this service yet: approve' }),
  ]);
});
