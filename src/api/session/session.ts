// A Session: frames of commands in, frames of results out, whatever the transport. The hottest path of the service.
//
//   open     frames are taken; every command of a frame is checked and submitted in the turn in which the frame came, of a
//            large frame in the turns that follow
//   closing  no frame is taken any more (half-closed, drained, too old, or a broken frame); results still go out
//   ended    the status is sent, or the peer is gone: results that come late are dropped, never their effects. A status
//            that cannot get past unread results is given up after a while, and the stream reset
//
// A Reserve that waits in the queue stays awaited. Who half-closes gets its answer all the same; where the Session is ended here
// it is left unanswered, and its place is kept for a moment; where the peer is gone it leaves the queue.
//
// Results that become known in one turn of the event loop leave in one frame. The peer that does not read its results is
// not read from either, so that what one Session holds in memory is bounded.
import type { SessionCommand, SessionRequest } from '../../gen/budgetd/v1/reservation_pb.ts';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { Command } from '../../kernel/command.ts';
import type { ReservationId } from '../../kernel/names.ts';
import type { ApiLog } from '../api-log.ts';
import { type ApiObserver, NO_API_OBSERVER } from '../api-observer.ts';
import { type ApiRefusal, invalidFields, isRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { bareStatus, type CallStatus, faultStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { CommandDesk } from '../services/command-desk.ts';
import { RESERVATION_CALLS, reservationAnswer } from '../services/reservation-calls.ts';
import type { CommandOrigin } from '../validate/reservation-commands.ts';
import { FrameSlices } from './frame-slices.ts';
import { errorResult, RESULT_FIELDS, type ReadyResult, resultFrame } from './result-frame.ts';
import type { SessionLimits } from './session-limits.ts';
import type { UnreadResults } from './unread-results.ts';
import { WaitingCommands } from './waiting-commands.ts';

/** The transport under a Session. */
export interface SessionSink {
  /** Sends an encoded SessionResponse. False: send no more until told by `Session.writable`. */
  write(frame: Buffer): boolean;
  /** Ends the stream; undefined: OK. Called once, and never after `Session.cancel`. */
  end(status: CallStatus | undefined): void;
  /** Resets the stream, which has been ended but whose end does not get through. */
  cut(): void;
  pauseReading(): void;
  resumeReading(): void;
}

/** What a Session needs from around it. */
export interface SessionDeps {
  readonly desk: CommandDesk;
  readonly newReservationId: () => ReservationId;
  readonly log: ApiLog;
  /** Default: nobody. */
  readonly observer?: ApiObserver | undefined;
  /** What all Sessions hold together. Default: not counted. */
  readonly unread?: UnreadResults | undefined;
}

type CallName = keyof typeof RESERVATION_CALLS;
interface AnyCall {
  readonly toCommand: (request: object, origin: CommandOrigin) => Command | ApiRefusal;
}

// The contract's bound on one frame: at 1 MiB a message more would not fit anyway.
const FRAME_COMMANDS_MAX = 4_096;

// Ends that make a client open another Session. Commands without a result may or may not have been done: their keys tell.
const TOO_OLD = bareStatus(
  Code.UNAVAILABLE,
  'the session has reached its age: open another and repeat what is unanswered',
);
const STALLED = bareStatus(Code.RESOURCE_EXHAUSTED, 'results were not read: open another session');

const STOPPING = bareStatus(
  Code.UNAVAILABLE,
  'the server is stopping: open another session and repeat what is unanswered',
);

/** One Session. */
export class Session {
  readonly #deps: SessionDeps;
  readonly #observer: ApiObserver;
  readonly #actor: Actor;
  readonly #sink: SessionSink;
  readonly #limits: SessionLimits;
  readonly #origin: CommandOrigin;
  readonly #ageTimer: NodeJS.Timeout;
  #stallTimer: NodeJS.Timeout | undefined;
  #state: 'open' | 'closing' | 'ended' = 'open';
  #endStatus: CallStatus | undefined;
  readonly #awaitedIds = new Set<bigint>();
  readonly #waiting: WaitingCommands;
  /** What waits is left unanswered from now on. */
  #leavesWaiting = false;
  #leaveTimer: NodeJS.Timeout | undefined;
  #ready: ReadyResult[] = [];
  #flushScheduled = false;
  #writeBlocked = false;
  #stopping = false;
  #readPaused = false;
  #restTimer: NodeJS.Timeout | undefined;
  // A Session that has ended meanwhile has dropped what was not started.
  readonly #slices = new FrameSlices(() => this.#flush());

  constructor(deps: SessionDeps, actor: Actor, sink: SessionSink, limits: SessionLimits) {
    this.#deps = deps;
    this.#observer = deps.observer ?? NO_API_OBSERVER;
    this.#actor = actor;
    this.#sink = sink;
    this.#limits = limits;
    this.#waiting = new WaitingCommands(limits.waitingMax);
    this.#origin = { actor: actor.name, newReservationId: deps.newReservationId };
    // Spread by a tenth either way: Sessions opened together after a takeover must not all come back together.
    const ageMs = limits.ageMs * (0.9 + Math.random() * 0.2);
    this.#ageTimer = setTimeout(() => this.#sendAway(TOO_OLD), ageMs).unref();
  }

  /** Takes a frame. */
  receive(frame: SessionRequest): void {
    if (this.#state !== 'open') return;
    if (frame.commands.length > FRAME_COMMANDS_MAX) {
      const description = `must have at most ${FRAME_COMMANDS_MAX} entries`;
      this.close(refusalStatus(invalidFields([{ field: 'commands', description }])));
      return;
    }
    const observed = frame.commands.length === 0 ? undefined : this.#observer.frame(frame.commands.length);
    if (observed === undefined) this.#slices.take(frame.commands, (commands) => this.#startAll(commands, undefined));
    else {
      const done = countDown(frame.commands.length, () => observed.end());
      this.#slices.take(frame.commands, (commands) => observed.run(() => this.#startAll(commands, done)));
    }
    this.#balance();
  }

  /** Takes no more frames, finishes what is outstanding, then ends with `status`; undefined (half-closed): OK. */
  close(status: CallStatus | undefined): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#endStatus = status;
    // A half-closed stream has nothing left to read; its end was the last event.
    if (status !== undefined) {
      this.#sink.pauseReading();
      this.#leaveWaiting(status);
    }
    this.#scheduleFlush();
  }

  /** The server stops: finishes what is outstanding, but waits no longer than `flushMs` for a peer that does not read. */
  stop(): void {
    this.#stopping = true;
    this.#sendAway(STOPPING);
    if (this.#stallTimer !== undefined) this.#watch(this.#limits.flushMs);
  }

  /** The stream is over, or its peer is gone: drops results, not effects; what waits leaves the queue. */
  cancel(): void {
    // Of one that was ended here the end comes by itself.
    if (this.#state !== 'ended') this.#waiting.leave();
    this.#release();
  }

  /** The transport takes frames again. */
  writable(): void {
    // After the end nothing more is written, and only the stream's own end ends the watch.
    if (this.#state === 'ended') return;
    this.#writeBlocked = false;
    this.#unwatch();
    this.#flush();
  }

  /** Too much waits here for peers that do not read, and most of it for this one: ends it. */
  giveUp(): void {
    this.#stalled();
  }

  // `done`, if given, is called once for each command, when it is answered.
  #startAll(commands: readonly SessionCommand[], done: (() => void) | undefined): void {
    for (const { commandId, command } of commands) {
      try {
        if (!this.#start(commandId, command, done)) done?.();
      } catch (cause) {
        this.#failed(commandId, command.case, cause);
        done?.();
      }
    }
  }

  // False: answered already.
  #start(commandId: bigint, command: SessionCommand['command'], done: (() => void) | undefined): boolean {
    if (this.#awaitedIds.has(commandId)) {
      const description = 'is already awaited on this stream';
      return this.#refuse(commandId, invalidFields([{ field: 'command_id', description }]));
    }
    if (command.case === undefined) {
      return this.#refuse(commandId, invalidFields([{ field: 'command', description: 'is required' }]));
    }
    const name = command.case;
    // Each entry of the table takes exactly the request that a field of its name holds.
    const call = RESERVATION_CALLS[name] as unknown as AnyCall;
    const checked = call.toCommand(command.value, this.#origin);
    if (isRefusal(checked)) return this.#refuse(commandId, checked);
    const mayWait = checked.kind === 'Reserve' && checked.waitMs > 0 && !checked.dryRun;
    const full = mayWait ? this.#waiting.full : undefined;
    if (full !== undefined) return this.#refuse(commandId, full);
    this.#awaitedIds.add(commandId);
    const gone = mayWait ? this.#waiting.begin() : undefined;
    this.#deps.desk.submit(this.#actor, checked, gone).then(
      (answer) => {
        if (mayWait) this.#waiting.end();
        this.#answered(commandId, name, answer);
        done?.();
      },
      (cause: unknown) => {
        if (mayWait) this.#waiting.end();
        this.#failed(commandId, name, cause);
        done?.();
      },
    );
    return true;
  }

  #sendAway(status: CallStatus): void {
    this.close(status);
    this.#leaveWaiting(status);
  }

  // In a moment: what was asked just now is most likely answered at once.
  #leaveWaiting(status: CallStatus): void {
    this.#leaveTimer ??= setTimeout(() => {
      this.#leavesWaiting = true;
      if (this.#waiting.count === 0) return;
      this.#endStatus ??= status;
      this.#flush();
    }, this.#limits.flushMs).unref();
  }

  #answered(commandId: bigint, name: CallName, answer: Answer | ApiRefusal): void {
    this.#awaitedIds.delete(commandId);
    if (this.#state === 'ended') return;
    try {
      const single = isRefusal(answer) ? answer : reservationAnswer(answer);
      if (isRefusal(single)) this.#refuse(commandId, single);
      else this.#push({ commandId, field: RESULT_FIELDS[name], content: single });
    } catch (cause) {
      this.#failed(commandId, name, cause);
    }
    // Nothing else can come in this turn: the one who waits alone is told at once.
    if (this.#awaitedIds.size === 0) this.#flush();
  }

  #failed(commandId: bigint, name: CallName | undefined, cause: unknown): void {
    this.#awaitedIds.delete(commandId);
    const status = this.#faulted(`Session/${name}`, cause);
    if (this.#state !== 'ended') this.#pushError(commandId, status);
  }

  #faulted(method: string, cause: unknown): CallStatus {
    this.#observer.faulted();
    return faultStatus(cause, method, this.#deps.log);
  }

  #refuse(commandId: bigint, refusal: ApiRefusal): false {
    this.#observer.refused(refusal.reason);
    if (refusal.reason === 'OVERLOADED') this.#rest();
    this.#pushError(commandId, refusalStatus(refusal));
    return false;
  }

  #pushError(commandId: bigint, status: CallStatus): void {
    this.#push({ commandId, ...errorResult(status) });
  }

  #push(result: ReadyResult): void {
    this.#ready.push(result);
    this.#scheduleFlush();
  }

  // After the turn's I/O and promise callbacks: what one commit answers leaves together.
  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#state === 'ended') return;
    let sent = 0;
    while (sent < this.#ready.length && !this.#writeBlocked) {
      const { frame, next } = resultFrame(this.#ready, sent, (cause) => this.#faulted('Session', cause));
      sent = next;
      if (!this.#sink.write(frame)) this.#block();
    }
    this.#ready = sent === this.#ready.length ? [] : this.#ready.slice(sent);
    // Tells also when it has become nothing again; may end this Session.
    this.#deps.unread?.set(this, this.#ready.length);
    if (this.#hasEnded()) return;
    if (this.#state === 'closing' && this.#outstandingCount === 0) this.#end(this.#endStatus, this.#patienceMs());
    else this.#balance();
  }

  // Asked again where the state may have changed meanwhile.
  #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  #block(): void {
    this.#writeBlocked = true;
    this.#watch(this.#patienceMs());
  }

  #patienceMs(): number {
    return this.#stopping ? this.#limits.flushMs : this.#limits.stallMs;
  }

  // The peer has so long to take what has been written.
  #watch(ms: number): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = setTimeout(() => this.#stalled(), ms).unref();
  }

  #unwatch(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = undefined;
  }

  #stalled(): void {
    const isEnded = this.#state === 'ended';
    if (!isEnded) this.#end(this.#stopping ? STOPPING : STALLED, this.#limits.flushMs);
    if (!isEnded && !this.#stopping) return;
    this.#unwatch();
    this.#sink.cut();
  }

  // Commands that came and whose results have not left.
  get #heldCount(): number {
    return this.#slices.pendingCount + this.#awaitedIds.size + this.#ready.length;
  }

  // What has to leave before the stream may end.
  get #outstandingCount(): number {
    return this.#leavesWaiting ? this.#heldCount - this.#waiting.count : this.#heldCount;
  }

  // A client that is refused for overload and goes on at once would keep the service busy with refusals alone.
  #rest(): void {
    this.#slices.hold();
    this.#restTimer ??= setTimeout(() => {
      this.#restTimer = undefined;
      this.#slices.resume();
      this.#balance();
    }, this.#limits.restMs).unref();
  }

  // Reads only while there is room; resumes at half of what waits leaves of it, so that it does not stop and go at every frame.
  #balance(): void {
    if (this.#state !== 'open') return;
    const held = this.#heldCount;
    const resumeAt = (this.#limits.commandsMax + this.#waiting.count) / 2;
    const rests = this.#restTimer !== undefined;
    if (!this.#readPaused && (rests || held >= this.#limits.commandsMax)) {
      this.#readPaused = true;
      this.#sink.pauseReading();
    } else if (this.#readPaused && !rests && held <= resumeAt) {
      this.#readPaused = false;
      this.#sink.resumeReading();
    }
  }

  // `patienceMs`: how long the status may take to leave.
  #end(status: CallStatus | undefined, patienceMs: number): void {
    if (this.#state === 'ended') return;
    this.#waiting.leaveAfter(this.#limits.keptMs);
    this.#release();
    this.#watch(patienceMs);
    this.#sink.end(status);
  }

  #release(): void {
    this.#state = 'ended';
    this.#ready = [];
    this.#slices.clear();
    clearTimeout(this.#restTimer);
    clearTimeout(this.#leaveTimer);
    this.#deps.unread?.set(this, 0);
    clearTimeout(this.#ageTimer);
    this.#unwatch();
  }
}

function countDown(count: number, work: () => void): () => void {
  let left = count;
  return () => {
    left -= 1;
    if (left === 0) work();
  };
}
