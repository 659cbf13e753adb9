// One point of the wait queue (wait-queue.ts): the heads of lines that wait at it, by what of it is open to them, each in their order.
// Shares are reckoned when somebody looks, and only those that have changed.
import type { ChildShare } from './budget.ts';
import { IndexedHeap } from './indexed-heap.ts';
import type { BudgetPath } from './names.ts';
import type { WaitLine } from './wait-line.ts';
import { childAt, isAhead, type Share, type Standing } from './wait-order.ts';
import { viewIsAhead, type WaitChild, WaitView } from './wait-view.ts';

/** Where the head of a line stands. */
export interface Place {
  readonly point: WaitPoint;
  readonly child: PlacedChild;
}

/** A line that knows its places. */
export type PlacedLine = WaitLine<Place>;

/** A view of a point. */
export type PointView = WaitView<PlacedLine>;

type PlacedChild = WaitChild<PlacedLine>;

/**
 * What can be short: a limit, a rate (`no` is theirs) or the slots (0) of a budget, or the share that it may use of a limit of the
 * budget above (`no` is that limit's). By path: a budget that a grant will make has no number yet.
 */
export interface PointName {
  readonly budget: BudgetPath;
  readonly kind: 'limit' | 'share' | 'rate' | 'slots';
  readonly no: number;
}

/** Where the head of a line is to have its places; see WaitQueue.place. */
export interface Placement {
  readonly points: readonly PointName[];
  readonly rank: number;
  readonly wakeMs: number;
  readonly claims: boolean;
}

/** Tells those apart to whom different parts of a limit are open: floors, and what is kept for a class. */
export interface Views {
  /** What they were made for; with other ones who is told apart is another question. */
  readonly childShares: readonly ChildShare[];
  readonly viewOf: (line: PlacedLine) => string;
}

/** What a point asks of the tree, and tells the queue. */
export interface PointWorld {
  /** What a child of a budget has had at an instant. */
  readonly shareOf: (budget: BudgetPath, child: string, atMs: number) => Share;
  /** How those at the limits of a budget are told apart: `known` if that is still right; undefined where the same is open to all. */
  readonly viewsAt: (budget: BudgetPath, known: Views | undefined) => Views | undefined;
  /** Who is first of a view now may be left more than whoever was, or than it was itself. */
  readonly stir: (view: PointView, point: WaitPoint) => void;
  /** Nobody is in a view any more. */
  readonly emptied: (view: PointView) => void;
  /** Another line comes first at a point. */
  readonly firstChanged: (before: PlacedLine | undefined, after: PlacedLine | undefined) => void;
  /** Whether time alone may change the order at a point is another question than it was. */
  readonly fadingChanged: (point: WaitPoint) => void;
}

/** How often shares are reckoned anew for the time that has passed. */
export const SHARE_STEP_MS = 10_000;

/** Shares have to be reckoned whatever time it is. */
const NO_STEP = -1;

/** See the head of this file. */
export class WaitPoint implements PointName {
  readonly budget: BudgetPath;
  readonly kind: PointName['kind'];
  readonly no: number;
  readonly #world: PointWorld;
  /** None is empty. */
  readonly #views = new IndexedHeap<PointView>(viewIsAhead);
  readonly #byKey = new Map<string, PointView>();
  #told: Views | undefined;
  /** Children that have had more, or less, since their shares were reckoned. */
  readonly #moved = new Set<string>();
  #step = NO_STEP;
  #isFading = false;

  constructor({ budget, kind, no }: PointName, world: PointWorld) {
    this.budget = budget;
    this.kind = kind;
    this.no = no;
    this.#world = world;
    this.#told = this.#viewsNow();
  }

  get isEmpty(): boolean {
    return this.#views.size === 0;
  }

  /** Whether different parts of it are open to some. */
  get hasViews(): boolean {
    return this.#told !== undefined;
  }

  /** Whether time alone may change the order: there are several children, and what one of them has had fades. */
  get isFading(): boolean {
    return this.#isFading;
  }

  get firstLine(): PlacedLine | undefined {
    return this.#views.top?.firstLine;
  }

  first(nowMs: number): Standing | undefined {
    this.bringForward(nowMs);
    return this.#views.top?.first;
  }

  shareOf(child: string, nowMs: number): Share {
    this.bringForward(nowMs);
    return this.#share(child);
  }

  /** Those who come before a standing at `nowMs`, the first of each view. */
  aheadOf(standing: Standing, nowMs: number): PlacedLine[] {
    this.bringForward(nowMs);
    return this.#views.items.flatMap((view) => {
      const { first, firstLine } = view;
      return first !== undefined && firstLine !== undefined && isAhead(first, standing) ? [firstLine] : [];
    });
  }

  /** Has the first of each view judged again. */
  stir(): void {
    for (const view of this.#views.items) this.#world.stir(view, this);
  }

  /** Takes note that a child has had more or less; returns whether anybody waits here who comes through it. */
  childMoved(path: string): boolean {
    const isHere = this.#views.items.some((view) => view.childrenAt(path).length > 0);
    if (isHere) this.#moved.add(path);
    return isHere;
  }

  /** Has all shares reckoned anew when somebody looks. */
  forgetShares(): void {
    this.#step = NO_STEP;
  }

  /** Reckons shares anew where they have changed. */
  bringForward(nowMs: number): void {
    const step = Math.floor(nowMs / SHARE_STEP_MS);
    if (step === this.#step && this.#moved.size === 0) return;
    const changed = this.#reckon(step);
    if (changed.length === 0) return;
    const before = this.#inOrder();
    for (const [child, share] of changed) child.view.reckoned(child, share);
    this.#noteFading();
    this.#views.movedAll();
    const after = this.#inOrder();
    // Whoever stands behind the same ones as before is left the same.
    const from = after.findIndex(({ view, line }, at) => before[at]?.view !== view || before[at].line !== line);
    if (from === -1) return;
    for (const { view } of after.slice(from)) this.#world.stir(view, this);
    if (from === 0) this.#world.firstChanged(before[0]?.line, after[0]?.line);
  }

  #inOrder(): { readonly view: PointView; readonly line: PlacedLine | undefined }[] {
    const views = this.#views.size < 2 ? this.#views.items : this.#views.items.toSorted(byFirst);
    return views.map((view) => ({ view, line: view.firstLine }));
  }

  #reckon(step: number): [PlacedChild, Share][] {
    const isNew = this.#step === NO_STEP;
    const isLater = step !== this.#step;
    this.#step = step;
    const changed: [PlacedChild, Share][] = [];
    const look = (child: PlacedChild): void => {
      const share = this.#share(child.path);
      const { useMicros, weight, isFading } = child.share;
      const isSame = share.useMicros === useMicros && share.weight === weight && share.isFading === isFading;
      if (!isSame) changed.push([child, share]);
    };
    for (const view of this.#views.items) {
      if (isLater) {
        // Time alone gives nothing to one that has had nothing.
        for (const child of view.children())
          if (isNew || child.share.useMicros > 0n || this.#moved.has(child.path)) look(child);
      } else for (const path of this.#moved) view.childrenAt(path).forEach(look);
    }
    this.#moved.clear();
    return changed;
  }

  add(line: PlacedLine, rank: number): void {
    const path = childAt(this.budget, line.paths) ?? '';
    const before = this.firstLine;
    line.places.push({ point: this, child: this.#put(line, rank, path, () => this.#share(path)) });
    this.#noteFading();
    if (this.firstLine !== before) this.#world.firstChanged(before, this.firstLine);
  }

  #put(line: PlacedLine, rank: number, path: string, share: () => Share): PlacedChild {
    const key = this.#told?.viewOf(line) ?? '';
    const known = this.#byKey.get(key);
    const view = known ?? new WaitView<PlacedLine>(key);
    const child = view.add(line, rank, path, share);
    if (known === undefined) {
      this.#byKey.set(key, view);
      this.#views.add(view);
    } else this.#views.moved(view);
    return child;
  }

  /** Takes a line out. Those who stood behind it, and not behind the next of its view, may be left more than before. */
  remove(line: PlacedLine, child: PlacedChild): void {
    const { view } = child;
    const before = this.firstLine;
    const wasFirst = view.firstLine === line;
    const behind = wasFirst ? this.#views.items.filter((other) => other !== view && viewIsAhead(view, other)) : [];
    this.#views.remove(view);
    view.remove(line, child);
    if (view.isEmpty) {
      this.#byKey.delete(view.key);
      this.#world.emptied(view);
    } else this.#views.add(view);
    this.#noteFading();
    if (!wasFirst) return;
    if (!view.isEmpty) this.#world.stir(view, this);
    for (const other of behind) if (view.isEmpty || !viewIsAhead(view, other)) this.#world.stir(other, this);
    if (this.firstLine !== before) this.#world.firstChanged(before, this.firstLine);
  }

  /** Tells those who wait apart anew where the budget has changed what it does by. */
  refresh(): void {
    const told = this.#viewsNow();
    if (told === this.#told) return;
    this.#told = told;
    const views = [...this.#views.items];
    for (const view of views) {
      this.#views.remove(view);
      this.#world.emptied(view);
    }
    this.#byKey.clear();
    for (const child of views.flatMap((view) => [...view.children()])) {
      for (const line of child.lines.items) {
        const at = line.places.findIndex(({ point }) => point === this);
        line.places[at] = this.#placed(line, child);
      }
    }
    this.stir();
  }

  #placed(line: PlacedLine, { rank, path, share }: PlacedChild): Place {
    return { point: this, child: this.#put(line, rank, path, () => share) };
  }

  #noteFading(): void {
    let childCount = 0;
    let fadingCount = 0;
    for (const view of this.#views.items) {
      childCount += view.childCount;
      fadingCount += view.fadingCount;
    }
    const isFading = childCount > 1 && fadingCount > 0;
    if (isFading === this.#isFading) return;
    this.#isFading = isFading;
    this.#world.fadingChanged(this);
  }

  #viewsNow(): Views | undefined {
    return this.kind === 'limit' ? this.#world.viewsAt(this.budget, this.#told) : undefined;
  }

  #share(child: string): Share {
    return this.#world.shareOf(this.budget, child, Math.max(0, this.#step) * SHARE_STEP_MS);
  }
}

function byFirst(a: PointView, b: PointView): number {
  return viewIsAhead(a, b) ? -1 : 1;
}

/** Whether two names are of one point. */
export function isSame(a: PointName, b: PointName): boolean {
  return a.budget === b.budget && a.kind === b.kind && a.no === b.no;
}
