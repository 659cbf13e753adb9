// EventService: watches over the journal, whoever leads.
import type { EventService, WatchEventsRequest } from '../../gen/budgetd/v1/event_pb.ts';
import { treeOf } from '../../kernel/names.ts';
import { type ApiRefusal, forbidden, invalidFields, isRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { judgeList } from '../auth/permissions.ts';
import type { CallStatus } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import { CommitNotes } from '../events/commit-notes.ts';
import type { AllPlace, TreePlace } from '../events/event-cursor.ts';
import { BehindError, TreeEvents } from '../events/tree-events.ts';
import { type Responses, type WatchSurroundings, watchTree } from '../events/watch.ts';
import { placeNow, watchAll } from '../events/watch-all.ts';
import { WATCH_LIMITS } from '../events/watch-limits.ts';
import { checkWatch, type WatchRequest } from '../validate/watch-request.ts';
import type { StreamContext, StreamHandlers } from './handler.ts';
import { readOrRefuse, storeRefusal } from './list-page.ts';
import type { ServiceDeps } from './service-deps.ts';

const BEHIND: ApiRefusal = {
  kind: 'refusal',
  reason: 'STORE_UNAVAILABLE',
  message: 'the tables that readers query are behind the journal: resume with the last cursor',
  retryAfterMs: 1_000,
};

function judge(actor: Actor, { budget }: WatchRequest): ApiRefusal | undefined {
  // All trees are for those who look after them: an agent names the one that it works in.
  if (budget === undefined && actor.role === 'agent') return forbidden();
  return judgeList(actor, budget);
}

type Started = { readonly place: TreePlace | AllPlace; readonly isNow: boolean };

async function startOf(
  { reads, coordinator }: ServiceDeps,
  { budget, start }: WatchRequest,
): Promise<Started | ApiRefusal> {
  if (typeof start === 'object' && start.kind === 'all') return { place: start, isNow: false };
  if (budget === undefined) {
    if (start === 'now') return { place: await placeNow({ heads: reads }, coordinator.nowMs()), isNow: true };
    return { place: { kind: 'all', fromMs: 0, through: '', throughMs: 0, listed: new Map() }, isNow: false };
  }
  const treeId = treeOf(budget);
  const treePlace = (seq: number): TreePlace => ({ kind: 'tree', treeId, position: { seq, told: 0 } });
  if (start === 'beginning') return { place: treePlace(0), isNow: false };
  const headSeq = await reads.seqThrough(treeId);
  if (start === 'now') return { place: treePlace(headSeq), isNow: true };
  // As after the database was set back: what comes until then would be left out without a word.
  if (start.position.seq > headSeq) {
    return invalidFields([{ field: 'cursor', description: 'is past the end of the journal' }]);
  }
  return { place: start, isNow: false };
}

// A journal that cannot be read: the tree is out of service, or will be as soon as its writer notices.
function quarantined(): ApiRefusal {
  return { kind: 'refusal', reason: 'TREE_QUARANTINED', message: 'the journal of this tree cannot be read' };
}

function endOf(cause: unknown, log: ServiceDeps['log']): CallStatus | undefined {
  if (cause instanceof BehindError) return refusalStatus(BEHIND);
  if (!(cause instanceof Error)) return undefined;
  if (cause.name === 'CorruptJournalError') {
    log.error({ err: cause }, 'a watch ends: the journal of its tree cannot be read');
    return refusalStatus(quarantined());
  }
  const refusal = storeRefusal(cause, log);
  return refusal && refusalStatus(refusal);
}

/** The handlers of EventService. */
export function createEventService(deps: ServiceDeps): StreamHandlers<typeof EventService> {
  const { coordinator, reads, log, watchLimits: limits = WATCH_LIMITS } = deps;
  const treeEvents = new TreeEvents(reads);
  const pageAfter = treeEvents.pageAfter.bind(treeEvents);

  async function* watch(
    actor: Actor,
    { budget, kinds }: WatchRequest,
    started: Started,
    signal: AbortSignal,
  ): Responses {
    const notes = new CommitNotes();
    const treeId = budget && treeOf(budget);
    const stopListening = coordinator.onCommitted((committed) => {
      if (treeId === undefined || treeId === committed) notes.note(committed);
    });
    const onAbort = () => notes.wake();
    signal.addEventListener('abort', onAbort);
    const around: WatchSurroundings = {
      watched: { actor, budget, kinds },
      limits,
      notes,
      signal,
      nowMs: () => coordinator.nowMs(),
      isLeader: () => coordinator.status().leader,
    };
    const { place, isNow } = started;
    try {
      return place.kind === 'tree'
        ? yield* watchTree(around, pageAfter, place, isNow)
        : yield* watchAll(around, { heads: reads, pageAfter, log }, place, isNow);
    } catch (cause) {
      const status = endOf(cause, log);
      if (status === undefined) throw cause;
      return status;
    } finally {
      stopListening();
      signal.removeEventListener('abort', onAbort);
    }
  }

  return {
    watchEvents: async (request: WatchEventsRequest, { actor, signal }: StreamContext) => {
      const asked = checkWatch(request);
      if (isRefusal(asked)) return asked;
      const denied = judge(actor, asked);
      if (denied !== undefined) return denied;
      const started = await readOrRefuse(startOf(deps, asked), log);
      if (isRefusal(started)) return started;
      return isRefusal(started.value) ? started.value : watch(actor, asked, started.value, signal);
    },
  };
}
