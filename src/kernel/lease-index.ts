// Finds the live reservations that are due, oldest first. Buckets of one second: adding and removing cost the same
// however many leases there are, and a hold that is settled early leaves nothing behind, unlike in a heap. A bucket is put
// into order when somebody reads it, and stays so while its leases go, so that a hundred thousand of them that are due at
// once can be taken page by page.
import { IndexedHeap } from './indexed-heap.ts';
import type { ReservationId } from './names.ts';

const BUCKET_MS = 1_000;

/** A live reservation and the first instant at which it counts as lapsed. */
export interface Lease {
  readonly id: ReservationId;
  readonly reclaimMs: number;
}

interface Bucket {
  readonly no: number;
  /** By how many milliseconds they are due after the bucket begins: small numbers need no memory of their own. */
  leases: Map<ReservationId, number>;
  /** Whether `leases` is in the order in which they are due. */
  inOrder: boolean;
  /** The least of `leases`; undefined where it has to be looked for. */
  leastMs: number | undefined;
}

/** The leases of one tree. */
export class LeaseIndex {
  readonly #buckets = new Map<number, Bucket>();
  /** Who asks for the first one asks after every batch, and there may be one for each second of a day. */
  readonly #firstBuckets = new IndexedHeap<Bucket>((a, b) => a.no < b.no);

  /** Adds a lease; its id must not be in the index with another time. */
  add(id: ReservationId, reclaimMs: number): void {
    const bucketNo = bucketNoOf(reclaimMs);
    const afterStartMs = reclaimMs - bucketNo * BUCKET_MS;
    let bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) {
      bucket = { no: bucketNo, leases: new Map(), inOrder: true, leastMs: afterStartMs };
      this.#buckets.set(bucketNo, bucket);
      this.#firstBuckets.add(bucket);
    } else {
      bucket.inOrder = false;
      if (bucket.leastMs !== undefined && afterStartMs < bucket.leastMs) bucket.leastMs = afterStartMs;
    }
    bucket.leases.set(id, afterStartMs);
  }

  /** Removes a lease that was added with this time. */
  remove(id: ReservationId, reclaimMs: number): void {
    const bucketNo = bucketNoOf(reclaimMs);
    const bucket = this.#buckets.get(bucketNo);
    if (bucket === undefined) return;
    bucket.leases.delete(id);
    if (bucket.leases.size === 0) {
      this.#buckets.delete(bucketNo);
      this.#firstBuckets.remove(bucket);
    } else if (reclaimMs - bucketNo * BUCKET_MS === bucket.leastMs) bucket.leastMs = undefined;
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
    const bucket = this.#firstBuckets.top;
    if (bucket === undefined) return Number.POSITIVE_INFINITY;
    bucket.leastMs ??= leastOf(bucket.leases.values());
    return bucket.no * BUCKET_MS + bucket.leastMs;
  }

  /** Leases with afterMs < reclaimMs <= untilMs, by time, then id. The index must not change until the last one is read. */
  *between(afterMs: number, untilMs: number): Generator<Lease> {
    const bucketMax = bucketNoOf(untilMs);
    const first = this.#firstBuckets.top;
    if (first === undefined || first.no > bucketMax) return;
    for (const bucketNo of this.#bucketsBetween(Math.max(first.no, bucketNoOf(afterMs)), bucketMax)) {
      for (const [id, afterStartMs] of this.#inOrder(bucketNo)) {
        const reclaimMs = bucketNo * BUCKET_MS + afterStartMs;
        if (reclaimMs > untilMs) return;
        if (reclaimMs > afterMs) yield { id, reclaimMs };
      }
    }
  }

  // Those of the next seconds one by one: usually few are due, of many.
  #bucketsBetween(bucketMin: number, bucketMax: number): Iterable<number> {
    if (bucketMax - bucketMin < this.#buckets.size) return this.#bucketsFrom(bucketMin, bucketMax);
    return [...this.#buckets.keys()].filter((no) => no >= bucketMin && no <= bucketMax).sort((a, b) => a - b);
  }

  *#bucketsFrom(bucketMin: number, bucketMax: number): Generator<number> {
    for (let no = bucketMin; no <= bucketMax; no += 1) if (this.#buckets.has(no)) yield no;
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

function leastOf(all: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const each of all) if (each < least) least = each;
  return least;
}

function bucketNoOf(reclaimMs: number): number {
  return Math.floor(reclaimMs / BUCKET_MS);
}
