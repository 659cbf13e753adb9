// Heads of lines that wait at one point and to whom the same of it is open, in their order: the higher class first, then the child that
// has had least for its weight, then first come. Its own file because a point has one of them or many, and they are alike.
import { PRIORITIES } from './enforcement.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import type { WaitLine } from './wait-line.ts';
import { lessOf, RANK_MAX, type Share, type Standing } from './wait-order.ts';

/** The heads of a view that come through one child, in one class. */
export class WaitChild<Line extends WaitLine> {
  readonly view: WaitView<Line>;
  readonly path: string;
  readonly rank: number;
  share: Share;
  readonly lines = new IndexedHeap<Line>((a, b) => a.head.queued.seq < b.head.queued.seq);

  constructor(view: WaitView<Line>, path: string, rank: number, share: Share) {
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

function childIsAhead<Line extends WaitLine>(a: WaitChild<Line>, b: WaitChild<Line>): boolean {
  const less = lessOf(a.share, b.share);
  return less === 0 ? a.seq < b.seq : less < 0;
}

/** See the head of this file. */
export class WaitView<Line extends WaitLine> {
  readonly key: string;
  /** By rank. */
  readonly #children = PRIORITIES.map(() => new IndexedHeap<WaitChild<Line>>(childIsAhead));
  readonly #byPath = PRIORITIES.map(() => new Map<string, WaitChild<Line>>());
  #childCount = 0;
  #fadingCount = 0;

  constructor(key: string) {
    this.key = key;
  }

  get isEmpty(): boolean {
    return this.firstChild === undefined;
  }

  get firstChild(): WaitChild<Line> | undefined {
    for (let rank = RANK_MAX; rank >= 0; rank -= 1) {
      const child = this.#children[rank]?.top;
      if (child !== undefined) return child;
    }
    return undefined;
  }

  get firstLine(): Line | undefined {
    return this.firstChild?.lines.top;
  }

  /** How its first one stands; undefined where it is empty. */
  get first(): Standing | undefined {
    const child = this.firstChild;
    return child && { rank: child.rank, child: child.path, share: child.share, seq: child.seq };
  }

  get childCount(): number {
    return this.#childCount;
  }

  /** Of how many children what they have had counts less as time goes. */
  get fadingCount(): number {
    return this.#fadingCount;
  }

  /** All of them, in no order. */
  *children(): Generator<WaitChild<Line>> {
    for (const children of this.#children) yield* children.items;
  }

  /** Those of one child. */
  childrenAt(path: string): WaitChild<Line>[] {
    return this.#byPath.flatMap((byPath) => byPath.get(path) ?? []);
  }

  /** Adds a line; `share`: what its child has had. */
  add(line: Line, rank: number, path: string, share: () => Share): WaitChild<Line> {
    const byPath = this.#byPath[rank] as Map<string, WaitChild<Line>>;
    const heap = this.#children[rank] as IndexedHeap<WaitChild<Line>>;
    const known = byPath.get(path);
    const child = known ?? new WaitChild(this, path, rank, share());
    child.lines.add(line);
    if (known === undefined) {
      byPath.set(path, child);
      heap.add(child);
      this.#count(child, 1);
    } else heap.moved(child);
    return child;
  }

  remove(line: Line, child: WaitChild<Line>): void {
    const heap = this.#children[child.rank] as IndexedHeap<WaitChild<Line>>;
    // Out of its heap first: a child without lines compares with nothing.
    heap.remove(child);
    child.lines.remove(line);
    if (child.lines.size > 0) heap.add(child);
    else {
      this.#byPath[child.rank]?.delete(child.path);
      this.#count(child, -1);
    }
  }

  #count({ share }: WaitChild<Line>, change: 1 | -1): void {
    this.#childCount += change;
    if (share.isFading) this.#fadingCount += change;
  }

  /** Takes note of what a child has had. The point puts its views into order itself. */
  reckoned(child: WaitChild<Line>, share: Share): void {
    this.#count(child, -1);
    child.share = share;
    this.#count(child, 1);
    this.#children[child.rank]?.moved(child);
  }
}

/** Whether the first of a view comes before that of another one; neither is empty. */
export function viewIsAhead<Line extends WaitLine>(
  { firstChild: a }: WaitView<Line>,
  { firstChild: b }: WaitView<Line>,
): boolean {
  invariant(a !== undefined && b !== undefined, 'a view without lines is gone');
  return a.rank === b.rank ? childIsAhead(a, b) : a.rank > b.rank;
}
