// Refusals as the api gives them: the kernel's, and the two that only the api can give. Stands alone so that every step of
// a call (fields, permission, decision) answers with the same value and none of them knows the wire.
import type { FieldProblem, Reason, Refusal } from '../kernel/refusal.ts';

/** Every reason that a caller can see. */
export type ApiReason = Reason | 'FORBIDDEN' | 'UNAUTHENTICATED';

/** Why a call was refused, whoever refused it. */
export interface ApiRefusal extends Omit<Refusal, 'reason'> {
  readonly reason: ApiReason;
}

/** What waits goes away one by one. */
const QUEUE_FULL_RETRY_MS = 1_000;

/** What a handler answers with: a message, or why there is none. */
export type Reply<T extends object> = T | ApiRefusal;

/** Tells a refusal from anything else that is answered or made here. */
export function isRefusal(value: object): value is ApiRefusal {
  return 'kind' in value && value.kind === 'refusal';
}

/** Refuses a request for all of its invalid fields at once. `fields` must name at least one. */
export function invalidFields(fields: readonly FieldProblem[]): ApiRefusal {
  const [first, ...rest] = fields;
  const shown = first === undefined ? '' : `${first.field} ${first.description}`;
  const more = rest.length === 0 ? '' : `, and ${rest.length} more`;
  return { kind: 'refusal', reason: 'INVALID_FIELD', message: `invalid request: ${shown}${more}`, fields };
}

/** Refuses a usage report: `why` is the word for it, `field` the path to it in the request. Nothing was changed or remembered. */
export function usageInvalid(why: string, field: string, text: string): Refusal {
  const message = `${field} ${text}; if it can't be reported otherwise, settle with usage_unknown`;
  const fields = [{ field, description: text }];
  return { kind: 'refusal', reason: 'USAGE_INVALID', message, fields, unpriced: { why, field } };
}

/** Refuses bytes that are no message of the method's type. */
export function undecodable(): ApiRefusal {
  return { kind: 'refusal', reason: 'INVALID_FIELD', message: 'the request is not a message of this type', fields: [] };
}

/** Refuses for lack of permission. Says the same whether or not what was named exists; `budget` is one that the caller named. */
export function forbidden(budget?: string): ApiRefusal {
  const message = 'this token may not do this here';
  if (budget === undefined) return { kind: 'refusal', reason: 'FORBIDDEN', message };
  return { kind: 'refusal', reason: 'FORBIDDEN', message: `${message}: ${budget} is outside its subtree`, budget };
}

/** Refuses a caller that is not known. Says the same for a missing and for a wrong token. */
export function unauthenticated(): ApiRefusal {
  return { kind: 'refusal', reason: 'UNAUTHENTICATED', message: 'a valid bearer token is required' };
}

/** Refuses to let one more of a caller's requests wait, past a bound of the api itself. */
export function queueFull(message: string, max: number): ApiRefusal {
  const bound = { name: 'queue_length', max, observed: max } as const;
  return { kind: 'refusal', reason: 'QUEUE_FULL', message, bound, retryAfterMs: QUEUE_FULL_RETRY_MS };
}

/** Refuses work past a bound of the api itself; a retry after `retryAfterMs` makes sense. */
export function overloaded(message: string, retryAfterMs: number): ApiRefusal {
  return { kind: 'refusal', reason: 'OVERLOADED', message, retryAfterMs };
}
