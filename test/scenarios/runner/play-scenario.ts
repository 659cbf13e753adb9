// Plays a scenario from its budgets to its last step, and collects every difference with the place where it stands. A
// difference does not end a scenario; what makes the steps after it senseless does.
import type { RestingProcesses } from '../../support/resting-processes.ts';
import type { Mismatch } from './judge-answer.ts';
import { UnknownReservationError } from './named-answers.ts';
import type { Scenario } from './parse-scenarios.ts';
import { playStep } from './play-step.ts';
import { PreparationError, prepareBudgets } from './prepare-budgets.ts';
import { decodeRefusal, formatRefusal, isServiceError } from './refusal.ts';
import { ScenarioWorld } from './scenario-world.ts';

/** An expectation that was not met, and where. */
interface Difference extends Mismatch {
  /** Number of the step, from 1; 0 for what comes before the first. */
  readonly step: number;
  readonly line: number;
  readonly verb: string;
}

/** What became of one scenario: passed where nothing differed. */
export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly differences: readonly Difference[];
  readonly elapsedMs: number;
}

/** Plays one scenario in a world of its own; its service may run in one of `processes`. Never rejects: what goes wrong is a difference too. */
export async function playScenario(scenario: Scenario, processes?: RestingProcesses): Promise<ScenarioResult> {
  const startedMs = performance.now();
  const differences: Difference[] = [];
  const trouble = (place: Pick<Difference, 'step' | 'line' | 'verb'>, error: unknown): void => {
    differences.push({ ...place, field: 'step', expected: 'to be played', got: describe(error) });
  };
  let world: ScenarioWorld | undefined;
  try {
    world = await ScenarioWorld.open(scenario, processes);
    await prepareBudgets(scenario.budgets, world);
    await playSteps(scenario, world, differences, trouble);
  } catch (error) {
    const line = error instanceof PreparationError ? error.line : scenario.line;
    trouble({ step: 0, line, verb: error instanceof PreparationError ? 'budgets' : 'start' }, error);
  }
  await world?.close().catch((error: unknown) => {
    trouble({ step: scenario.steps.length, line: scenario.line, verb: 'end' }, error);
  });
  return { scenario, differences, elapsedMs: performance.now() - startedMs };
}

async function playSteps(
  scenario: Scenario,
  world: ScenarioWorld,
  differences: Difference[],
  trouble: (place: Pick<Difference, 'step' | 'line' | 'verb'>, error: unknown) => void,
): Promise<void> {
  for (const [index, step] of scenario.steps.entries()) {
    const place = { step: index + 1, line: step.line, verb: step.do };
    try {
      const mismatches = await playStep(step, world);
      differences.push(...mismatches.map((mismatch) => ({ ...place, ...mismatch })));
    } catch (error) {
      trouble(place, error);
      // A name without a reservation spoils the steps that use it, not the others.
      if (!(error instanceof UnknownReservationError)) return;
    }
  }
}

function describe(error: unknown): string {
  if (error instanceof PreparationError) return `${error.message}: ${describe(error.cause)}`;
  if (isServiceError(error)) return formatRefusal(decodeRefusal(error));
  return error instanceof Error ? error.message : String(error);
}
