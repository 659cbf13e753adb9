// Every fault once, with a seed of this run's own that is printed with a failure; `npm run faults` plays them over and over.
import { describe, it } from 'vitest';
import { ALL_SCENARIOS } from './all-scenarios.ts';
import { Random } from './random.ts';

const seed = Number(process.env['FAULTS_SEED'] ?? Date.now() % 1_000_000);

// Most of the time they wait for leases and deadlines, so they play side by side.
describe.concurrent(`faults with FAULTS_SEED=${seed}`, () => {
  for (const scenario of ALL_SCENARIOS) {
    it(scenario.name, async (context) => {
      const outcome = await scenario.run(new Random(seed));
      if (typeof outcome === 'string') context.skip(outcome);
    });
  }
});
