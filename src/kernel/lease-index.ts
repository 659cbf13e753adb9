// Finds the live reservations that are due, oldest first. Buckets of one second: adding and removing cost the same
// however many leases there are, and a hold that is settled early leaves nothing behind, unlike in a heap.
import type { ReservationId } from './names.ts';

const BUCKET_MS = 1_000;

/** A live reservation and the first instant at which it counts as lapsed. */
export interface Lease {
  readonly id: ReservationId;
  readonly reclaimMs: number;
}

/** The leases of one tree. */
export class LeaseIndex {
  readonly #buckets = new Map<number, Map<ReservationId, number>>();
  #bucketMin = Number.POSITIVE_INFINITY;

  /** Adds a lease; its id must not be in the index with another time. */
  add(id: ReservationId, reclaimMs: number): void {
    const bucketNo = Math.floor(reclaimMs / BUCKET_MS);
    let bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) {
      bucket = new Map();
      this.#buckets.set(bucketNo, bucket);
      if (bucketNo < this.#bucketMin) this.#bucketMin = bucketNo;
    }
    bucket.set(id, reclaimMs);
  }

  /** Removes a lease that was added with this time. */
  remove(id: ReservationId, reclaimMs: number): void {
    const bucketNo = Math.floor(reclaimMs / BUCKET_MS);
    const bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) return;
    bucket.delete(id);
    if (bucket.size > 0) return;
    this.#buckets.delete(bucketNo);
    if (bucketNo === this.#bucketMin)
      this.#bucketMin = this.#buckets.size === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  }

  /** Up to `countMax` leases with reclaimMs <= nowMs, by time, then id. */
  due(nowMs: number, countMax: number): Lease[] {
    const nowBucket = Math.floor(nowMs / BUCKET_MS);
    if (this.#firstBucket() > nowBucket) return [];
    const found: Lease[] = [];
    for (const bucketNo of this.#bucketsUpTo(nowBucket)) {
      const bucket = this.#buckets.get(bucketNo) as Map<ReservationId, number>;
      const before = found.length;
      for (const [id, reclaimMs] of bucket) {
        if (reclaimMs <= nowMs) found.push({ id, reclaimMs });
      }
      if (found.length > before && found.length >= countMax) break;
    }
    found.sort((a, b) => a.reclaimMs - b.reclaimMs || (a.id < b.id ? -1 : 1));
    return found.length > countMax ? found.slice(0, countMax) : found;
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

  #bucketsUpTo(bucketMax: number): number[] {
    return [...this.#buckets.keys()].filter((bucketNo) => bucketNo <= bucketMax).sort((a, b) => a - b);
  }
}
