// Expiry is a predicate (DESIGN, promise 4): whether every lapse is recorded at its very instant, or only when somebody
// asks, every answer is the same.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { arbitraryStory, STORY_PATHS } from '../support/arbitrary-steps.ts';
import type { KernelDriver } from '../support/kernel-driver.ts';
import { tellStory } from '../support/tell-story.ts';

/** A reaper that misses nothing: each lapse is recorded by itself, at the instant at which it is due. */
function passReaped(driver: KernelDriver, ms: number): void {
  const untilMs = driver.nowMs + ms;
  for (;;) {
    const [next] = driver.state.due(untilMs, 1);
    if (next === undefined) break;
    driver.nowMs = Math.max(driver.nowMs, next.figures.reclaimMs);
    driver.runAlone(driver.make.expire(1));
  }
  driver.nowMs = untilMs;
}

it('with a reaper that misses nothing and with none, all answers are the same', () => {
  let lapses = 0;
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      const reaped = tellStory(story, { pass: passReaped });
      const unreaped = tellStory(story);
      expect(unreaped.answers).toEqual(reaped.answers);
      for (const path of STORY_PATHS) expect(unreaped.driver.balances(path)).toEqual(reaped.driver.balances(path));
      const [a, b] = [reaped, unreaped].map(({ driver }) => {
        driver.recordLapses();
        return [...driver.state.reservations()];
      });
      expect(b).toEqual(a);
      lapses += unreaped.driver.journal.filter(({ type }) => type === 'Expired').length;
    }),
    { numRuns: 300 },
  );
  expect(lapses).toBeGreaterThan(0);
});
