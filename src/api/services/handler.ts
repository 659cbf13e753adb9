// What a handler of a unary method is, whatever server calls it.
import type { DescMethod, DescService, MessageShape } from '@bufbuild/protobuf';
import type { ApiRefusal, Reply } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import type { CallStatus } from '../errors/call-status.ts';

/** What a handler knows of its call beside the request. */
export interface CallContext {
  readonly actor: Actor;
  /** Whether nobody waits for the answer any more. What has been submitted still takes effect. */
  readonly cancelled: () => boolean;
  /** Time left until the caller's deadline, in milliseconds; undefined: it set none. */
  readonly timeLeftMs: () => number | undefined;
  /**
   * Does work whose answer may be long in coming, with a signal that aborts once nobody waits for it. A refusal where the call may
   * not wait, or not any longer.
   */
  readonly wait: <T>(work: (gone: AbortSignal) => Promise<T>) => Promise<T | ApiRefusal>;
}

/** Answers one unary call. Rejects only for a fault of the program or of the store behind a list. */
export type Handler<I extends object, O extends object> = (request: I, context: CallContext) => Promise<Reply<O>>;

/** What a handler knows of a call that it answers with many messages. */
export interface StreamContext {
  readonly actor: Actor;
  /** Aborts once nobody waits for messages any more, or the server stops. The stream then has to end at once. */
  readonly signal: AbortSignal;
}

/** Messages, each made when it is asked for, and the status that the stream ends with; undefined: OK. */
export type MessageStream<O extends object> = AsyncGenerator<O, CallStatus | undefined>;

/** Answers one call with a stream. Rejects, as the stream may, only for a fault of the program. */
export type StreamHandler<I extends object, O extends object> = (
  request: I,
  context: StreamContext,
) => Promise<MessageStream<O> | ApiRefusal>;

/** A handler for each method of a service that answers with a stream, by the method's local name. */
export type StreamHandlers<S extends Omit<DescService, 'method'> & { method: Record<string, DescMethod> }> = {
  readonly [M in keyof S['method'] as S['method'][M] extends { methodKind: 'server_streaming' }
    ? M
    : never]: StreamHandler<MessageShape<S['method'][M]['input']>, MessageShape<S['method'][M]['output']>>;
};

/** A handler for each unary method of a service, by the method's local name. */
export type UnaryHandlers<S extends Omit<DescService, 'method'> & { method: Record<string, DescMethod> }> = {
  readonly [M in keyof S['method'] as S['method'][M] extends { methodKind: 'unary' } ? M : never]: Handler<
    MessageShape<S['method'][M]['input']>,
    MessageShape<S['method'][M]['output']>
  >;
};
