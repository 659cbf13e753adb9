// Who waits in a tree, and in which order what comes free is offered. An index over the reservations in state QUEUED: it holds nothing
// that does not follow from them, and decides nothing (decide-queue.ts).
//
//   line    those that ask the same budgets in the same class, first come first. Only its head can be next: whatever holds the head
//           back, the others of its line need as well
//   point   what can be short: one limit, one rate, or the slots of a budget. A head has a place at each point that holds it back
//   order   at a point: the higher class first, then the child of the point's budget that has had least for its weight, then
//           first come. Whoever asks for a point where somebody before them has a place has to wait
//
// Where a budget keeps capacity for some, others wait for what is open to all: the first of each view of it has to be looked at.
//
// A point is stirred where something of it may have come back, or where another head has come first: its first head has to be judged
// again. In between, the first head of every point is known not to fit, and so nobody behind it has to be looked at.
import type { BudgetDef } from './budget.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import { type BudgetPath, chainOf, type ReservationId } from './names.ts';
import type { Reservation } from './reservation.ts';
import { childAt, type Share, type Waiting } from './wait-order.ts';
import {
  isSame,
  type Place,
  type PointName,
  SHARE_STEP_MS,
  type ShareOf,
  type ViewOf,
  WaitLine,
  WaitPoint,
} from './wait-point.ts';

/** See the head of this file. */
export class WaitQueue {
  readonly #shareOf: ShareOf;
  readonly #viewsAt: ViewsAt;
  readonly #lines = new Map<string, WaitLine>();
  readonly #points = new Map<number, WaitPoint[]>();
  readonly #byDigest = new Map<string, ReservationId>();
  readonly #ends = new IndexedHeap<Waiting>((a, b) => a.queued.untilMs < b.queued.untilMs);
  readonly #byId = new Map<ReservationId, Waiting>();
  readonly #wakes = new IndexedHeap<WaitLine>((a, b) => a.wakeMs < b.wakeMs);
  /** How many wait on each path and below it. */
  readonly #counts = new Map<BudgetPath, number>();
  /** Lines whose head has to be judged before it has its places. */
  readonly #unplaced = new Set<WaitLine>();
  /** With the views of which the first is known not to fit. */
  readonly #stirred = new Map<WaitPoint, Set<string>>();
  /** Who was given out to be judged last, and where. */
  #looked: { readonly line: WaitLine; readonly point: WaitPoint; readonly view: string } | undefined;
  /** Points where shares have changed. */
  readonly #shifted = new Set<WaitPoint>();

  /** `shareOf`: what a child of a budget has had. */
  constructor(shareOf: ShareOf, viewsAt: ViewsAt) {
    this.#shareOf = shareOf;
    this.#viewsAt = viewsAt;
  }

  get count(): number {
    return this.#byId.size;
  }

  /** All that wait, in no order. */
  waiting(): IterableIterator<Waiting> {
    return this.#byId.values();
  }

  /** What a child of a budget has had at `nowMs`. */
  shareOf(budget: BudgetPath, child: string, nowMs: number): Share {
    return this.#shareOf(budget, child, Math.floor(nowMs / SHARE_STEP_MS) * SHARE_STEP_MS);
  }

  byId(id: ReservationId): Waiting | undefined {
    return this.#byId.get(id);
  }

  /** The one that waits under an idempotency key. */
  byKey(digest: string): Waiting | undefined {
    const id = this.#byDigest.get(digest);
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** How many wait on a path and below it. */
  countAt(path: BudgetPath): number {
    return this.#counts.get(path) ?? 0;
  }

  /** Whether somebody has to be looked at though nothing else happens at `nowMs`. */
  isDue(nowMs: number): boolean {
    return this.#unplaced.size > 0 || this.#stirred.size > 0 || this.#shifted.size > 0 || this.dueMs <= nowMs;
  }

  /** When somebody has to be looked at next though nothing happens. */
  get dueMs(): number {
    const endMs = this.#ends.top?.queued.untilMs ?? Number.POSITIVE_INFINITY;
    return Math.min(endMs, this.#wakes.top?.wakeMs ?? Number.POSITIVE_INFINITY);
  }

  add(waiting: Waiting): void {
    const { id, queued } = waiting;
    this.#byId.set(id, waiting);
    this.#byDigest.set(queued.key.digest, id);
    this.#ends.add(waiting);
    for (const path of pathsOf(waiting)) this.#counts.set(path, this.countAt(path) + 1);
    const key = lineKey(waiting);
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new WaitLine(key, waiting);
      this.#lines.set(key, line);
    }
    if (queued.seq > line.lastSeq) {
      line.lastSeq = queued.seq;
      line.waiting.set(id, waiting);
    } else this.#putBack(line, waiting);
    if (line.head === waiting) this.#unplaced.add(line);
  }

  remove({ id }: Waiting): void {
    const waiting = this.#byId.get(id);
    invariant(waiting !== undefined, `${id} does not wait`);
    const line = this.#lines.get(lineKey(waiting));
    invariant(line !== undefined, `${id} waits in a line`);
    const isHead = line.head === waiting;
    if (isHead) this.#unplace(line);
    this.#byId.delete(id);
    this.#byDigest.delete(waiting.queued.key.digest);
    this.#ends.remove(waiting);
    for (const path of pathsOf(waiting)) {
      const count = this.countAt(path) - 1;
      if (count === 0) this.#counts.delete(path);
      else this.#counts.set(path, count);
    }
    line.waiting.delete(id);
    if (line.waiting.size === 0) {
      this.#lines.delete(line.key);
      this.#unplaced.delete(line);
    } else if (isHead) this.#unplaced.add(line);
  }

  /** Takes note that counters of a budget moved; `frees`: less of it is used than before. */
  budgetMoved({ no, path, parentNo }: BudgetDef, frees: boolean): void {
    if (frees) this.stirBudget(no);
    if (parentNo === undefined) return;
    for (const point of this.#points.get(parentNo) ?? []) {
      point.childMoved(path);
      this.#shifted.add(point);
    }
  }

  /** Takes note of an edit: where amounts were raised and nothing else, only who is first there can fit now. */
  budgetEdited(before: BudgetDef, after: BudgetDef): void {
    if (before === after) return;
    this.stirBudget(after.no);
    if (after.parentNo !== undefined) this.stirBudget(after.parentNo);
    for (const { childNo } of after.childShares) this.stirBudget(childNo);
    if (!isRaised(before, after)) this.stirBelow(after.path);
  }

  /** Has the first head of each point of a budget judged again. */
  stirBudget(budgetNo: number): void {
    for (const point of this.#points.get(budgetNo) ?? []) this.#stir(point);
  }

  /** Has the heads of all lines that ask a budget or one below it judged again: its rules have changed. */
  stirBelow(path: BudgetPath): void {
    for (const line of this.#lines.values()) if (asks(line.paths, path)) this.#replace(line);
  }

  /** Has the head of a line judged again, where this one is the head. */
  stir(id: ReservationId): void {
    const waiting = this.#byId.get(id);
    const line = waiting && this.#lines.get(lineKey(waiting));
    if (line?.head === waiting && line !== undefined) this.#replace(line);
  }

  /** Has all heads judged again: what was known of them may not hold any more. */
  stirAll(): void {
    for (const line of this.#lines.values()) this.#replace(line);
  }

  /** Up to `countMax` whose time is over, those whose was first over first. */
  ended(nowMs: number, countMax: number): Waiting[] {
    const found: Waiting[] = [];
    for (let next = this.#ends.top; next !== undefined && next.queued.untilMs <= nowMs; next = this.#ends.top) {
      if (found.length === countMax) break;
      found.push(next);
      this.#ends.remove(next);
    }
    for (const each of found) this.#ends.add(each);
    return found;
  }

  /** A head that has no places yet; undefined where all have. */
  nextUnplaced(nowMs: number): WaitLine | undefined {
    for (let line = this.#wakes.top; line !== undefined && line.wakeMs <= nowMs; line = this.#wakes.top) {
      this.#replace(line);
    }
    return this.#unplaced.values().next().value;
  }

  /** A head that comes first where something may have come back, and has not been judged since; undefined where there is none. */
  nextStirred(nowMs: number): WaitLine | undefined {
    for (const point of this.#shifted) {
      const before = point.firstLine;
      point.bringForward(nowMs);
      if (point.firstLine !== before || this.#viewsOf(point) !== undefined) this.#stir(point);
    }
    this.#shifted.clear();
    for (const [point, judged] of this.#stirred) {
      point.bringForward(nowMs);
      const viewOf = this.#viewsOf(point);
      const line = viewOf === undefined ? point.firstLine : point.firstOther(viewOf, judged);
      if (line !== undefined) {
        this.#looked = { line, point, view: viewOf?.(line) ?? '' };
        return line;
      }
      this.#stirred.delete(point);
    }
    return undefined;
  }

  /**
   * Gives the head of a line its places. `claims`: it fits as far as it is known, so that whoever is first at these points has
   * to be judged; else it is known not to fit, or not to be first, at each of them.
   */
  place(line: WaitLine, { points, rank, wakeMs, claims }: Placement): void {
    this.#unplaced.delete(line);
    const kept = line.places.filter(
      ({ point, child }) => child.rank === rank && points.some((each) => isSame(each, point)),
    );
    for (const place of line.places.filter((each) => !kept.includes(each))) this.#leave(line, place);
    for (const name of points) {
      if (kept.some(({ point }) => isSame(name, point))) continue;
      this.#point(name).add(line, rank);
    }
    const looked = this.#looked?.line === line ? this.#looked : undefined;
    this.#looked = undefined;
    for (const { point } of line.places) {
      if (claims) this.#stir(point);
      else if (this.#viewsOf(point) !== undefined) {
        if (looked?.point === point) this.#stirred.get(point)?.add(looked.view);
      } else if (point.firstLine === line) this.#stirred.delete(point);
    }
    line.wakeMs = wakeMs;
    if (this.#wakes.has(line)) this.#wakes.moved(line);
    else this.#wakes.add(line);
  }

  /** How those at the limits of a budget are told apart; undefined where the same is open to all of them. */
  viewsAt(budgetNo: number): ViewOf | undefined {
    return this.#viewsAt(budgetNo);
  }

  /** Points of a budget at which somebody waits. */
  pointsAt(budgetNo: number): readonly WaitPoint[] {
    return this.#points.get(budgetNo) ?? NO_POINTS;
  }

  // Its places go, and with them what was known of those behind it.
  #unplace(line: WaitLine): void {
    for (const place of [...line.places]) this.#leave(line, place);
    this.#wakes.remove(line);
    line.wakeMs = Number.POSITIVE_INFINITY;
  }

  #replace(line: WaitLine): void {
    this.#unplace(line);
    this.#unplaced.add(line);
  }

  #leave(line: WaitLine, place: Place): void {
    const { point, child } = place;
    if (point.firstLine === line || this.#viewsOf(point) !== undefined) this.#stir(point);
    point.remove(line, child);
    line.places.splice(line.places.indexOf(place), 1);
    if (!point.isEmpty) return;
    this.#stirred.delete(point);
    this.#shifted.delete(point);
    const left = (this.#points.get(point.budgetNo) ?? []).filter((each) => each !== point);
    if (left.length === 0) this.#points.delete(point.budgetNo);
    else this.#points.set(point.budgetNo, left);
  }

  #stir(point: WaitPoint): void {
    this.#stirred.set(point, new Set());
  }

  #viewsOf({ kind, budgetNo }: WaitPoint): ViewOf | undefined {
    return kind === 'limit' ? this.#viewsAt(budgetNo) : undefined;
  }

  #point(name: PointName): WaitPoint {
    const own = this.#points.get(name.budgetNo) ?? [];
    const known = own.find((each) => isSame(each, name));
    if (known !== undefined) return known;
    const point = new WaitPoint(name, this.#shareOf);
    this.#points.set(name.budgetNo, [...own, point]);
    return point;
  }

  // A batch that is taken back: those that it took out come back where they were.
  #putBack(line: WaitLine, waiting: Waiting): void {
    this.#unplace(line);
    const all = [...line.waiting.values(), waiting].sort((a, b) => a.queued.seq - b.queued.seq);
    line.waiting.clear();
    for (const each of all) line.waiting.set(each.id, each);
    this.#unplaced.add(line);
  }
}

/** How those at the limits of a budget are told apart; undefined where the same is open to all of them. */
export type ViewsAt = (budgetNo: number) => ViewOf | undefined;

/** Where the head of a line has its places. */
export interface Placement {
  readonly points: readonly PointName[];
  readonly rank: number;
  readonly wakeMs: number;
  readonly claims: boolean;
}

const NO_POINTS: readonly WaitPoint[] = [];

function isRaised(before: BudgetDef, after: BudgetDef): boolean {
  const { limits, revision, updateMs, ...rest } = after;
  const isRest = Object.entries(rest).every(([name, value]) => before[name as keyof typeof rest] === value);
  return (
    isRest &&
    limits.length === before.limits.length &&
    limits.every(
      (limit, at) => limit.no === before.limits[at]?.no && limit.amountMicros >= before.limits[at].amountMicros,
    )
  );
}

function lineKey({ budget, also, priority }: Reservation): string {
  return also.length === 0 ? `${priority} ${budget}` : `${priority} ${budget} ${also.join(' ')}`;
}

function asks(paths: readonly BudgetPath[], budget: BudgetPath): boolean {
  return childAt(budget, paths) !== undefined;
}

/** Every path that a waiting one counts at, each once. */
function pathsOf({ budget, also }: Reservation): Iterable<BudgetPath> {
  return also.length === 0 ? chainOf(budget) : new Set([budget, ...also].flatMap(chainOf));
}
