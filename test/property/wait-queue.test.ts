// The queue against the naive one: who is granted what after every command, who is told what, and that nobody who could be granted
// something waits.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { arbitraryQueueStory, type QueueStory, QueueTeller } from '../support/arbitrary-queue.ts';
import { CheckedQueue } from '../support/checked-queue.ts';

function tell(story: QueueStory): CheckedQueue {
  const queue = new CheckedQueue();
  const teller = new QueueTeller(queue);
  teller.open(story);
  for (const step of story.steps) teller.tell(step);
  return queue;
}

it('does after every command what the naive one would', () => {
  const total = { verdicts: 0, open: 0, grants: 0, leaves: 0 };
  fc.assert(
    fc.property(arbitraryQueueStory(60), (story) => {
      const { verdictCount, openCount, grantCount, leaveCount } = tell(story);
      total.verdicts += verdictCount;
      total.open += openCount;
      total.grants += grantCount;
      total.leaves += leaveCount;
    }),
    { numRuns: 200 },
  );
  expect(total.grants).toBeGreaterThan(200);
  expect(total.leaves).toBeGreaterThan(200);
  // The text decides nearly always.
  expect(total.open * 20).toBeLessThan(total.verdicts);
});
