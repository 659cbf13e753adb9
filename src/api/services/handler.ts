// What a handler of a unary method is, whatever server calls it.
import type { DescMethod, DescService, MessageShape } from '@bufbuild/protobuf';
import type { Reply } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';

/** What a handler knows of its call beside the request. */
export interface CallContext {
  readonly actor: Actor;
  /** Whether nobody waits for the answer any more. What has been submitted still takes effect. */
  readonly cancelled: () => boolean;
}

/** Answers one unary call. Rejects only for a fault of the program or of the store behind a list. */
export type Handler<I extends object, O extends object> = (request: I, context: CallContext) => Promise<Reply<O>>;

/** A handler for each unary method of a service, by the method's local name. */
export type UnaryHandlers<S extends Omit<DescService, 'method'> & { method: Record<string, DescMethod> }> = {
  readonly [M in keyof S['method'] as S['method'][M] extends { methodKind: 'unary' } ? M : never]: Handler<
    MessageShape<S['method'][M]['input']>,
    MessageShape<S['method'][M]['output']>
  >;
};
