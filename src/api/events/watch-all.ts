// A watch of all trees. There is no order between trees, so a watch stands somewhere in each; its cursor says so by time where
// that is certain (all that old is committed, see SETTLED_MS) and tree by tree where it is not.
//
// A pass looks through the heads of the trees that have moved since `fromMs`, in the order of their ids, and reads each to its
// end; when it is over, `fromMs` is what was certain as it began. Between passes trees are read as they are noted.
import type { TreeId } from '../../kernel/names.ts';
import type { ReadModels, TreeHead } from '../../store/reads.ts';
import type { ApiLog } from '../api-log.ts';
import type { AllPlace, Position } from './event-cursor.ts';
import type { EventPage } from './tree-events.ts';
import { Responder, type Responses, type WatchSurroundings } from './watch.ts';
import { SETTLED_MS } from './watch-limits.ts';

// A page of heads is read in some milliseconds; 1,000 of them have about 60 kB.
const HEADS_AT_ONCE = 1_000;

/** A pass may take a twentieth of the time: the heads of 100,000 trees are 20 ms of the database's. */
const PASS_REST_FACTOR = 20;

/** What a watch of all trees reads. */
export interface AllReads {
  readonly heads: Pick<ReadModels, 'treeHeads' | 'seqThrough'>;
  readonly pageAfter: (treeId: TreeId, after: Position) => Promise<EventPage | undefined>;
  readonly log: ApiLog;
}

// Where it is not known: later than anything, so that the tree stays listed.
const UNKNOWN_MS = Number.MAX_SAFE_INTEGER;

interface Listed extends Position {
  /** Time of the last entry that was told. */
  readonly atMs: number;
}

/** Watches all trees from a place on. */
export function watchAll(around: WatchSurroundings, reads: AllReads, start: AllPlace, isNow: boolean): Responses {
  return new AllWatch(around, reads, start).responses(isNow);
}

/** Where a watch of all trees begins that begins now: what has moved lately is listed at its end. */
export async function placeNow({ heads }: Pick<AllReads, 'heads'>, nowMs: number): Promise<AllPlace> {
  const fromMs = Math.max(0, nowMs - SETTLED_MS);
  const listed = new Map<TreeId, Position>();
  for await (const { treeId, seq } of movedHeads(heads, undefined, fromMs)) listed.set(treeId, { seq, told: 0 });
  return { kind: 'all', fromMs, through: '', throughMs: 0, listed };
}

async function* movedHeads(
  heads: AllReads['heads'],
  after: TreeId | undefined,
  movedAfterMs: number,
): AsyncGenerator<TreeHead> {
  for (let from = after; ; ) {
    const page = await heads.treeHeads(from, HEADS_AT_ONCE, movedAfterMs);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < HEADS_AT_ONCE) return;
    from = last.treeId;
  }
}

class AllWatch {
  readonly #around: WatchSurroundings;
  readonly #reads: AllReads;
  readonly #responder: Responder;
  readonly #listed = new Map<TreeId, Listed>();
  /** Trees that can't be read: each stays where it is. */
  readonly #broken = new Set<TreeId>();
  #fromMs: number;
  #through: TreeId | '';
  #throughMs: number;

  constructor(around: WatchSurroundings, reads: AllReads, { fromMs, through, throughMs, listed }: AllPlace) {
    this.#around = around;
    this.#reads = reads;
    this.#responder = new Responder(around);
    this.#fromMs = fromMs;
    this.#through = through;
    this.#throughMs = throughMs;
    // When its last entry was is not known: it stays until the next time it is read.
    for (const [treeId, position] of listed) this.#listed.set(treeId, { ...position, atMs: UNKNOWN_MS });
  }

  async *responses(isNow: boolean): Responses {
    let toldCaughtUp = isNow;
    let passMs = 0;
    yield this.#responder.respond([], this.#place(), isNow);
    for (let noted: ReadonlySet<TreeId> | undefined; ; ) {
      const startMs = performance.now();
      // What says that all has been told must have looked.
      if (startMs >= passMs || this.#responder.isDue) noted = undefined;
      const isWhole = noted === undefined && this.#through === '';
      if (noted === undefined) {
        this.#around.notes.take();
        yield* this.#pass();
        const tookMs = performance.now() - startMs;
        // The rest of one that was broken off says nothing of the trees before it.
        passMs = isWhole ? performance.now() + Math.max(this.#responder.pollMs, tookMs * PASS_REST_FACTOR) : 0;
      } else for (const treeId of noted) yield* this.#follow(treeId);
      const { end } = this.#responder;
      if (end !== undefined) return end.status;
      if (isWhole && (!toldCaughtUp || this.#responder.isDue)) {
        toldCaughtUp = true;
        yield this.#responder.respond([], this.#place(), true);
      }
      await this.#responder.rest(passMs - performance.now());
      noted = this.#around.notes.take();
    }
  }

  async *#pass(): AsyncGenerator<ReturnType<Responder['respond']>> {
    const { heads } = this.#reads;
    // A pass that was broken off goes on with what was certain when it began.
    if (this.#through === '') this.#throughMs = Math.max(this.#fromMs, this.#around.nowMs() - SETTLED_MS);
    for await (const { treeId, seq, atMs } of movedHeads(heads, this.#through || undefined, this.#fromMs)) {
      const position = await this.#positionOf(treeId);
      if (seq > position.seq) yield* this.#follow(treeId, position);
      else this.#seen(treeId, atMs);
      if (this.#responder.end !== undefined) return;
      this.#through = treeId;
    }
    // Those that a cursor listed although they have not moved lately: they could not be read.
    for (const [treeId, { atMs }] of this.#listed) if (atMs === UNKNOWN_MS) yield* this.#follow(treeId);
    if (this.#responder.end !== undefined) return;
    this.#fromMs = this.#throughMs;
    this.#through = '';
    // All of them have been read to an end that was not there before `fromMs`.
    for (const [treeId, { atMs }] of this.#listed) {
      if (atMs <= this.#fromMs && !this.#broken.has(treeId)) this.#listed.delete(treeId);
    }
  }

  // A position that a cursor brought says nothing of its time.
  #seen(treeId: TreeId, atMs: number): void {
    const listed = this.#listed.get(treeId);
    if (listed !== undefined) this.#listed.set(treeId, { ...listed, atMs });
  }

  async *#follow(treeId: TreeId, from?: Position): AsyncGenerator<ReturnType<Responder['respond']>> {
    let position = from ?? (await this.#positionOf(treeId));
    for (;;) {
      if (this.#broken.has(treeId) || this.#responder.end !== undefined) return;
      const page = await this.#page(treeId, position);
      if (page === undefined) return;
      for (const response of this.#responder.pages(page, (at) => this.#place(treeId, at), 'last')) yield response;
      ({ position } = page);
      this.#listed.set(treeId, { ...position, atMs: page.atMs });
      if (this.#responder.isDue) yield this.#responder.respond([], this.#place());
    }
  }

  // One tree whose journal can't be read must not keep the others from being told.
  async #page(treeId: TreeId, position: Position): Promise<EventPage | undefined> {
    try {
      return await this.#reads.pageAfter(treeId, position);
    } catch (cause) {
      // The class belongs to the store's room; its name is what the read models promise.
      if (!(cause instanceof Error) || cause.name !== 'CorruptJournalError') throw cause;
      this.#reads.log.error({ err: cause, treeId }, 'a watch leaves out a tree whose journal cannot be read');
      this.#broken.add(treeId);
      this.#listed.set(treeId, { ...position, atMs: UNKNOWN_MS });
      return undefined;
    }
  }

  async #positionOf(treeId: TreeId): Promise<Position> {
    const listed = this.#listed.get(treeId);
    if (listed !== undefined) return listed;
    const atMs = this.#through !== '' && treeId <= this.#through ? this.#throughMs : this.#fromMs;
    const seq = atMs === 0 ? 0 : await this.#reads.heads.seqThrough(treeId, atMs);
    return { seq, told: 0 };
  }

  #place(treeId?: TreeId, position?: Position): AllPlace {
    const listed = new Map<TreeId, Position>(this.#listed);
    if (treeId !== undefined && position !== undefined) listed.set(treeId, position);
    return { kind: 'all', fromMs: this.#fromMs, through: this.#through, throughMs: this.#throughMs, listed };
  }
}
