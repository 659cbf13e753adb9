// The points of a wait queue (wait-queue.ts), found by their budgets: made when the first head gets a place, and gone with the last. Keeps
// the order at all of them as shares go: which points have had a child move, and which only time moves. Its own file because nothing of
// it depends on lines, nor on who has to be judged.
import { type BudgetPath, parentOf } from './names.ts';
import type { Share } from './wait-order.ts';
import { isSame, type PointName, type PointWorld, SHARE_STEP_MS, WaitPoint } from './wait-point.ts';

/** See the head of this file. */
export class WaitPoints {
  readonly #world: PointWorld;
  readonly #points = new Map<BudgetPath, WaitPoint[]>();
  /** Points where shares have changed. */
  readonly #shifted = new Set<WaitPoint>();
  /** Points where time alone may change the order. */
  readonly #fading = new Set<WaitPoint>();
  /** Of time by which shares were reckoned last at all points. */
  #step = -1;

  constructor(world: Omit<PointWorld, 'fadingChanged'>) {
    this.#world = {
      ...world,
      fadingChanged: (point) => {
        if (point.isFading) this.#fading.add(point);
        else this.#fading.delete(point);
      },
    };
  }

  /** What a child of a budget has had at `nowMs`. */
  shareOf(budget: BudgetPath, child: string, nowMs: number): Share {
    return this.#world.shareOf(budget, child, stepAt(nowMs) * SHARE_STEP_MS);
  }

  /** Those of a budget at which somebody waits. */
  at(budget: BudgetPath): readonly WaitPoint[] {
    const points = this.#points.get(budget) ?? NO_POINTS;
    for (const point of points) point.refresh();
    return points;
  }

  /** The point of a name; a new one, where nobody waits at it, has to be given a place at once. */
  of(name: PointName): WaitPoint {
    const own = this.at(name.budget);
    const known = own.find((each) => isSame(each, name));
    if (known !== undefined) return known;
    const point = new WaitPoint(name, this.#world);
    this.#points.set(name.budget, [...own, point]);
    return point;
  }

  /** Forgets a point that somebody has just left, where nobody waits at it any more. */
  left(point: WaitPoint): void {
    if (!point.isEmpty) return;
    this.#shifted.delete(point);
    const left = this.at(point.budget).filter((each) => each !== point);
    if (left.length === 0) this.#points.delete(point.budget);
    else this.#points.set(point.budget, left);
  }

  /** Has the first head of each view of each point of a budget judged again. */
  stir(budget: BudgetPath): void {
    for (const point of this.at(budget)) point.stir();
  }

  /** As stir, of the children of a budget. */
  stirChildren(budget: BudgetPath): void {
    for (const each of this.#points.keys()) if (parentOf(each) === budget) this.stir(each);
  }

  /** What a budget has had, or its weight, is another than it was. */
  childMoved(path: BudgetPath): void {
    const parent = parentOf(path);
    if (parent === undefined) return;
    for (const point of this.at(parent)) if (point.childMoved(path)) this.#shifted.add(point);
  }

  /** Children of a budget that do not exist weigh otherwise. */
  weighAnew(budget: BudgetPath): void {
    for (const point of this.at(budget)) {
      point.forgetShares();
      this.#shifted.add(point);
    }
  }

  /** As weighAnew, of all budgets. */
  weighAllAnew(): void {
    for (const budget of this.#points.keys()) this.weighAnew(budget);
  }

  /** Whether a child has had more, or less, since the order was brought forward. */
  get haveShifted(): boolean {
    return this.#shifted.size > 0;
  }

  /** Whether the order is that of `nowMs`. */
  isOf(nowMs: number): boolean {
    return !this.haveShifted && stepAt(nowMs) === this.#step;
  }

  /** Whether time has passed since by which shares are reckoned anew. A clock that is behind the last look has nothing new to say. */
  isPassed(nowMs: number): boolean {
    return stepAt(nowMs) > this.#step;
  }

  /** When time alone may change the order anywhere next. */
  get fadeMs(): number {
    return this.#fading.size > 0 ? (this.#step + 1) * SHARE_STEP_MS : Number.POSITIVE_INFINITY;
  }

  /** Brings the order at all points to that of `nowMs`. */
  bringForward(nowMs: number): void {
    if (stepAt(nowMs) !== this.#step) {
      this.#step = stepAt(nowMs);
      for (const points of this.#points.values()) for (const point of points) this.#shifted.add(point);
    }
    for (const point of this.#shifted) point.bringForward(nowMs);
    this.#shifted.clear();
  }
}

const NO_POINTS: readonly WaitPoint[] = [];

function stepAt(nowMs: number): number {
  return Math.floor(nowMs / SHARE_STEP_MS);
}
