// What a request waits with, as JSON: within its entry of the journal, and in the projected row of one that waits or left the
// queue ungranted. Its own file because both say the same in nearly the same words. The salt of its personal fields is in
// neither: it lies beside them, so that they can be erased.

import type { Enqueued } from '../kernel/entry.ts';
import { invariant } from '../kernel/invariant.ts';
import type { BudgetPath } from '../kernel/names.ts';
import type { Reason } from '../kernel/refusal.ts';
import type { Alternative, CommandKey } from '../kernel/request.ts';
import type { Queued } from '../kernel/reservation.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, objectOf, quote, stringOf } from './json-text.ts';

type Raw = Readonly<Record<string, unknown>>;

/** What is said beside the object: the entry's own. */
export type QueuedBase = Pick<Queued, 'seq' | 'actor' | 'salt' | 'commitment'>;

/** As the entry has it: sequence, actor and commitment are the entry's and not said again. */
export function queuedText({ seq, actor, personal, reservation: { queued } }: Enqueued): string {
  invariant(queued !== undefined, 'a request that was put into the queue waits');
  const isOwn = queued.seq === seq && queued.actor === actor && queued.commitment === personal?.commitment;
  invariant(isOwn, 'a request waits under its own entry');
  return `{${members(queued)}}`;
}

/** Reads what queuedText wrote. Throws CorruptJournalError for anything else. */
export function queuedOf(value: unknown, base: QueuedBase): Queued {
  return waitOf(objectOf(value), base);
}

/** As the row has it: also the path of the budget that it names, which may not be there yet. */
export function queueRowText(path: BudgetPath, queued: Queued): string {
  const commitment = queued.commitment === undefined ? '' : `,"commitment":${quote(queued.commitment)}`;
  return `{"path":${quote(path)},"seq":${integerText(queued.seq)},"by":${quote(queued.actor)}${commitment},${members(queued)}}`;
}

/** Reads what queueRowText wrote; the salt lies elsewhere. Throws CorruptJournalError for anything else. */
export function queueRowOf(value: unknown, salt: string | undefined): readonly [path: BudgetPath, queued: Queued] {
  const raw = objectOf(value);
  const commitment = raw['commitment'] === undefined ? undefined : stringOf(raw['commitment']);
  const base = { seq: integerOf(raw['seq']), actor: stringOf(raw['by']), salt, commitment };
  return [stringOf(raw['path']) as BudgetPath, waitOf(raw, base)];
}

// What is rare is left out.
function members(queued: Queued): string {
  const { untilMs, minMicros, ttlMs, tokens, toolCalls, alternatives, call, key, reason, blockedBy, limit } = queued;
  const choices = alternatives.map(alternativeText);
  return (
    `"until":${integerText(untilMs)},"min":${amountText(minMicros)},` +
    (ttlMs === undefined ? '' : `"ttl":${integerText(ttlMs)},`) +
    (tokens === 0 ? '' : `"tokens":${integerText(tokens)},`) +
    (toolCalls === 0 ? '' : `"toolCalls":${integerText(toolCalls)},`) +
    (choices.length === 0 ? '' : `"alternatives":[${choices.join(',')}],`) +
    (call === undefined ? '' : `"call":${JSON.stringify(call.call)},`) +
    `"key":[${quote(key.digest)},${quote(key.fingerprint)}],"reason":"${reason}","blockedBy":${quote(blockedBy)},` +
    `"limit":${quote(limit)}`
  );
}

function waitOf(raw: Raw, base: QueuedBase): Queued {
  return {
    ...base,
    untilMs: integerOf(raw['until']),
    minMicros: amountOf(raw['min']),
    ttlMs: raw['ttl'] === undefined ? undefined : integerOf(raw['ttl']),
    tokens: raw['tokens'] === undefined ? 0 : integerOf(raw['tokens']),
    toolCalls: raw['toolCalls'] === undefined ? 0 : integerOf(raw['toolCalls']),
    alternatives: raw['alternatives'] === undefined ? [] : arrayOf(raw['alternatives']).map(alternativeOf),
    call: raw['call'] === undefined ? undefined : { kind: 'call', call: objectOf(raw['call']) },
    key: keyOf(raw['key']),
    reason: stringOf(raw['reason']) as Reason,
    blockedBy: stringOf(raw['blockedBy']),
    limit: stringOf(raw['limit']),
  };
}

// A call is plain data, and only pricing knows what is in it.
function alternativeText({ label, maxMicros, call }: Alternative): string {
  const framed = call === undefined ? '' : `,${JSON.stringify(call.call)}`;
  return `[${quote(label)},${amountText(maxMicros)}${framed}]`;
}

function alternativeOf(value: unknown): Alternative {
  const [label, max, call] = arrayOf(value);
  const alternative = { label: stringOf(label), maxMicros: amountOf(max) };
  return call === undefined ? alternative : { ...alternative, call: { kind: 'call', call: objectOf(call) } };
}

function keyOf(value: unknown): CommandKey {
  const [digest, fingerprint] = arrayOf(value, 2);
  return { digest: stringOf(digest), fingerprint: stringOf(fingerprint) };
}
