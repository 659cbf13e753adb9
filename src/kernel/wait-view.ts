// Heads of lines that wait at one point and to whom the same of it is open, in their order: the higher class first, then the child that
// has had least for its weight, then first come. Its own file because a point has one of them or many, and they are alike;
// lines are here as well, which know their places.
import { PRIORITIES } from './enforcement.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import type { BudgetPath, ReservationId } from './names.ts';
import { lessOf, RANK_MAX, type Share, type Standing, type Waiting } from './wait-order.ts';

/**
 * What can be short: a limit, a rate (`no` is theirs) or the slots (0) of a budget, or the share that it may use of a limit of the
 * budget above (`no` is that limit's). By path: a budget that a grant will make has no number yet.
 */
export interface PointName {
  readonly budget: BudgetPath;
  readonly kind: 'limit' | 'share' | 'rate' | 'slots';
  readonly no: number;
}

/** What a place knows of its point (wait-point.ts). */
export interface PlacePoint extends PointName {
  readonly isEmpty: boolean;
  readonly firstLine: WaitLine | undefined;
  refresh(): void;
  bringForward(nowMs: number): void;
  remove(line: WaitLine, child: WaitChild): void;
}

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

  /** All of them, first come first. */
  all(): IterableIterator<Waiting> {
    return this.#waiting.values();
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
  readonly point: PlacePoint;
  readonly child: WaitChild;
}

/** The heads of a view that come through one child, in one class. */
export class WaitChild {
  readonly view: WaitView;
  readonly path: string;
  readonly rank: number;
  share: Share;
  readonly lines = new IndexedHeap<WaitLine>((a, b) => a.head.queued.seq < b.head.queued.seq);

  constructor(view: WaitView, path: string, rank: number, share: Share) {
    this.view = view;
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

/** See the head of this file. */
export class WaitView {
  readonly point: PlacePoint;
  readonly key: string;
  /** By rank. */
  readonly #children = PRIORITIES.map(() => new IndexedHeap<WaitChild>(childIsAhead));
  readonly #byPath = PRIORITIES.map(() => new Map<string, WaitChild>());

  constructor(point: PlacePoint, key: string) {
    this.point = point;
    this.key = key;
  }

  get isEmpty(): boolean {
    return this.firstChild === undefined;
  }

  get firstChild(): WaitChild | undefined {
    for (let rank = RANK_MAX; rank >= 0; rank -= 1) {
      const child = this.#children[rank]?.top;
      if (child !== undefined) return child;
    }
    return undefined;
  }

  get firstLine(): WaitLine | undefined {
    return this.firstChild?.lines.top;
  }

  /** How its first one stands; undefined where it is empty. */
  get first(): Standing | undefined {
    const child = this.firstChild;
    return child && { rank: child.rank, child: child.path, share: child.share, seq: child.seq };
  }

  /** All of them, in no order. */
  *children(): Generator<WaitChild> {
    for (const children of this.#children) yield* children.items;
  }

  /** Those of one child. */
  childrenAt(path: string): WaitChild[] {
    return this.#byPath.flatMap((byPath) => byPath.get(path) ?? []);
  }

  /** Adds a line; `share`: what its child has had. */
  add(line: WaitLine, rank: number, path: string, share: () => Share): WaitChild {
    const byPath = this.#byPath[rank] as Map<string, WaitChild>;
    const heap = this.#children[rank] as IndexedHeap<WaitChild>;
    const known = byPath.get(path);
    const child = known ?? new WaitChild(this, path, rank, share());
    child.lines.add(line);
    if (known === undefined) {
      byPath.set(path, child);
      heap.add(child);
    } else heap.moved(child);
    return child;
  }

  remove(line: WaitLine, child: WaitChild): void {
    const heap = this.#children[child.rank] as IndexedHeap<WaitChild>;
    // Out of its heap first: a child without lines compares with nothing.
    heap.remove(child);
    child.lines.remove(line);
    if (child.lines.size > 0) heap.add(child);
    else this.#byPath[child.rank]?.delete(child.path);
  }

  /** Takes note of what a child has had. The point puts its views into order itself. */
  reckoned(child: WaitChild, share: Share): void {
    child.share = share;
    this.#children[child.rank]?.moved(child);
  }
}

/** Whether the first of a view comes before that of another one; neither is empty. */
export function viewIsAhead({ firstChild: a }: WaitView, { firstChild: b }: WaitView): boolean {
  invariant(a !== undefined && b !== undefined, 'a view without lines is gone');
  return a.rank === b.rank ? childIsAhead(a, b) : a.rank > b.rank;
}

/** Whether of two lines that claim one has its turn before the other: the more urgent, then who came first. One without places waits for nothing. */
export function goesBefore(a: WaitLine, b: WaitLine): boolean {
  const [rankA, rankB] = [rankIn(a), rankIn(b)];
  return rankA === rankB ? a.head.queued.seq < b.head.queued.seq : rankA > rankB;
}

function rankIn({ places }: WaitLine): number {
  return places[0]?.child.rank ?? Number.POSITIVE_INFINITY;
}
