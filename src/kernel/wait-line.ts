// Which line of the wait queue a request stands in, and where it is counted.
import { type BudgetPath, chainOf } from './names.ts';
import type { Reservation } from './reservation.ts';
import type { Waiting } from './wait-order.ts';

/** Whoever can do with nothing of the money, or uses no tokens, is not held back by one that waits for them: it is another line. */
export function lineKey({ id, budget, also, priority, queued }: Waiting): string {
  const { minMicros, tokens, toolCalls, alternatives } = queued;
  const own = alternatives.some(({ maxMicros }) => maxMicros === 0n) ? id : '';
  const uses = `${tokens > 0 ? 't' : ''}${toolCalls > 0 ? 'c' : ''}${minMicros === 0n ? '0' : ''}`;
  return `${priority} ${uses} ${own} ${budget} ${also.join(' ')}`;
}

/** Every path that a waiting one counts at, each once. */
export function pathsOf({ budget, also }: Reservation): readonly BudgetPath[] {
  return also.length === 0 ? chainOf(budget) : [...new Set([budget, ...also].flatMap(chainOf))];
}
