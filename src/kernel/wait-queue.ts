// Who waits in a tree, and in which order what comes free is offered. An index over the reservations in state QUEUED: it holds nothing
// that does not follow from them, and decides nothing (decide-queue.ts).
//
//   line    those that ask the same budgets, and rates of the same kinds, in the same class, first come first. Only its head can be
//           next: whatever holds the head back, the others of its line need as well
//   point   what can be short: one limit, one rate, or the slots of a budget. A head has a place at each point that holds it back
//   order   at a point: the higher class first, then the child of the point's budget that has had least for its weight, then
//           first come. Whoever asks for a point where somebody before them has a place has to wait
//
// A point is stirred where something of it may have come back, or where another head has come first, by its rank, its share or because
// the one before it has gone: its first head has to be judged again. In between, the first head of every point is known not to fit, and
// so nobody behind it has to be looked at. One that fits claims all that it asks for, and has its turn when nobody is left to be judged:
// whoever is found to fit first need not come first. Where a budget keeps capacity for some, others wait for what is open to all: the
// first of each view of it has to be judged.
import { isRaised } from './amounts-raised.ts';
import type { BudgetDef } from './budget.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import { type BudgetPath, parentOf, type ReservationId } from './names.ts';

import { lineKey, pathsOf } from './wait-line.ts';
import { childAt, type Share, type Waiting } from './wait-order.ts';
import {
  goesBefore,
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
  readonly #points = new Map<BudgetPath, WaitPoint[]>();
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
  /** Lines whose head fits and takes its turn once nobody has to be judged before it. */
  readonly #claiming = new Set<WaitLine>();
  /** Points where shares have changed. */
  readonly #shifted = new Set<WaitPoint>();
  /** Of time by which shares were reckoned last at all points. */
  #step = -1;

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
    return this.#shareOf(budget, child, stepAt(nowMs) * SHARE_STEP_MS);
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
    if (this.#unplaced.size > 0 || this.#stirred.size > 0 || this.#shifted.size > 0) return true;
    if (this.#claiming.size > 0) return true;
    return this.dueMs <= nowMs || stepAt(nowMs) !== this.#step;
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
      line.push(waiting);
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
    line.delete(waiting);
    if (line.isEmpty) {
      this.#lines.delete(line.key);
      this.#unplaced.delete(line);
    } else if (isHead) this.#unplaced.add(line);
  }

  /** Takes note that counters of a budget moved; `frees`: less of it is used than before. */
  budgetMoved({ path }: BudgetDef, frees: boolean): void {
    if (frees) this.stirBudget(path);
    const parent = parentOf(path);
    if (parent === undefined) return;
    for (const point of this.pointsAt(parent)) {
      point.childMoved(path);
      this.#shifted.add(point);
    }
  }

  /** Takes note of an edit: where amounts were raised and nothing else, only who is first there can fit now. */
  budgetEdited(before: BudgetDef, after: BudgetDef): void {
    if (before === after) return;
    const parent = parentOf(after.path);
    this.stirBudget(after.path);
    if (parent !== undefined) this.stirBudget(parent);
    // Shares are of its amounts.
    for (const path of this.#points.keys()) if (parentOf(path) === after.path) this.stirBudget(path);
    if (!isRaised(before, after)) this.stirBelow(after.path);
  }

  /** Takes note of a budget that has come to be: it may be another one than a grant would have made. */
  budgetMade({ path }: BudgetDef): void {
    if (this.countAt(path) > 0) this.stirBelow(path);
  }

  /** Has the first head of each point of a budget judged again. */
  stirBudget(budget: BudgetPath): void {
    for (const point of this.pointsAt(budget)) this.#stir(point);
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
    this.#bringForward(nowMs);
    for (const [point, judged] of this.#stirred) {
      point.bringForward(nowMs);
      const line = this.#firstUnjudged(point, judged);
      if (line !== undefined) {
        this.#looked = { line, point, view: this.#viewsOf(point)?.(line) ?? '' };
        return line;
      }
      this.#stirred.delete(point);
    }
    return undefined;
  }

  #bringForward(nowMs: number): void {
    if (stepAt(nowMs) !== this.#step) {
      this.#step = stepAt(nowMs);
      for (const points of this.#points.values()) for (const point of points) this.#shifted.add(point);
    }
    for (const point of this.#shifted) {
      point.bringForward(nowMs);
      // The first of a view may have changed where the first of all has not.
      if (this.#viewsOf(point) !== undefined) this.#stir(point);
    }
    this.#shifted.clear();
  }

  // One that claims has been judged.
  #firstUnjudged(point: WaitPoint, judged: Set<string>): WaitLine | undefined {
    const viewOf = this.#viewsOf(point);
    if (viewOf === undefined) {
      const line = point.firstLine;
      return line === undefined || this.#claiming.has(line) ? undefined : line;
    }
    for (;;) {
      const line = point.firstOther(viewOf, judged);
      if (line === undefined || !this.#claiming.has(line)) return line;
      judged.add(viewOf(line));
    }
  }

  /** Whether nobody but the head of a line has to be judged: the usual case, in which it need not claim anything first. */
  isLeft(line: WaitLine): boolean {
    if (this.#claiming.size > 0 || this.#shifted.size > 0) return false;
    for (const each of this.#unplaced) if (each !== line) return false;
    for (const [point, judged] of this.#stirred) {
      if (this.#viewsOf(point) !== undefined) return false;
      const other = this.#firstUnjudged(point, judged);
      if (other !== undefined && other !== line) return false;
    }
    return true;
  }

  /**
   * A head that claims, to be asked once no other one has to be judged: one that is first wherever it does before others, and of those
   * the most urgent, then the first that came, since others may wait for its turn alone.
   */
  get nextClaim(): WaitLine | undefined {
    let found: WaitLine | undefined;
    for (const line of this.#claiming) {
      if (
        line.places.every(({ point }) => point.firstLine === line) &&
        (found === undefined || goesBefore(line, found))
      ) {
        found = line;
      }
    }
    return found ?? this.#claiming.values().next().value;
  }

  /**
   * Gives the head of a line its places. `claims`: it fits and is first as far as it is known; it is to be judged once more when all
   * others are. Else it is known not to fit, or not to be first, at each of them, or is not there to be granted anything.
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
      if (this.#viewsOf(point) === undefined) {
        if (point.firstLine === line) this.#stirred.delete(point);
      } else if (looked?.point === point) this.#stirred.get(point)?.add(looked.view);
      else if (looked === undefined) this.#stir(point);
    }
    if (claims) this.#claiming.add(line);
    else this.#claiming.delete(line);
    line.wakeMs = wakeMs;
    if (this.#wakes.has(line)) this.#wakes.moved(line);
    else this.#wakes.add(line);
  }

  /** How those at the limits of a budget are told apart; undefined where the same is open to all of them. */
  viewsAt(budget: BudgetPath): ViewOf | undefined {
    return this.#viewsAt(budget);
  }

  /** Points of a budget at which somebody waits. */
  pointsAt(budget: BudgetPath): readonly WaitPoint[] {
    return this.#points.get(budget) ?? NO_POINTS;
  }

  // Its places go, and with them what was known of those behind it.
  #unplace(line: WaitLine): void {
    this.#claiming.delete(line);
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
    const left = this.pointsAt(point.budget).filter((each) => each !== point);
    if (left.length === 0) this.#points.delete(point.budget);
    else this.#points.set(point.budget, left);
  }

  #stir(point: WaitPoint): void {
    this.#stirred.set(point, new Set());
  }

  #viewsOf({ kind, budget }: WaitPoint): ViewOf | undefined {
    return kind === 'limit' ? this.#viewsAt(budget) : undefined;
  }

  #point(name: PointName): WaitPoint {
    const own = this.pointsAt(name.budget);
    const known = own.find((each) => isSame(each, name));
    if (known !== undefined) return known;
    const point = new WaitPoint(name, this.#shareOf, (overtaken) => this.#stir(overtaken));
    this.#points.set(name.budget, [...own, point]);
    return point;
  }

  // A batch that is taken back: those that it took out come back where they were.
  #putBack(line: WaitLine, waiting: Waiting): void {
    this.#unplace(line);
    line.insert(waiting);
    this.#unplaced.add(line);
  }
}

/** How those at the limits of a budget are told apart; undefined where the same is open to all of them. */
export type ViewsAt = (budget: BudgetPath) => ViewOf | undefined;

/** Where the head of a line has its places. */
export interface Placement {
  readonly points: readonly PointName[];
  readonly rank: number;
  readonly wakeMs: number;
  readonly claims: boolean;
}

const NO_POINTS: readonly WaitPoint[] = [];

function stepAt(nowMs: number): number {
  return Math.floor(nowMs / SHARE_STEP_MS);
}

function asks(paths: readonly BudgetPath[], budget: BudgetPath): boolean {
  return childAt(budget, paths) !== undefined;
}
