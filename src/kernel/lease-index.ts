// Finds the live reservations that are due, oldest first. Buckets of one second: adding and removing cost the same
// however many leases there are, and a hold that is settled early leaves nothing behind, unlike in a heap. A bucket is put
// into order when somebody reads it, and stays so while its leases go, so that a hundred thousand of them that are due at
// once can be taken page by page.
import type { ReservationId } from './names.ts';

const BUCKET_MS = 1_000;

/** A live reservation and the first instant at which it counts as lapsed. */
export interface Lease {
  readonly id: ReservationId;
  readonly reclaimMs: number;
}

interface Bucket {
  /** By how many milliseconds they are due after the bucket begins: small numbers need no memory of their own. */
  leases: Map<ReservationId, number>;
  /** Whether `leases` is in the order in which they are due. */
  inOrder: boolean;
}

/** The leases of one tree. */
export class LeaseIndex {
  readonly #buckets = new Map<number, Bucket>();
  #bucketMin = Number.POSITIVE_INFINITY;

  /** Adds a lease; its id must not be in the index with another time. */
  add(id: ReservationId, reclaimMs: number): void {
    const bucketNo = bucketNoOf(reclaimMs);
    let bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) {
      bucket = { leases: new Map(), inOrder: true };
      this.#buckets.set(bucketNo, bucket);
      if (bucketNo < this.#bucketMin) this.#bucketMin = bucketNo;
    } else bucket.inOrder = false;
    bucket.leases.set(id, reclaimMs - bucketNo * BUCKET_MS);
  }

  /** Removes a lease that was added with this time. */
  remove(id: ReservationId, reclaimMs: number): void {
    const bucketNo = bucketNoOf(reclaimMs);
    const bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) return;
    bucket.leases.delete(id);
    if (bucket.leases.size > 0) return;
    this.#buckets.delete(bucketNo);
    if (bucketNo === this.#bucketMin)
      this.#bucketMin = this.#buckets.size === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  }

  /** Up to `countMax` leases with reclaimMs <= nowMs, by time, then id. */
  due(nowMs: number, countMax: number): Lease[] {
    const found: Lease[] = [];
    if (countMax === 0) return found;
    for (const lease of this.between(Number.NEGATIVE_INFINITY, nowMs)) {
      found.push(lease);
      if (found.length === countMax) break;
    }
    return found;
  }

  /** When the first is due; infinite where there is none. */
  nextMs(): number {
    for (const { reclaimMs } of this.between(Number.NEGATIVE_INFINITY, Number.MAX_SAFE_INTEGER)) return reclaimMs;
    return Number.POSITIVE_INFINITY;
  }

  /** Leases with afterMs < reclaimMs <= untilMs, by time, then id. The index must not change until the last one is read. */
  *between(afterMs: number, untilMs: number): Generator<Lease> {
    const bucketMax = bucketNoOf(untilMs);
    if (this.#firstBucket() > bucketMax) return;
    for (const bucketNo of this.#bucketsBetween(bucketNoOf(afterMs), bucketMax)) {
      for (const [id, afterStartMs] of this.#inOrder(bucketNo)) {
        const reclaimMs = bucketNo * BUCKET_MS + afterStartMs;
        if (reclaimMs > untilMs) return;
        if (reclaimMs > afterMs) yield { id, reclaimMs };
      }
    }
  }

  // NaN marks a smallest bucket that was emptied: it is looked up again only when somebody asks.
  #firstBucket(): number {
    if (Number.isNaN(this.#bucketMin)) {
      let min = Number.POSITIVE_INFINITY;
      for (const bucketNo of this.#buckets.keys()) if (bucketNo < min) min = bucketNo;
      this.#bucketMin = min;
    }
    return this.#bucketMin;
  }

  #bucketsBetween(bucketMin: number, bucketMax: number): number[] {
    return [...this.#buckets.keys()].filter((no) => no >= bucketMin && no <= bucketMax).sort((a, b) => a - b);
  }

  #inOrder(bucketNo: number): ReadonlyMap<ReservationId, number> {
    const bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) return new Map();
    if (!bucket.inOrder) {
      bucket.leases = new Map([...bucket.leases].sort(([aId, a], [bId, b]) => a - b || (aId < bId ? -1 : 1)));
      bucket.inOrder = true;
    }
    return bucket.leases;
  }
}

function bucketNoOf(reclaimMs: number): number {
  return Math.floor(reclaimMs / BUCKET_MS);
}
