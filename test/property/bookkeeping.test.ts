// What became of a grant: every micro-unit of it is held, went back, or was spent, and an ended reservation holds nothing.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ReservationFigures } from '../../src/kernel/reservation.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { tellStory } from '../support/tell-story.ts';

function expectKept(figures: ReservationFigures): void {
  const { state, requestedMicros, grantedMicros, heldMicros, settledMicros, releasedMicros, overrunMicros } = figures;
  const { estimatedMicros, lapsedHeldMicros, endMs, expireMs, reclaimMs, late, estimated } = figures;
  for (const amount of [heldMicros, settledMicros, releasedMicros, overrunMicros, estimatedMicros, lapsedHeldMicros]) {
    expect(amount).toBeGreaterThanOrEqual(0n);
  }
  expect(grantedMicros).toBeLessThanOrEqual(requestedMicros);
  // Spend past the hold and spend after the lapse come on top of the grant; without either the sums are equal.
  expect(heldMicros + releasedMicros).toBeLessThanOrEqual(grantedMicros);
  expect(heldMicros + releasedMicros + settledMicros + overrunMicros).toBeGreaterThanOrEqual(grantedMicros);
  expect(estimatedMicros).toBeLessThanOrEqual(settledMicros);
  expect(reclaimMs).toBeGreaterThanOrEqual(expireMs);
  if (!estimated) expect(estimatedMicros).toBe(0n);
  if (late) expect(['EXPIRED', 'SETTLED']).toContain(state);
  if (state === 'ACTIVE') {
    expect(endMs).toBeUndefined();
    expect(lapsedHeldMicros).toBe(0n);
  } else {
    expect(heldMicros).toBe(0n);
    expect(endMs).toBeDefined();
  }
  if (state === 'RELEASED' || (state === 'EXPIRED' && !late)) {
    expect(releasedMicros + settledMicros + overrunMicros).toBeGreaterThanOrEqual(grantedMicros);
  }
}

it('every unit granted is held, went back or was spent', () => {
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      tellStory(story, {
        after: ({ state }) => {
          for (const { figures } of state.reservations()) expectKept(figures);
        },
      });
    }),
    { numRuns: 150 },
  );
});

it('without spend past the hold or after the lapse, what was spent and what went back are the grant', () => {
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      const modest = story.steps.map((step) => (step.do === 'settle' ? { ...step, actual: undefined } : step));
      const { driver } = tellStory({ ...story, steps: modest });
      for (const { figures } of driver.state.reservations()) {
        if (figures.late) continue;
        expect(figures.heldMicros + figures.releasedMicros + figures.settledMicros).toBe(figures.grantedMicros);
        expect(figures.overrunMicros).toBe(0n);
      }
    }),
    { numRuns: 100 },
  );
});
