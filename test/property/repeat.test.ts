// Idempotency (DESIGN, promise 3), at once after any command in any state: the same key and request has no second effect
// and the same answer, and the same key with another request is refused.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { refused } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

// A repeat may say that it is one.
const unmarked = (answer: Answer): unknown =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) =>
      name === 'replayed' ? undefined : typeof value === 'bigint' ? `${value}` : value,
    ),
  );

it('a repeat with its key has the same answer and no effect', () => {
  let repeats = 0;
  fc.assert(
    fc.property(arbitraryStory(30), (story) => {
      tellStory(story, {
        after: (driver, command, answer) => {
          if (command.key === undefined) return;
          const before = pictureOf(driver.state);
          const { answer: again, entries } = driver.decide(command);
          if (driver.state.remembered(command.key.digest) === undefined) return;
          repeats += 1;
          expect(entries).toEqual([]);
          expect(unmarked(again)).toEqual(unmarked(answer));
          const other = { ...command, key: { ...command.key, fingerprint: 'another' } };
          expect(refused(driver.decide(other).answer).reason).toBe('IDEMPOTENCY_KEY_REUSED');
          expect(pictureOf(driver.state)).toEqual(before);
        },
      });
    }),
    { numRuns: 150 },
  );
  expect(repeats).toBeGreaterThan(0);
});
