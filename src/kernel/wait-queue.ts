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
// first of each view of it has to be judged. Whoever has to be judged again keeps its places until it is: thousands may have to be, over
// several batches, and nobody slips past them.
import type { BudgetDef } from './budget.ts';
import { editForWaits } from './edit-for-waits.ts';
import { IndexedHeap } from './indexed-heap.ts';
import { invariant } from './invariant.ts';
import { type BudgetPath, parentOf, type ReservationId } from './names.ts';
import { WaitClaims } from './wait-claims.ts';
import { lineKey, pathsOf, WaitLine } from './wait-line.ts';
import type { Share, Waiting } from './wait-order.ts';
import {
  isSame,
  type Place,
  type PlacedLine,
  type Placement,
  type PointView,
  type PointWorld,
  type WaitPoint,
} from './wait-point.ts';
import { WaitPoints } from './wait-points.ts';
import { Waiters } from './waiters.ts';

/** Faults in a queue are tried again after these instants. */
export interface QueueRests {
  /** Nobody is looked at before. */
  readonly queueUntilMs: number;
  /** Nobody's wait is ended before. */
  readonly endsUntilMs: number;
}

/** See the head of this file. */
export class WaitQueue {
  readonly #lines = new Map<string, PlacedLine>();
  /** Lines that ask each path or one below it. */
  readonly #linesAt = new Map<BudgetPath, Set<PlacedLine>>();
  readonly #points: WaitPoints;
  readonly #waiters = new Waiters();
  readonly #wakes = new IndexedHeap<PlacedLine>((a, b) => a.wakeMs < b.wakeMs);
  /** Lines whose head has to be judged, whatever its places. */
  readonly #unjudged = new Set<PlacedLine>();
  /** Of which the first has to be judged, unless it claims. */
  readonly #stirred = new Map<PointView, WaitPoint>();
  /** Lines whose head fits and takes its turn once nobody has to be judged before it. */
  readonly #claims = new WaitClaims();
  /** Those that have a line of their own for a fault in judging them. */
  readonly #aside = new Set<ReservationId>();
  /** Nobody is looked at before. */
  #restUntilMs = 0;
  /** Nobody's wait is ended before. */
  #endsRestUntilMs = 0;

  constructor(tree: Pick<PointWorld, 'shareOf' | 'viewsAt'>) {
    this.#points = new WaitPoints({
      ...tree,
      stir: (view, point) => this.#stirred.set(view, point),
      emptied: (view) => this.#stirred.delete(view),
      firstChanged: (before, after) => {
        if (before !== undefined) this.#claims.placesChanged(before);
        if (after !== undefined) this.#claims.placesChanged(after);
      },
    });
  }

  get count(): number {
    return this.#waiters.count;
  }

  /** All that wait, in no order. */
  waiting(): IterableIterator<Waiting> {
    return this.#waiters.all();
  }

  /** What a child of a budget has had at `nowMs`. */
  shareOf(budget: BudgetPath, child: string, nowMs: number): Share {
    return this.#points.shareOf(budget, child, nowMs);
  }

  byId(id: ReservationId): Waiting | undefined {
    return this.#waiters.byId(id);
  }

  /** The one that waits under an idempotency key. */
  byKey(digest: string): Waiting | undefined {
    return this.#waiters.byKey(digest);
  }

  /** How many wait on a path and below it. */
  countAt(path: BudgetPath): number {
    return this.#waiters.countAt(path);
  }

  /** What those weigh (weight.ts). */
  readonly weightAt = (path: BudgetPath): number => this.#waiters.weightAt(path);

  /** Whether somebody has to be looked at though nothing else happens at `nowMs`. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#restUntilMs) return this.#endsDueMs <= nowMs;
    if (this.#unjudged.size > 0 || this.#stirred.size > 0 || this.#points.haveShifted) return true;
    if (!this.#claims.isEmpty) return true;
    return this.dueMs <= nowMs || this.#points.isPassed(nowMs);
  }

  /** When somebody has to be looked at next though nothing happens. */
  get dueMs(): number {
    const dueMs = Math.min(this.#points.fadeMs, this.#wakes.top?.wakeMs ?? Number.POSITIVE_INFINITY);
    const isResting = this.#restUntilMs > 0 && this.#unjudged.size > 0;
    return Math.min(this.#endsDueMs, isResting ? this.#restUntilMs : Math.max(dueMs, this.#restUntilMs));
  }

  get #endsDueMs(): number {
    return Math.max(this.#waiters.firstEndMs, this.#endsRestUntilMs);
  }

  add(waiting: Waiting): void {
    this.#waiters.add(waiting);
    const key = this.#keyOf(waiting);
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new WaitLine<Place>(key, waiting);
      this.#lines.set(key, line);
      for (const path of pathsOf(waiting)) this.#linesAt.set(path, (this.#linesAt.get(path) ?? new Set()).add(line));
    }
    // A batch that is taken back: who was first comes back where it was.
    const isHead = line.goesFirst(waiting);
    if (isHead) this.#unplace(line);
    line.add(waiting);
    if (isHead) this.#unjudged.add(line);
  }

  remove({ id }: Waiting): void {
    const waiting = this.byId(id);
    invariant(waiting !== undefined, `${id} does not wait`);
    const line = this.#lines.get(this.#keyOf(waiting));
    invariant(line !== undefined, `${id} waits in a line`);
    this.#aside.delete(id);
    const isHead = line.head === waiting;
    if (isHead) this.#unplace(line);
    this.#waiters.remove(waiting);
    line.delete(waiting);
    if (line.isEmpty) {
      this.#lines.delete(line.key);
      this.#unjudged.delete(line);
      for (const path of pathsOf(waiting)) {
        const lines = this.#linesAt.get(path);
        lines?.delete(line);
        if (lines?.size === 0) this.#linesAt.delete(path);
      }
    } else if (isHead) this.#unjudged.add(line);
  }

  /** Takes note that counters of a budget moved; `frees`: less of it is used than before. */
  budgetMoved({ path }: BudgetDef, frees: boolean): void {
    if (frees) this.stirBudget(path);
    this.#points.childMoved(path);
  }

  /** Takes note of an edit. */
  budgetEdited(before: BudgetDef, after: BudgetDef): void {
    if (before === after) return;
    const { path } = after;
    if (before.weight !== after.weight) this.#points.childMoved(path);
    const edit = editForWaits(before, after);
    if (edit === 'none') return;
    if (before.childTemplate?.weight !== after.childTemplate?.weight) this.#points.weighAnew(path);
    const parent = parentOf(path);
    this.stirBudget(path);
    if (parent !== undefined) this.stirBudget(parent);
    // Shares are of its amounts.
    if (after.childShares.some(({ sharePercent }) => sharePercent !== undefined)) this.#points.stirChildren(path);
    if (edit === 'rules') this.stirBelow(path);
  }

  /** Takes note of a budget that has come to be: it may be another one than a grant would have made. */
  budgetMade({ path }: BudgetDef): void {
    if (this.countAt(path) === 0) return;
    this.#points.childMoved(path);
    this.#points.weighAnew(path);
    this.stirBelow(path);
  }

  /** Has the first head of each view of each point of a budget judged again. */
  stirBudget(budget: BudgetPath): void {
    this.#points.stir(budget);
  }

  /** Has the heads of all lines that ask a budget or one below it judged again: its rules have changed. */
  stirBelow(path: BudgetPath): void {
    for (const line of this.linesAt(path)) this.#unjudged.add(line);
  }

  /** Has the head of a line judged again, where this one is the head. */
  stir(id: ReservationId): void {
    const waiting = this.byId(id);
    const line = waiting && this.#lines.get(this.#keyOf(waiting));
    if (line?.head === waiting && line !== undefined) this.#unjudged.add(line);
  }

  /** Has all heads judged again: what was known of them may not hold any more. */
  stirAll(): void {
    this.#points.weighAllAnew();
    for (const line of this.#lines.values()) this.#unjudged.add(line);
  }

  /** Whether anybody may be looked at; see rest. */
  mayLook(nowMs: number): boolean {
    return nowMs >= this.#restUntilMs;
  }

  /** Whether waits may be ended; see restEnds. */
  mayEnd(nowMs: number): boolean {
    return nowMs >= this.#endsRestUntilMs;
  }

  /** Whether the time of anybody is over. */
  hasEnded(nowMs: number): boolean {
    return this.#waiters.firstEndMs <= nowMs;
  }

  /** See Waiters.ended. */
  ended(nowMs: number): Iterable<Waiting> {
    return this.#waiters.ended(nowMs);
  }

  /** See Waiters.putOffEnd. */
  putOffEnd(waiting: Waiting, untilMs: number): void {
    this.#waiters.putOffEnd(waiting, untilMs);
  }

  /** A head that has to be judged whatever its places; undefined where there is none. */
  nextUnjudged(nowMs: number): PlacedLine | undefined {
    this.#wake(nowMs);
    return this.#unjudged.values().next().value;
  }

  // All at once: of several that rise at one instant each is asked in the class that it has then, whoever is judged first.
  #wake(nowMs: number): void {
    for (let line = this.#wakes.top; line !== undefined && line.wakeMs <= nowMs; line = this.#wakes.top) {
      this.#wakes.remove(line);
      line.wakeMs = Number.POSITIVE_INFINITY;
      this.#unjudged.add(line);
    }
  }

  /** A head that comes first where something may have come back, and has not been judged since; undefined where there is none. */
  nextStirred(nowMs: number): PlacedLine | undefined {
    this.#points.bringForward(nowMs);
    for (const [view, point] of this.#stirred) {
      point.refresh();
      point.bringForward(nowMs);
      const line = view.firstLine;
      // One that claims has been judged. A view that was told apart otherwise is no more.
      if (line !== undefined && this.#stirred.has(view) && !this.#claims.has(line)) return line;
      this.#stirred.delete(view);
    }
    return undefined;
  }

  /** Whether nobody but the head of a line has to be judged: the usual case, in which it need not claim anything first. */
  isLeft(line: PlacedLine, nowMs: number): boolean {
    if (!this.#claims.isEmpty || !this.#points.isOf(nowMs)) return false;
    for (const each of this.#unjudged) if (each !== line) return false;
    for (const { firstLine } of this.#stirred.keys()) if (firstLine !== undefined && firstLine !== line) return false;
    return true;
  }

  /** A head that claims, to be asked once no other one has to be judged; see WaitClaims.next. */
  get nextClaim(): PlacedLine | undefined {
    return this.#claims.next;
  }

  /**
   * Gives the head of a line its places. `claims`: it fits and is first as far as it is known; it is to be judged once more when all
   * others are. Else it is known not to fit, or not to be first, at each of them, or is not there to be granted anything.
   */
  place(line: PlacedLine, { points, rank, wakeMs, claims }: Placement): void {
    this.#unjudged.delete(line);
    this.#claims.delete(line);
    for (const { point } of line.places) point.refresh();
    const kept = line.places.filter(
      ({ point, child }) => child.rank === rank && points.some((each) => isSame(each, point)),
    );
    for (const place of line.places.filter((each) => !kept.includes(each))) this.#leave(line, place);
    for (const name of points) {
      if (kept.some(({ point }) => isSame(name, point))) continue;
      this.#points.of(name).add(line, rank);
    }
    for (const { child } of line.places) if (child.view.firstLine === line) this.#stirred.delete(child.view);
    if (claims) this.#claims.add(line);
    line.wakeMs = wakeMs;
    if (this.#wakes.has(line)) this.#wakes.moved(line);
    else this.#wakes.add(line);
  }

  /** Leaves one alone until an instant: it has no place, and the others of its line go on without it. */
  setAside(waiting: Waiting, wakeMs: number): void {
    const endMs = this.#waiters.endMsOf(waiting);
    this.remove(waiting);
    this.#aside.add(waiting.id);
    this.add(waiting);
    if (endMs > waiting.queued.untilMs) this.putOffEnd(waiting, endMs);
    const own = this.#lines.get(this.#keyOf(waiting));
    invariant(own !== undefined, `${waiting.id} waits in a line of its own`);
    this.place(own, { points: [], rank: 0, wakeMs, claims: false });
  }

  /** Looks at nobody until an instant (mayLook); waits that are over end all the same. */
  rest(untilMs: number): void {
    this.#restUntilMs = untilMs;
  }

  /** Until when nobody is looked at, and nobody's wait is ended; in the past, or 0, where nothing rests. */
  get rests(): QueueRests {
    return { queueUntilMs: this.#restUntilMs, endsUntilMs: this.#endsRestUntilMs };
  }

  /** Rests as long as another one of the same tree, and tries those ends again later that it was to try again later. */
  restAs(other: WaitQueue): void {
    this.#restUntilMs = other.#restUntilMs;
    this.#endsRestUntilMs = other.#endsRestUntilMs;
    this.#waiters.putOffAs(other.#waiters);
  }

  /** Ends nobody's wait until an instant. */
  restEnds(untilMs: number): void {
    this.#endsRestUntilMs = untilMs;
  }

  #keyOf(waiting: Waiting): string {
    const key = lineKey(waiting);
    return this.#aside.has(waiting.id) ? `${key} ${waiting.id}` : key;
  }

  /** Lines that ask a budget or one below it. */
  linesAt(path: BudgetPath): Iterable<PlacedLine> {
    return this.#linesAt.get(path) ?? NO_LINES;
  }

  /** Points of a budget at which somebody waits. */
  pointsAt(budget: BudgetPath): readonly WaitPoint[] {
    return this.#points.at(budget);
  }

  // Its places go, and with them what was known of those behind it.
  #unplace(line: PlacedLine): void {
    this.#claims.delete(line);
    for (const { point } of line.places) point.refresh();
    for (const place of [...line.places]) this.#leave(line, place);
    this.#wakes.remove(line);
    line.wakeMs = Number.POSITIVE_INFINITY;
  }

  #leave(line: PlacedLine, place: Place): void {
    const { point, child } = place;
    point.remove(line, child);
    line.places.splice(line.places.indexOf(place), 1);
    this.#points.left(point);
  }
}

const NO_LINES: readonly PlacedLine[] = [];
