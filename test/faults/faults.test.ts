// Every fault once, with one seed, so that a failure is a change's and not the dice's; `npm run faults` plays other seeds.
import { describe, it } from 'vitest';
import { ALL_SCENARIOS } from './all-scenarios.ts';
import { Random } from './random.ts';

const seed = Number(process.env['FAULTS_SEED'] ?? 6_000);

// Most of the time they wait for leases and deadlines, so they play side by side.
describe.concurrent(`faults with FAULTS_SEED=${seed}`, () => {
  for (const scenario of ALL_SCENARIOS) {
    it(scenario.name, async (context) => {
      const outcome = await scenario.run(new Random(seed));
      if (typeof outcome === 'string') context.skip(outcome);
    });
  }
});
