// RetryInfo is true: once every hold of others has come back, a request that was refused with it is granted after just that wait and
// not a moment sooner, and one that was refused without it is not granted however long it waits.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import type { Extend, Reserve } from '../../src/kernel/command.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { HELD_RETRY_MS } from '../../src/kernel/refuse-money.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { KernelDriver } from '../support/kernel-driver.ts';
import { tellStory } from '../support/tell-story.ts';
import { DAY_MS, HOUR_MS } from '../support/windows.ts';

const JUDGED = new Set([
  'WINDOW_CLOSED',
  'EXCEEDS_LIMIT',
  'RATE_LIMITED',
  'CONCURRENCY_LIMIT',
  'BUDGET_EXHAUSTED',
  'CAPACITY_HELD',
]);

/** The same tree, with no hold but that of `keptId`, which does not lapse. */
function alone(driver: KernelDriver, keptId: string | undefined): KernelDriver {
  const copy = new KernelDriver();
  for (const entry of driver.journal) apply(copy.state, entry);
  copy.state.commit();
  copy.nowMs = driver.nowMs;
  copy.graceMs = driver.graceMs;
  for (const { id, figures } of [...copy.state.reservations()]) {
    if (figures.state === 'ACTIVE' && id !== keptId) copy.run(copy.make.release(id));
    if (id === keptId) copy.state.putReservation(lasting(copy, id));
  }
  copy.state.commit();
  return copy;
}

function lasting({ state }: KernelDriver, id: string) {
  const reservation = state.reservation(id as never);
  if (reservation === undefined) throw new Error(`no ${id}`);
  const figures = { ...reservation.figures, expireMs: Number.MAX_SAFE_INTEGER, reclaimMs: Number.MAX_SAFE_INTEGER };
  return { ...reservation, figures };
}

function isGranted(driver: KernelDriver, command: Reserve | Extend, waitMs: number): boolean {
  driver.nowMs += waitMs;
  const { answer } = driver.decide({ ...command, key: undefined });
  driver.nowMs -= waitMs;
  return answer.kind === 'reservation';
}

const LONG_MS = [0, HELD_RETRY_MS, HOUR_MS, DAY_MS, 2 * DAY_MS, 32 * DAY_MS, 70 * DAY_MS];

it('a wait that is named is enough and needed, and none is named where none helps', () => {
  const seen = { held: 0, longer: 0, none: 0 };
  const judge = (driver: KernelDriver, command: Reserve | Extend, { retryAfterMs, message }: Refusal) => {
    const free = alone(driver, command.kind === 'Extend' ? command.id : undefined);
    if (retryAfterMs === undefined) {
      seen.none += 1;
      for (const waitMs of LONG_MS) expect(isGranted(free, command, waitMs), `${message}: ${waitMs}`).toBe(false);
      return;
    }
    expect(isGranted(free, command, retryAfterMs), message).toBe(true);
    if (retryAfterMs === HELD_RETRY_MS) seen.held += 1;
    // Holds come back at any time: a second is a guess. All else is known.
    if (retryAfterMs <= HELD_RETRY_MS) return;
    seen.longer += 1;
    expect(isGranted(free, command, retryAfterMs - 1), message).toBe(false);
  };
  fc.assert(
    fc.property(arbitraryStory(25), (story) => {
      tellStory(story, {
        run: (driver, command) => {
          driver.recordLapses();
          const isRepeat = command.key !== undefined && driver.state.remembered(command.key.digest) !== undefined;
          const answer = driver.run(command);
          if (isRepeat || answer.kind !== 'refusal' || !JUDGED.has(answer.reason)) return answer;
          if (command.kind === 'Reserve' || command.kind === 'Extend') judge(driver, command, answer);
          return answer;
        },
      });
    }),
    { numRuns: 600 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
