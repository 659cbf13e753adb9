// What a Session does about a peer that sends too much: large frames in slices, a pause after a refusal for overload, and an end
// where it holds most of too many unread results.
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ANONYMOUS } from '../../../src/api/auth/actor.ts';
import type { CallStatus } from '../../../src/api/errors/call-status.ts';
import { createServices } from '../../../src/api/services/create-services.ts';
import type { SessionSink } from '../../../src/api/session/session.ts';
import { SESSION_LIMITS } from '../../../src/api/session/session-limits.ts';
import { UnreadResults } from '../../../src/api/session/unread-results.ts';
import { SessionRequestSchema } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { FakeCoordinator, FakeReads, succeed } from '../../support/fake-coordinator.ts';

class CountingSink implements SessionSink {
  accepts = true;
  reading = true;
  frameCount = 0;
  ended: { readonly status: CallStatus | undefined } | undefined;

  write(): boolean {
    this.frameCount += 1;
    return this.accepts;
  }

  end(status: CallStatus | undefined): void {
    this.ended = { status };
  }

  cut(): void {
    this.ended ??= { status: undefined };
  }

  pauseReading(): void {
    this.reading = false;
  }

  resumeReading(): void {
    this.reading = true;
  }
}

const coordinator = new FakeCoordinator();
const log = { error: () => undefined, warn: () => undefined };
const services = createServices({ coordinator, reads: new FakeReads(), log, version: '0', databaseKind: 'external' });

function open(unread?: UnreadResults) {
  const sink = new CountingSink();
  const session = services.openSession(ANONYMOUS, sink, SESSION_LIMITS, unread);
  const receive = (count: number, from = 1) => {
    const commands = Array.from({ length: count }, (_, n) => ({
      commandId: BigInt(from + n),
      command: {
        case: 'reserve' as const,
        value: { budget: 'acme', idempotencyKey: `k${from + n}`, maxMicros: 5n },
      },
    }));
    session.receive(create(SessionRequestSchema, { commands }));
  };
  return { sink, session, receive };
}

afterEach(() => {
  vi.useRealTimers();
  coordinator.commands.length = 0;
  coordinator.answer = succeed;
});

describe('a large frame', () => {
  it('is started in slices, a turn each, in order, before the frame after it', async () => {
    const { session, receive } = open();
    receive(600);
    receive(1, 5_000);
    expect(coordinator.commands).toHaveLength(256);
    await nextImmediate();
    expect(coordinator.commands).toHaveLength(512);
    await nextImmediate();
    await nextImmediate();
    expect(coordinator.commands).toHaveLength(601);
    expect(coordinator.commands.at(-1)).toMatchObject({ kind: 'Reserve' });
    session.cancel();
  });

  it('has one slice in a turn also where no other Session waits', async () => {
    const { session, receive } = open();
    receive(4_096);
    for (let turn = 1; turn <= 16; turn++) {
      expect(coordinator.commands).toHaveLength(256 * turn);
      await nextImmediate();
    }
    session.cancel();
  });

  it('does not keep another Session from its turn', async () => {
    const large = open();
    const small = open();
    large.receive(4_096);
    small.receive(300, 9_000);
    await nextImmediate();
    await nextImmediate();
    expect(coordinator.commands).toHaveLength(256 + 256 + 256 + 44);
    large.session.cancel();
    small.session.cancel();
  });

  it('is finished after a half-close, and its rest is dropped after a cancel', async () => {
    const first = open();
    first.receive(1_100);
    first.session.close(undefined);
    await vi.waitFor(() => expect(first.sink.ended).toEqual({ status: undefined }));
    expect(coordinator.commands).toHaveLength(1_100);
    const second = open();
    second.receive(1_100);
    second.session.cancel();
    await nextImmediate();
    await nextImmediate();
    expect(coordinator.commands).toHaveLength(1_100 + 256);
  });
});

it('a Session that is refused for overload is not read from for a while', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  coordinator.answer = () => ({ kind: 'refusal', reason: 'OVERLOADED', message: 'full', retryAfterMs: 1_000 });
  const { sink, session, receive } = open();
  receive(1);
  await nextImmediate();
  await nextImmediate();
  expect(sink).toMatchObject({ frameCount: 1, reading: false });
  const before = coordinator.commands.length;
  // Was on its way already: it waits too.
  receive(300, 2);
  await nextImmediate();
  await nextImmediate();
  expect(coordinator.commands).toHaveLength(before);
  coordinator.answer = succeed;
  vi.advanceTimersByTime(SESSION_LIMITS.restMs);
  expect(sink.reading).toBe(true);
  await nextImmediate();
  await nextImmediate();
  expect(coordinator.commands).toHaveLength(before + 300);
  session.cancel();
});

describe('too many unread results', () => {
  const blocked = async (unread: UnreadResults, count: number) => {
    const opened = open(unread);
    opened.sink.accepts = false;
    // The first leaves, and blocks; the others wait behind it.
    opened.receive(1, 9_000);
    await nextImmediate();
    await nextImmediate();
    opened.receive(count);
    await nextImmediate();
    await nextImmediate();
    return opened;
  };

  it('end the Session that holds most of them, and no other', async () => {
    const unread = new UnreadResults(300);
    const small = await blocked(unread, 100);
    const large = await blocked(unread, 150);
    expect(large.sink.ended).toBeUndefined();
    const other = await blocked(unread, 100);
    expect(large.sink.ended?.status).toMatchObject({ code: 8 });
    expect(small.sink.ended ?? other.sink.ended).toBeUndefined();
    for (const { session } of [small, large, other]) session.cancel();
  });

  it('are forgotten when they are read', async () => {
    const unread = new UnreadResults(300);
    for (let n = 0; n < 5; n += 1) {
      const { sink, session } = await blocked(unread, 200);
      sink.accepts = true;
      session.writable();
      expect(sink.ended).toBeUndefined();
    }
  });
});
