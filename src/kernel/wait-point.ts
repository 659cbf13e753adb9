// One point of the wait queue (wait-queue.ts): the heads of lines that wait at it, in their order. Shares are reckoned when somebody looks,
// and only those that have changed.
import { PRIORITIES } from './enforcement.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import type { BudgetPath, ReservationId } from './names.ts';
import { childAt, isAhead, lessOf, RANK_MAX, type Share, type Standing, type Waiting } from './wait-order.ts';

/**
 * What can be short: a limit, a rate (`no` is theirs) or the slots (0) of a budget, or the share that it may use of a limit of the
 * budget above (`no` is that limit's). By path: a budget that a grant will make has no number yet.
 */
export interface PointName {
  readonly budget: BudgetPath;
  readonly kind: 'limit' | 'share' | 'rate' | 'slots';
  readonly no: number;
}

/** Says apart those to whom different parts of a limit are open: floors, and what is kept for a class. */
export type ViewOf = (line: WaitLine) => string;

/** Those that ask the same in the same class, first come first. */
export class WaitLine {
  readonly key: string;
  readonly paths: readonly BudgetPath[];
  readonly #waiting = new Map<ReservationId, Waiting>();
  // Asked for all the time, and a map whose first ones have gone is slow to say which is the first now.
  #head: Waiting | undefined;
  /** Of the last that came. */
  lastSeq = 0;
  readonly places: Place[] = [];
  /** When it has to be looked at again though nothing happens. */
  wakeMs = Number.POSITIVE_INFINITY;

  constructor(key: string, { budget, also }: Waiting) {
    this.key = key;
    this.paths = [budget, ...also];
  }

  get head(): Waiting {
    invariant(this.#head !== undefined, 'a line that is empty is gone');
    return this.#head;
  }

  get isEmpty(): boolean {
    return this.#head === undefined;
  }

  /** Adds one that comes after all of them. */
  push(waiting: Waiting): void {
    this.#waiting.set(waiting.id, waiting);
    this.#head ??= waiting;
  }

  /** Adds one where its sequence says. */
  insert(waiting: Waiting): void {
    const all = [...this.#waiting.values(), waiting].sort((a, b) => a.queued.seq - b.queued.seq);
    this.#waiting.clear();
    for (const each of all) this.#waiting.set(each.id, each);
    this.#head = all[0];
  }

  delete(waiting: Waiting): void {
    this.#waiting.delete(waiting.id);
    if (this.#head === waiting) this.#head = this.#waiting.values().next().value;
  }
}

/** Where the head of a line stands. */
export interface Place {
  readonly point: WaitPoint;
  readonly child: WaitChild;
}

/** The heads at a point that come through one child, in one class. */
export class WaitChild {
  readonly path: string;
  readonly rank: number;
  share: Share;
  readonly lines = new IndexedHeap<WaitLine>((a, b) => a.head.queued.seq < b.head.queued.seq);

  constructor(path: string, rank: number, share: Share) {
    this.path = path;
    this.rank = rank;
    this.share = share;
  }

  get seq(): number {
    const first = this.lines.top;
    invariant(first !== undefined, 'a child without lines is gone');
    return first.head.queued.seq;
  }
}

function childIsAhead(a: WaitChild, b: WaitChild): boolean {
  const less = lessOf(a.share, b.share);
  return less === 0 ? a.seq < b.seq : less < 0;
}

/** What a child of a budget has had at an instant. */
export type ShareOf = (budget: BudgetPath, child: string, atMs: number) => Share;

/** How often shares are reckoned anew for the time that has passed. */
export const SHARE_STEP_MS = 10_000;

/** See the head of this file. */
export class WaitPoint implements PointName {
  readonly budget: BudgetPath;
  readonly kind: PointName['kind'];
  readonly no: number;
  readonly #shareOf: ShareOf;
  readonly #overtaken: (point: WaitPoint) => void;
  /** By rank. */
  readonly #children = PRIORITIES.map(() => new IndexedHeap<WaitChild>(childIsAhead));
  readonly #byPath = PRIORITIES.map(() => new Map<string, WaitChild>());
  /** Children that have had more, or less, since their shares were reckoned. */
  readonly #moved = new Set<string>();
  #step = -1;

  /** `overtaken`: called when another line comes first here because of shares alone, whoever made them be reckoned anew. */
  constructor({ budget, kind, no }: PointName, shareOf: ShareOf, overtaken: (point: WaitPoint) => void) {
    this.budget = budget;
    this.kind = kind;
    this.no = no;
    this.#shareOf = shareOf;
    this.#overtaken = overtaken;
  }

  get isEmpty(): boolean {
    return this.#children.every(({ size }) => size === 0);
  }

  get firstLine(): WaitLine | undefined {
    return this.#firstChild?.lines.top;
  }

  first(nowMs: number): Standing | undefined {
    this.bringForward(nowMs);
    const child = this.#firstChild;
    return child && { rank: child.rank, child: child.path, share: child.share, seq: child.seq };
  }

  shareOf(child: string, nowMs: number): Share {
    this.bringForward(nowMs);
    return this.#share(child);
  }

  get #firstChild(): WaitChild | undefined {
    for (let rank = RANK_MAX; rank >= 0; rank -= 1) {
      const child = this.#children[rank]?.top;
      if (child !== undefined) return child;
    }
    return undefined;
  }

  /** The first of those whose view is none of these; undefined where there is none. */
  firstOther(viewOf: ViewOf, views: ReadonlySet<string>): WaitLine | undefined {
    let found: { readonly line: WaitLine; readonly standing: Standing } | undefined;
    for (const [line, standing] of this.#all()) {
      if (views.has(viewOf(line)) || (found !== undefined && !isAhead(standing, found.standing))) continue;
      found = { line, standing };
    }
    return found?.line;
  }

  /** Those who come before a standing at `nowMs`, one of each view. */
  aheadOf(standing: Standing, viewOf: ViewOf, nowMs: number): WaitLine[] {
    this.bringForward(nowMs);
    const byView = new Map<string, WaitLine>();
    for (const [line, other] of this.#all()) if (isAhead(other, standing)) byView.set(viewOf(line), line);
    return [...byView.values()];
  }

  *#all(): Generator<readonly [WaitLine, Standing]> {
    for (const children of this.#children) {
      for (const { rank, path, share, lines } of children.items) {
        for (const line of lines.items) yield [line, { rank, child: path, share, seq: line.head.queued.seq }];
      }
    }
  }

  childMoved(path: string): void {
    this.#moved.add(path);
  }

  /** Reckons shares anew where they have changed. */
  bringForward(nowMs: number): void {
    const before = this.firstLine;
    this.#reckon(nowMs);
    if (this.firstLine !== before) this.#overtaken(this);
  }

  #reckon(nowMs: number): void {
    const step = Math.floor(nowMs / SHARE_STEP_MS);
    if (step !== this.#step) {
      this.#step = step;
      this.#moved.clear();
      for (const children of this.#children) {
        for (const child of children.items) child.share = this.#share(child.path);
        children.movedAll();
      }
      return;
    }
    if (this.#moved.size === 0) return;
    for (const path of this.#moved) {
      for (const [rank, byPath] of this.#byPath.entries()) {
        const child = byPath.get(path);
        if (child === undefined) continue;
        child.share = this.#share(path);
        this.#children[rank]?.moved(child);
      }
    }
    this.#moved.clear();
  }

  add(line: WaitLine, rank: number): void {
    const path = childAt(this.budget, line.paths) ?? '';
    const byPath = this.#byPath[rank] as Map<string, WaitChild>;
    const heap = this.#children[rank] as IndexedHeap<WaitChild>;
    const known = byPath.get(path);
    const child = known ?? new WaitChild(path, rank, this.#share(path));
    child.lines.add(line);
    if (known === undefined) {
      byPath.set(path, child);
      heap.add(child);
    } else heap.moved(child);
    line.places.push({ point: this, child });
  }

  remove(line: WaitLine, child: WaitChild): void {
    const heap = this.#children[child.rank] as IndexedHeap<WaitChild>;
    // Out of its heap first: a child without lines compares with nothing.
    heap.remove(child);
    child.lines.remove(line);
    if (child.lines.size > 0) heap.add(child);
    else this.#byPath[child.rank]?.delete(child.path);
  }

  #share(child: string): Share {
    return this.#shareOf(this.budget, child, Math.max(0, this.#step) * SHARE_STEP_MS);
  }
}

/** Whether two names are of one point. */
export function isSame(a: PointName, b: PointName): boolean {
  return a.budget === b.budget && a.kind === b.kind && a.no === b.no;
}

/** Whether of two lines that claim one has its turn before the other: the more urgent, then who came first. One without places waits for nothing. */
export function goesBefore(a: WaitLine, b: WaitLine): boolean {
  const [rankA, rankB] = [rankIn(a), rankIn(b)];
  return rankA === rankB ? a.head.queued.seq < b.head.queued.seq : rankA > rankB;
}

function rankIn({ places }: WaitLine): number {
  return places[0]?.child.rank ?? Number.POSITIVE_INFINITY;
}
