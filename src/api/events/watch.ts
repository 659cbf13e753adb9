// A watch: responses one after the other, each made when it is asked for. What a watch holds while its reader is slow is one
// page of one journal.
import type { Event, EventKind, WatchEventsResponse } from '../../gen/budgetd/v1/event_pb.ts';
import { Code } from '../../gen/google/rpc/code_pb.ts';
import type { BudgetPath, TreeId } from '../../kernel/names.ts';
import type { Actor } from '../auth/actor.ts';
import { seesBudget } from '../auth/permissions.ts';
import { timestampFromMs } from '../encode/time.ts';
import { bareStatus, type CallStatus } from '../errors/call-status.ts';
import type { CommitNotes } from './commit-notes.ts';
import { encodeCursor, type Place, type Position, type TreePlace } from './event-cursor.ts';
import type { EventPage, PlacedEvent } from './tree-events.ts';
import { EVENTS_PER_RESPONSE, type WatchLimits } from './watch-limits.ts';

/** The responses of a watch; what it ends with is undefined where nobody asks any more. */
export type Responses = AsyncGenerator<WatchEventsResponse, CallStatus | undefined>;

/** What is watched. */
export interface WatchedEvents {
  readonly actor: Actor;
  /** The subtree; undefined: everything. */
  readonly budget: BudgetPath | undefined;
  /** Undefined: all. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
}

/** What a watch needs from around it. */
export interface WatchSurroundings {
  readonly watched: WatchedEvents;
  readonly limits: WatchLimits;
  readonly notes: CommitNotes;
  /** Set once nobody asks any more, or the server stops. */
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly isLeader: () => boolean;
}

const TOO_OLD = bareStatus(Code.UNAVAILABLE, 'the watch has reached its age: open another with the last cursor');

/** Builds responses and knows when the next one is due. */
export class Responder {
  readonly #around: WatchSurroundings;
  readonly #untilMs: number;
  #sentMs = performance.now();

  constructor(around: WatchSurroundings) {
    this.#around = around;
    // Spread by a tenth either way, as the ages of Sessions are.
    this.#untilMs = performance.now() + around.limits.ageMs * (0.9 + Math.random() * 0.2);
  }

  /** Whether the watch has to end, and with what. */
  get end(): { readonly status: CallStatus | undefined } | undefined {
    if (this.#around.signal.aborted) return { status: undefined };
    return performance.now() >= this.#untilMs ? { status: TOO_OLD } : undefined;
  }

  /** Whether there was none for so long that one without events is due. */
  get isDue(): boolean {
    return performance.now() - this.#sentMs >= this.#around.limits.keepAliveMs;
  }

  /** Waits for a note, the next look, the next response that is due, or the end. */
  async rest(pollMs: number): Promise<void> {
    const nowMs = performance.now();
    const dueMs = this.#sentMs + this.#around.limits.keepAliveMs - nowMs;
    await this.#around.notes.wait(Math.min(pollMs, dueMs, this.#untilMs - nowMs));
  }

  /** How long the watch may go without a look of its own. */
  get pollMs(): number {
    const { limits, isLeader } = this.#around;
    return isLeader() ? limits.leaderPollMs : limits.pollMs;
  }

  /** A response. */
  respond(events: readonly Event[], place: Place, caughtUp = false): WatchEventsResponse {
    this.#sentMs = performance.now();
    const { nowMs } = this.#around;
    return {
      $typeName: 'budgetd.v1.WatchEventsResponse',
      events: [...events],
      cursor: encodeCursor(place),
      time: timestampFromMs(nowMs()),
      caughtUp,
    };
  }

  /**
   * A page as responses; `placeAt` says where the watch stands after an event of it, and at its end; `cursors`, which events of
   * a response have one of their own.
   */
  *pages(
    { events, position }: EventPage,
    placeAt: (at: Position) => Place,
    cursors: 'each' | 'last',
  ): Generator<WatchEventsResponse> {
    const { watched } = this.#around;
    const wanted = events.filter(({ event }) => isWanted(event, watched));
    for (let at = 0; at < wanted.length; at += EVENTS_PER_RESPONSE) {
      const some = wanted.slice(at, at + EVENTS_PER_RESPONSE);
      // What follows of the page and was not wanted is behind the last one.
      const isLast = at + EVENTS_PER_RESPONSE >= wanted.length;
      yield this.respond(withCursors(some, placeAt, cursors), placeAt(isLast ? position : lastOf(some).position));
    }
  }
}

function withCursors(
  events: readonly PlacedEvent[],
  placeAt: (at: Position) => Place,
  cursors: 'each' | 'last',
): Event[] {
  return events.map(({ event, position }, index) => {
    const hasCursor = cursors === 'each' || index === events.length - 1;
    return hasCursor ? { ...event, cursor: encodeCursor(placeAt(position)) } : event;
  });
}

function lastOf(events: readonly PlacedEvent[]): PlacedEvent {
  const last = events.at(-1);
  if (last === undefined) throw new TypeError('no events');
  return last;
}

function isWanted({ kind, budget }: Event, { actor, budget: root, kinds }: WatchedEvents): boolean {
  if (kinds !== undefined && !kinds.has(kind)) return false;
  const path = budget as BudgetPath;
  if (root !== undefined && path !== root && !path.startsWith(`${root}/`)) return false;
  return seesBudget(actor, path);
}

/** Watches the tree of one budget from a place on. */
export async function* watchTree(
  around: WatchSurroundings,
  read: (treeId: TreeId, after: Position) => Promise<EventPage | undefined>,
  start: TreePlace,
  isNow: boolean,
): Responses {
  const responder = new Responder(around);
  const { treeId } = start;
  const placeAt = (position: Position): Place => ({ kind: 'tree', treeId, position });
  let { position } = start;
  let toldCaughtUp = isNow;
  yield responder.respond([], start, isNow);
  for (;;) {
    const { end } = responder;
    if (end !== undefined) return end.status;
    around.notes.take();
    const page = await read(treeId, position);
    if (page !== undefined) {
      ({ position } = page);
      yield* responder.pages(page, placeAt, 'each');
      if (responder.isDue) yield responder.respond([], placeAt(position));
    } else if (!toldCaughtUp || responder.isDue) {
      toldCaughtUp = true;
      yield responder.respond([], placeAt(position), true);
    } else await responder.rest(responder.pollMs);
  }
}
