// Every fault that is played, by name.
import { databaseScenarios } from './scenarios/database-scenarios.ts';
import { killScenarios } from './scenarios/kill-scenarios.ts';
import { networkScenarios } from './scenarios/network-scenarios.ts';
import { poisonScenarios } from './scenarios/poison-scenarios.ts';
import { replicaScenarios } from './scenarios/replica-scenarios.ts';
import type { Scenario } from './scenarios/scenario.ts';

/** See the head of this file. */
export const ALL_SCENARIOS: readonly Scenario[] = [
  ...killScenarios,
  ...networkScenarios,
  ...databaseScenarios,
  ...replicaScenarios,
  ...poisonScenarios,
];
