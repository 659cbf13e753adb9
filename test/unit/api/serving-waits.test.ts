// Unary calls that wait: how many on one connection, for how long, and whose place is kept when they end.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServingWaits, type WaitingCall } from '../../../src/api/serving-waits.ts';
import { PlaceKept } from '../../../src/lane/place-kept.ts';

const LIMITS = { perConnectionMax: 2, ageMs: 1_000, keptMs: 100 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call whose caller goes when told, and its work, which is answered when told. */
function waiting(waits: ServingWaits, over: Partial<WaitingCall> = {}) {
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  let leave: (() => void) | undefined;
  let signal: AbortSignal | undefined;
  const told = waits.during(
    {
      connection: undefined,
      watch: (gone) => {
        leave = gone;
        return () => {
          leave = undefined;
        };
      },
      ...over,
    },
    (gone) => {
      signal = gone;
      return answer;
    },
  );
  return {
    told,
    resolve,
    leave: () => leave?.(),
    isGone: () => signal?.aborted,
    goneFor: () => signal?.reason,
    began: () => signal !== undefined,
  };
}

describe('a call that waits', () => {
  it('is answered, and its end is no going of its caller', async () => {
    const call = waiting(new ServingWaits(LIMITS));
    call.resolve('granted');
    expect(await call.told).toBe('granted');
    call.leave();
    vi.advanceTimersByTime(10_000);
    expect(call.isGone()).toBe(false);
  });

  it('gives its place up at once when its caller goes, also before it began', async () => {
    const waits = new ServingWaits(LIMITS);
    const call = waiting(waits);
    call.leave();
    expect(call.isGone()).toBe(true);
    const late = waiting(waits, {
      watch: (gone) => {
        gone();
        return () => undefined;
      },
    });
    expect(late.isGone()).toBe(true);
  });

  it('that has lasted too long is told to repeat, and is awaited no longer while its place is kept for a moment', async () => {
    const call = waiting(new ServingWaits(LIMITS));
    vi.advanceTimersByTime(1_000);
    expect(await call.told).toMatchObject({ reason: 'QUEUE_TIMEOUT', retryAfterMs: 1_000 });
    expect(call.goneFor()).toEqual(new PlaceKept(100));
  });

  it('lasts no longer than its transport allows', async () => {
    const call = waiting(new ServingWaits(LIMITS), { ageMs: 10 });
    vi.advanceTimersByTime(10);
    expect(await call.told).toMatchObject({ reason: 'QUEUE_TIMEOUT' });
  });

  it('ends when the server stops; later ones at once', async () => {
    const waits = new ServingWaits(LIMITS);
    const call = waiting(waits);
    waits.stop();
    expect(await call.told).toMatchObject({ reason: 'NOT_LEADER', retryAfterMs: 1_000 });
    expect(call.goneFor()).toEqual(new PlaceKept(100));
    const late = waiting(waits);
    expect(await late.told).toMatchObject({ reason: 'NOT_LEADER' });
    expect(late.began()).toBe(false);
  });
});

it('a connection has so many of them, each as long as it lasts', async () => {
  const waits = new ServingWaits(LIMITS);
  const connection = {};
  const [first] = [waiting(waits, { connection }), waiting(waits, { connection })];
  const third = waiting(waits, { connection });
  expect(await third.told).toMatchObject({
    reason: 'QUEUE_FULL',
    retryAfterMs: 1_000,
    bound: { name: 'queue_length', max: 2, observed: 2 },
  });
  expect(waiting(waits, { connection: {} }).began()).toBe(true);
  expect(waiting(waits).began()).toBe(true);
  first?.resolve('granted');
  await first?.told;
  expect(waiting(waits, { connection }).began()).toBe(true);
});
