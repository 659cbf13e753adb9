// Counts the alerts that a budget has had, as any client would: from the beginning of its journal to where that ends now.
import { EventKind, EventService } from '../../../src/gen/budgetd/v1/event_pb.ts';
import type { RpcClient } from './rpc-client.ts';

/** Alerts of one budget, those of the budgets below it left out. Rejects with the stream's status where it ends before. */
export async function countAlerts(rpc: RpcClient, budget: string): Promise<number> {
  let count = 0;
  const responses = rpc.stream(EventService.method.watchEvents, {
    budget,
    kinds: [EventKind.ALERT],
    start: { case: 'fromBeginning', value: true },
  });
  for await (const response of responses) {
    count += response.events.filter((event) => event.budget === budget).length;
    if (response.caughtUp) return count;
  }
  throw new Error('the watch ended with OK before it had caught up');
}
