// How a caller's wait for room ended, in few words. Its own file because what a caller is told says more than that: a reason that
// judged nothing about its request means that it may come back to its place.
import type { Answer } from '../kernel/answer.ts';
import type { Reason } from '../kernel/refusal.ts';

/**
 * `granted`; `timeout`: its `max_wait` was over; `left`: it went by itself, or what it waited for was released; `refused`: for a
 * reason that waiting does not cure; `sent_away`: it is not awaited here any longer, and may ask for its place again.
 */
export type WaitEnd = 'granted' | 'timeout' | 'left' | 'refused' | 'sent_away';

const ENDS: Readonly<Partial<Record<Reason, WaitEnd>>> = {
  QUEUE_TIMEOUT: 'timeout',
  RESERVATION_RELEASED: 'left',
  NOT_LEADER: 'sent_away',
  STORE_UNAVAILABLE: 'sent_away',
  CONTENTION: 'sent_away',
};

/** What the answer that ends a wait says of it. */
export function waitEndOf(answer: Answer): WaitEnd {
  return answer.kind === 'refusal' ? (ENDS[answer.reason] ?? 'refused') : 'granted';
}
