// Reserves that wait in the queue, within a Session: what they leave of its bounds, and what becomes of their places when it ends.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { PlaceKept } from '../../../src/lane/place-kept.ts';
import { type CommandInit, hold, nextTurn, open } from '../../support/fake-session.ts';

const reserve = (commandId: bigint, waitS: bigint | undefined): CommandInit => ({
  commandId,
  command: {
    case: 'reserve',
    value: {
      budget: 'acme',
      idempotencyKey: `k${commandId}`,
      maxMicros: 5n,
      ...(waitS !== undefined && { maxWait: { seconds: waitS } }),
    },
  },
});
const waits = (commandId: bigint) => reserve(commandId, 30n);
const plain = (commandId: bigint) => reserve(commandId, undefined);

afterEach(() => {
  vi.useRealTimers();
});

describe('what waits', () => {
  it('is submitted with a signal, one for all of a session; nothing else is', async () => {
    const { coordinator, receive } = open();
    receive(waits(1n), plain(2n), reserve(3n, 0n), waits(4n));
    const [first, second, third, fourth] = coordinator.signals;
    expect(first).toBeInstanceOf(AbortSignal);
    expect([second, third, fourth]).toEqual([undefined, undefined, first]);
    expect(coordinator.commands).toMatchObject([{ waitMs: 30_000 }, { waitMs: 0 }, { waitMs: 0 }, { waitMs: 30_000 }]);
    await nextTurn();
    expect(first?.aborted).toBe(false);
  });

  it('past its bound is refused, and what need not wait goes on', async () => {
    const { coordinator, sink, receive } = open({ waitingMax: 2 });
    const answers = hold(coordinator);
    receive(waits(1n), waits(2n), waits(3n), plain(4n));
    await nextTurn();
    expect(sink.results).toMatchObject([{ commandId: 3n, result: { case: 'error', value: { code: 8 } } }]);
    expect(coordinator.commands).toHaveLength(3);
    answers[0]?.();
    await nextTurn();
    receive(waits(5n));
    expect(coordinator.commands).toHaveLength(4);
  });

  it('leaves room to read what makes room for it', async () => {
    const { coordinator, sink, receive } = open({ commandsMax: 8, waitingMax: 4 });
    const answers = hold(coordinator);
    receive(waits(1n), waits(2n), waits(3n), waits(4n), plain(5n), plain(6n), plain(7n), plain(8n));
    expect(sink.reading).toBe(false);
    answers[4]?.();
    await nextTurn();
    expect(sink.reading).toBe(false);
    answers[5]?.();
    await nextTurn();
    expect(sink.reading).toBe(true);
  });
});

describe('the end of a session', () => {
  it('whose peer is gone takes what waits out of the queue at once', () => {
    const { coordinator, session, receive } = open();
    hold(coordinator);
    receive(waits(1n));
    session.cancel();
    expect(coordinator.signals[0]?.aborted).toBe(true);
  });

  it('that was half-closed comes when what waits is answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { coordinator, sink, session, receive } = open();
    const answers = hold(coordinator);
    receive(waits(1n));
    session.close(undefined);
    await nextTurn();
    vi.advanceTimersByTime(60_000);
    expect(sink.ended).toBeUndefined();
    answers[0]?.();
    await nextTurn();
    expect(sink.results).toHaveLength(1);
    expect(sink.ended).toEqual({ status: undefined });
    expect(coordinator.signals[0]?.aborted).toBe(false);
  });

  it.each([
    ['that is too old', (_session: ReturnType<typeof open>['session']) => vi.advanceTimersByTime(110)],
    ['of a server that stops', (session: ReturnType<typeof open>['session']) => session.stop()],
    [
      'that was half-closed, of a server that stops',
      (session: ReturnType<typeof open>['session']) => {
        session.close(undefined);
        session.stop();
      },
    ],
  ])('%s leaves what waits unanswered, answers all else, and keeps the places for a moment', async (_, end) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { coordinator, sink, session, receive } = open({ ageMs: 100, flushMs: 1_000, keptMs: 10_000 });
    const answers = hold(coordinator);
    receive(waits(1n), plain(2n));
    end(session);
    await nextTurn();
    vi.advanceTimersByTime(1_000);
    expect(sink.ended).toBeUndefined();
    answers[1]?.();
    await nextTurn();
    expect(sink.results.map(({ commandId }) => commandId)).toEqual([2n]);
    expect(sink.ended?.status).toMatchObject({ code: 14 });
    // The stream's own end, which follows, is no going of the peer.
    session.cancel();
    expect(coordinator.signals[0]?.reason).toEqual(new PlaceKept(10_000));
  });

  it('that is told of soon after a command came still answers it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { coordinator, sink, session, receive } = open({ flushMs: 1_000 });
    const answers = hold(coordinator);
    receive(waits(1n));
    session.stop();
    answers[0]?.();
    await nextTurn();
    expect(sink.results.map(({ commandId }) => commandId)).toEqual([1n]);
    expect(sink.ended?.status).toMatchObject({ code: 14 });
  });
});
