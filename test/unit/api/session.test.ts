// A Session over a transport made of arrays: who is answered, in which frame, and when it stops reading.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FRAME_BYTES_MAX } from '../../../src/api/session/result-frame.ts';
import { type CommandInit, hold, nextTurn, open } from '../../support/fake-session.ts';

const ID = 'acme:06fk2xw8q40000000001';

const reserve = (commandId: bigint, key = `k${commandId}`): CommandInit => ({
  commandId,
  command: { case: 'reserve', value: { budget: 'acme', idempotencyKey: key, maxMicros: 5n } },
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a frame', () => {
  it('is submitted whole in the turn in which it came, and answered in one frame', async () => {
    const { coordinator, sink, receive } = open();
    receive(reserve(1n), reserve(2n), reserve(3n));
    expect(coordinator.commands).toHaveLength(3);
    await nextTurn();
    expect(sink.frames.map((frame) => frame.map(({ commandId }) => commandId))).toEqual([[1n, 2n, 3n]]);
    expect(sink.results.map(({ result }) => result.case)).toEqual(['reserve', 'reserve', 'reserve']);
  });

  it('may hold all six commands', async () => {
    const { sink, receive } = open();
    const on = { reservationId: ID, idempotencyKey: 'k' };
    receive(
      reserve(1n),
      { commandId: 2n, command: { case: 'extend', value: { ...on, addMicros: 1n } } },
      { commandId: 3n, command: { case: 'settle', value: { ...on, cost: { case: 'actualMicros', value: 1n } } } },
      { commandId: 4n, command: { case: 'release', value: on } },
      { commandId: 5n, command: { case: 'renew', value: { reservationId: ID } } },
      { commandId: 6n, command: { case: 'getReservation', value: { reservationId: ID } } },
    );
    await nextTurn();
    expect(sink.results.map(({ commandId, result }) => [commandId, result.case])).toEqual([
      [1n, 'reserve'],
      [2n, 'extend'],
      [3n, 'settle'],
      [4n, 'release'],
      [5n, 'renew'],
      [6n, 'getReservation'],
    ]);
  });

  it('is answered command by command, in the order in which answers become known', async () => {
    const { coordinator, sink, receive } = open();
    const answers = hold(coordinator);
    receive(reserve(1n), reserve(2n), reserve(3n));
    answers[2]?.();
    await nextTurn();
    answers[0]?.();
    answers[1]?.();
    await nextTurn();
    expect(sink.frames.map((frame) => frame.map(({ commandId }) => commandId))).toEqual([[3n], [1n, 2n]]);
  });

  it('gets an error for a bad command and goes on with the others', async () => {
    const { coordinator, sink, receive } = open();
    receive(
      { commandId: 1n, command: { case: 'reserve', value: { budget: '/' } } },
      { commandId: 2n },
      reserve(3n),
      reserve(3n, 'another'),
    );
    await nextTurn();
    expect(sink.results.map(({ commandId, result }) => [commandId, result.case])).toEqual([
      [1n, 'error'],
      [2n, 'error'],
      [3n, 'error'],
      [3n, 'reserve'],
    ]);
    expect(sink.results[2]?.result.value).toMatchObject({ code: 3, message: expect.stringContaining('command_id') });
    expect(coordinator.commands).toHaveLength(1);
    expect(sink.ended).toBeUndefined();
  });

  it('takes an id again once it has been answered', async () => {
    const { sink, receive } = open();
    receive(reserve(1n));
    await nextTurn();
    receive(reserve(1n));
    await nextTurn();
    expect(sink.results.map(({ result }) => result.case)).toEqual(['reserve', 'reserve']);
  });

  it('of more than 4,096 commands ends the session and submits none of them', async () => {
    const { coordinator, sink, receive } = open();
    receive(...Array.from({ length: 4_097 }, (_, n) => reserve(BigInt(n))));
    await nextTurn();
    expect(coordinator.commands).toEqual([]);
    expect(sink.ended?.status).toMatchObject({ code: 3 });
  });

  it('whose results are large is answered in frames that clients take', async () => {
    const { coordinator, sink, receive } = open();
    const message = 'x'.repeat(500);
    const fields = Array.from({ length: 20 }, () => ({ field: 'budget.limits', description: message }));
    coordinator.answer = () => ({ kind: 'refusal', reason: 'INVALID_FIELD', message, fields });
    // As many as are taken in one turn.
    receive(...Array.from({ length: 256 }, (_, n) => reserve(BigInt(n))));
    await nextTurn();
    expect(sink.results).toHaveLength(256);
    expect(sink.frames.length).toBeGreaterThan(1);
    expect(Math.max(...sink.sizes)).toBeLessThanOrEqual(FRAME_BYTES_MAX);
  });

  it('is answered INTERNAL where the coordinator rejects, with the cause in the log only', async () => {
    const { coordinator, sink, faults, receive } = open();
    coordinator.answer = () => Promise.reject(new Error('invariant: secret'));
    receive(reserve(1n));
    await nextTurn();
    expect(sink.results[0]?.result.value).toMatchObject({ code: 13, message: 'internal error', details: [] });
    expect(faults).toMatchObject([{ err: { message: 'invariant: secret' } }]);
  });
});

describe('back-pressure', () => {
  it('stops reading at the bound and reads again at half of it', async () => {
    const { coordinator, sink, receive } = open({ commandsMax: 4 });
    const answers = hold(coordinator);
    receive(reserve(1n), reserve(2n), reserve(3n));
    expect(sink.reading).toBe(true);
    receive(reserve(4n));
    expect(sink.reading).toBe(false);
    answers[0]?.();
    await nextTurn();
    expect(sink.reading).toBe(false);
    answers[1]?.();
    await nextTurn();
    expect(sink.reading).toBe(true);
  });

  it('counts results that the transport does not take, and sends them when it does', async () => {
    const { sink, session, receive } = open({ commandsMax: 4 });
    sink.accepts = false;
    receive(reserve(1n));
    await nextTurn();
    expect(sink.results).toHaveLength(1);
    receive(reserve(2n), reserve(3n), reserve(4n), reserve(5n));
    await nextTurn();
    expect(sink.results).toHaveLength(1);
    expect(sink.reading).toBe(false);
    sink.accepts = true;
    session.writable();
    expect(sink.results).toHaveLength(5);
    expect(sink.reading).toBe(true);
  });

  it('gives up a peer that does not read its results', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink, receive } = open({ stallMs: 1_000 });
    sink.accepts = false;
    receive(reserve(1n));
    await nextTurn();
    vi.advanceTimersByTime(999);
    expect(sink.ended).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(sink.ended?.status).toMatchObject({ code: 8 });
  });

  it('cuts the stream of one whose status does not get through either', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink, session, receive } = open({ stallMs: 60_000, flushMs: 1_000 });
    sink.accepts = false;
    receive(reserve(1n));
    await nextTurn();
    vi.advanceTimersByTime(60_000);
    expect(sink.ended?.status).toMatchObject({ code: 8 });
    session.writable();
    vi.advanceTimersByTime(999);
    expect(sink.isCut).toBe(false);
    vi.advanceTimersByTime(1);
    expect(sink.isCut).toBe(true);
  });

  it('does not wait for one that is blocked when the server stops', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink, session, receive } = open({ stallMs: 60_000, flushMs: 1_000 });
    sink.accepts = false;
    receive(reserve(1n));
    await nextTurn();
    session.stop();
    vi.advanceTimersByTime(999);
    expect(sink.ended).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(sink.ended?.status).toMatchObject({ code: 14 });
    expect(sink.isCut).toBe(true);
  });

  it('gives one that reads again its results when the server stops', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink, session, receive } = open();
    sink.accepts = false;
    receive(reserve(1n));
    await nextTurn();
    receive(reserve(2n));
    session.stop();
    await nextTurn();
    vi.advanceTimersByTime(999);
    sink.accepts = true;
    session.writable();
    expect(sink.results).toHaveLength(2);
    expect(sink.ended?.status).toMatchObject({ code: 14 });
    expect(sink.isCut).toBe(false);
  });
});

describe('the end', () => {
  it('comes after the last outstanding answer when the peer half-closes', async () => {
    const { coordinator, sink, session, receive } = open();
    const answers = hold(coordinator);
    receive(reserve(1n), reserve(2n));
    session.close(undefined);
    answers[0]?.();
    await nextTurn();
    expect(sink.ended).toBeUndefined();
    answers[1]?.();
    await nextTurn();
    expect(sink.results).toHaveLength(2);
    expect(sink.ended).toEqual({ status: undefined });
  });

  it('comes at once when nothing is outstanding', async () => {
    const { sink, session } = open();
    session.close(undefined);
    await nextTurn();
    expect(sink.ended).toEqual({ status: undefined });
  });

  it('waits for results that the transport has not taken', async () => {
    const { sink, session, receive } = open();
    sink.accepts = false;
    receive(reserve(1n));
    await nextTurn();
    receive(reserve(2n));
    session.close(undefined);
    await nextTurn();
    expect(sink.ended).toBeUndefined();
    sink.accepts = true;
    session.writable();
    expect(sink.results).toHaveLength(2);
    expect(sink.ended).toEqual({ status: undefined });
  });

  it('drops answers, not effects, when the peer is gone', async () => {
    const { coordinator, sink, session, receive } = open();
    const answers = hold(coordinator);
    receive(reserve(1n));
    session.cancel();
    answers[0]?.();
    await nextTurn();
    expect(coordinator.commands).toHaveLength(1);
    expect(sink.frames).toEqual([]);
    expect(sink.ended).toBeUndefined();
  });

  it('takes no frame after it was told to stop, and finishes what it took', async () => {
    const { coordinator, sink, session, receive } = open();
    const answers = hold(coordinator);
    receive(reserve(1n));
    session.stop();
    receive(reserve(2n));
    expect(sink.reading).toBe(false);
    answers[0]?.();
    await nextTurn();
    expect(coordinator.commands).toHaveLength(1);
    expect(sink.results).toHaveLength(1);
    expect(sink.ended?.status).toMatchObject({ code: 14 });
  });

  it('is waited for as long as results are, and a second once the server stops', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink, session } = open({ stallMs: 60_000, flushMs: 1_000 });
    session.close(undefined);
    await nextTurn();
    vi.advanceTimersByTime(59_999);
    expect(sink.isCut).toBe(false);
    session.stop();
    vi.advanceTimersByTime(999);
    expect(sink.isCut).toBe(false);
    vi.advanceTimersByTime(1);
    expect(sink.isCut).toBe(true);
    expect(sink.ended).toEqual({ status: undefined });
  });

  it('is not cut once the stream is over', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink, session } = open();
    session.close(undefined);
    await nextTurn();
    session.cancel();
    vi.advanceTimersByTime(3_600_000);
    session.stop();
    vi.advanceTimersByTime(3_600_000);
    expect(sink.isCut).toBe(false);
  });

  it('comes with age, within a tenth of it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sink } = open({ ageMs: 1_000 });
    vi.advanceTimersByTime(899);
    await nextTurn();
    expect(sink.ended).toBeUndefined();
    vi.advanceTimersByTime(202);
    await nextTurn();
    expect(sink.ended?.status).toMatchObject({ code: 14 });
  });
});
