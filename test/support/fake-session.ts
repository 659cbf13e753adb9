// A Session over a transport made of arrays, and a coordinator that answers as it is told.
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { ANONYMOUS } from '../../src/api/auth/actor.ts';
import type { CallStatus } from '../../src/api/errors/call-status.ts';
import { createServices } from '../../src/api/services/create-services.ts';
import type { SessionSink } from '../../src/api/session/session.ts';
import {
  type SessionCommandSchema,
  SessionRequestSchema,
  SessionResponseSchema,
  type SessionResult,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Command } from '../../src/kernel/command.ts';
import { FakeCoordinator, FakeReads, succeed } from './fake-coordinator.ts';

/** A command as a frame holds it. */
export type CommandInit = MessageInitShape<typeof SessionCommandSchema>;

/** In the first turn answers become known, in the second their frame has been written. */
export async function nextTurn(): Promise<void> {
  await nextImmediate();
  await nextImmediate();
}

/** A transport that keeps what it is given; `accepts` is what write answers. */
class FakeSink implements SessionSink {
  readonly frames: SessionResult[][] = [];
  readonly sizes: number[] = [];
  accepts = true;
  reading = true;
  ended: { readonly status: CallStatus | undefined } | undefined;
  isCut = false;

  write(frame: Buffer): boolean {
    if (this.ended !== undefined) throw new Error('written after the end');
    this.frames.push(fromBinary(SessionResponseSchema, frame).results);
    this.sizes.push(frame.length);
    return this.accepts;
  }

  end(status: CallStatus | undefined): void {
    if (this.ended !== undefined) throw new Error('ended twice');
    this.ended = { status };
  }

  cut(): void {
    if (this.ended === undefined) throw new Error('cut before the end');
    this.isCut = true;
  }

  pauseReading(): void {
    this.reading = false;
  }

  resumeReading(): void {
    this.reading = true;
  }

  get results(): SessionResult[] {
    return this.frames.flat();
  }
}

/** Opens a Session with bounds that are not met unless they are given. */
export function open(limits = {}) {
  const coordinator = new FakeCoordinator();
  const faults: object[] = [];
  const log = { error: (fields: object) => faults.push(fields), warn: () => undefined };
  const services = createServices({ coordinator, reads: new FakeReads(), log, version: '0', databaseKind: 'external' });
  const sink = new FakeSink();
  const bounds = {
    commandsMax: 8_192,
    waitingMax: 4_096,
    ageMs: 3_600_000,
    stallMs: 3_600_000,
    restMs: 100,
    flushMs: 1_000,
    keptMs: 10_000,
    ...limits,
  };
  const session = services.openSession(ANONYMOUS, sink, bounds);
  const receive = (...commands: CommandInit[]) => session.receive(create(SessionRequestSchema, { commands }));
  return { coordinator, faults, sink, session, receive };
}

/** Makes the coordinator wait; each resolver answers one command in the order submitted. */
export function hold(coordinator: FakeCoordinator): (() => void)[] {
  const answers: (() => void)[] = [];
  coordinator.answer = (command: Command) =>
    new Promise<Answer>((resolve) => {
      answers.push(() => resolve(succeed(command)));
    });
  return answers;
}
