// Who wants to know what the api does: telemetry, without the api knowing of it. All of it is called on the hot path and
// must be quick, and must not throw.
import type { Code } from '../gen/google/rpc/code_pb.ts';
import type { ApiReason } from './api-refusal.ts';

/** Reads a header of a call by its name in lower case; undefined where there is none. */
export type HeaderReader = (name: string) => string | undefined;

/** A call under way. */
export interface ObservedCall {
  /** Runs what belongs to the call, at once. */
  run<T>(work: () => T): T;
  /** It has ended. Only the first end counts. */
  end(code: Code): void;
}

/** A frame of a Session that is being answered. */
export interface ObservedFrame {
  /** Runs what belongs to the frame, at once. */
  run<T>(work: () => T): T;
  /** Every command of it is answered. */
  end(): void;
}

/** See the head of this file. */
export interface ApiObserver {
  /** A call begins; `method` as `package.Service/Method`. */
  call(method: string, header: HeaderReader): ObservedCall;
  /** A frame of a Session begins, within its call; undefined where nobody wants to know. */
  frame(commandCount: number): ObservedFrame | undefined;
  /** A caller was told a reason. */
  refused(reason: ApiReason): void;
  /** A call or a Session's command failed by a fault of the program. */
  faulted(): void;
}

const NO_CALL: ObservedCall = { run: (work) => work(), end: () => undefined };

/** Nobody wants to know. */
export const NO_API_OBSERVER: ApiObserver = {
  call: () => NO_CALL,
  frame: () => undefined,
  refused: () => undefined,
  faulted: () => undefined,
};
