// What every background part of the coordinator is built on: it goes round, it outlives faults, and it ends when told to.
import { describe, expect, it } from 'vitest';
import { Loop, sleepUnlessAborted } from '../../../src/lane/loop.ts';
import { StoreUnavailableError } from '../../../src/store/port.ts';
import { ManualTime, settle } from '../../support/manual-time.ts';

function looping(round: (signal: AbortSignal) => Promise<void>) {
  const time = new ManualTime();
  const logged: string[] = [];
  const loop = new Loop({
    round,
    pauseMs: () => 100,
    failure: 'it failed',
    log: (level, message) => logged.push(`${level}: ${message}`),
    sleep: time.sleep,
  });
  return { loop, time, logged };
}

describe('a loop', () => {
  it('begins with a pause, and goes round once however often it is started', async () => {
    let count = 0;
    const { loop, time } = looping(async () => void count++);
    loop.start();
    loop.start();
    await time.elapse(99);
    expect(count).toBe(0);
    await time.elapse(201);
    expect(count).toBe(3);
    await loop.stop();
  });

  it('that is stopped in its sleep ends at once, and cannot be started again', async () => {
    let count = 0;
    const { loop, time } = looping(async () => void count++);
    loop.start();
    await settle();
    await loop.stop();
    loop.start();
    await time.elapse(1_000);
    expect([count, time.sleeperCount]).toEqual([0, 0]);
  });

  it('that is stopped in a round tells it, and waits for it', async () => {
    const round = Promise.withResolvers<void>();
    let told: AbortSignal | undefined;
    const { loop, time } = looping((signal) => {
      told = signal;
      return round.promise;
    });
    loop.start();
    await time.elapse(100);
    expect(told?.aborted).toBe(false);
    let ended = false;
    const stopped = loop.stop().then(() => {
      ended = true;
    });
    await settle();
    expect([told?.aborted, ended]).toEqual([true, false]);
    round.resolve();
    await stopped;
  });

  it('outlives faults, and tells those that go on with ever longer silence in between', async () => {
    let count = 0;
    const { loop, time, logged } = looping(async () => {
      count += 1;
      if (count <= 9) throw count === 1 ? new StoreUnavailableError('cut') : new Error('odd');
    });
    loop.start();
    await time.elapse(900);
    expect(loop.failureCount).toBe(9);
    expect(logged).toEqual(['warn: it failed', ...Array(3).fill('error: it failed')]);
    await time.elapse(100);
    expect([loop.failureCount, logged.at(-1)]).toEqual([0, 'info: over: it failed']);
    await loop.stop();
  });

  it('lets everything else go on though its rounds do nothing and its pause is nothing', async () => {
    let count = 0;
    const loop = new Loop({
      round: async () => void count++,
      pauseMs: () => 0,
      failure: '',
      log: () => undefined,
      sleep: sleepUnlessAborted,
    });
    loop.start();
    await expect.poll(() => count).toBeGreaterThan(2);
    await loop.stop();
  });
});

describe('the sleep of a running process', () => {
  it('ends at once where the signal is aborted, before or meanwhile', async () => {
    const aborting = new AbortController();
    const sleeping = sleepUnlessAborted(3_600_000, aborting.signal);
    aborting.abort();
    await sleeping;
    await sleepUnlessAborted(3_600_000, aborting.signal);
  });
});
