// Keeps this process's claim to be the one writer: takes the store's lease when it is free or has run out, renews it, and
// says so when it is lost. The lease only decides who tries; what makes a stale writer harmless is that every append checks
// its epoch.
import { type Store, StoreUnavailableError } from '../store/port.ts';
import type { StoreClock } from './clock.ts';
import type { Log } from './log.ts';

/** How long a lease lasts without renewal, by the store's clock. A killed writer is replaced within this and one round. */
const LEASE_TTL_MS = 6_000;

/** Between two renewals: two may fail before the lease runs out. */
const ROUND_MS = 1_500;

/** Between two looks of a standby: a lease that was given back is taken within this. A look costs one read of one row. */
const STANDBY_ROUND_MS = 500;

/** Everything the writer works with. */
export interface WriterDeps {
  readonly store: Store;
  /** Unique to this process. */
  readonly holder: string;
  /** Address to tell callers of standbys. */
  readonly address: string;
  /** Tied to the store's clock with every answer; undefined where time is injected. */
  readonly storeClock: StoreClock | undefined;
  readonly log: Log;
  /** Between the end of a reservation's lease and its lapse; see Store.holdWriterLease. Default: 0. */
  readonly graceMs?: number;
  /** Called when an epoch begins, with how long there was no leader before it. */
  readonly onLead: (epoch: number, gapMs: number) => void;
  readonly onLost: () => void;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** See the head of this file. */
export class Writer {
  readonly #deps: WriterDeps;
  #epoch: number | undefined;
  #leaderAddress = '';
  #running = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  /** The epoch under which this process may append; undefined while it is not the writer. */
  get epoch(): number | undefined {
    return this.#epoch;
  }

  /** Where the writer can be reached, as it announced itself; empty if none is known. */
  get leaderAddress(): string {
    return this.#leaderAddress;
  }

  /** Tries once, then goes on in rounds. Throws where the store can't be reached at all. */
  async start(): Promise<void> {
    await this.#claim();
    this.#running = true;
    this.#loop = this.#run();
  }

  /** Gives the lease back, so that a standby takes over at once. Appends must have ended. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
    const epoch = this.#epoch;
    if (epoch === undefined) return;
    this.#epoch = undefined;
    try {
      await this.#deps.store.releaseWriterLease(this.#deps.holder, epoch);
    } catch (error) {
      this.#deps.log('warn', 'the writer lease could not be given back; it runs out by itself', { error });
    }
  }

  /** An append found another epoch. */
  fenced(): void {
    if (this.#epoch === undefined) return;
    this.#epoch = undefined;
    // The address that is known is this process's own; the next round learns whose it is now.
    this.#leaderAddress = '';
    this.#deps.log('warn', 'this process is no longer the writer');
    this.#deps.onLost();
  }

  async #run(): Promise<void> {
    while (this.#running) {
      await this.#deps.sleep(this.#epoch === undefined ? STANDBY_ROUND_MS : ROUND_MS);
      if (!this.#running) return;
      try {
        await this.#claim();
      } catch (error) {
        const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
        this.#deps.log(level, 'the writer lease could not be renewed', { error });
      }
    }
  }

  async #claim(): Promise<void> {
    const { store, holder, address, storeClock, monotonicMs, graceMs = 0 } = this.#deps;
    const sentMs = monotonicMs();
    const lease = await store.holdWriterLease(holder, address, this.#epoch, LEASE_TTL_MS, graceMs);
    storeClock?.follow(lease.storeNowMs, monotonicMs() - sentMs);
    if (lease.held && lease.epoch !== this.#epoch) {
      this.#epoch = lease.epoch;
      this.#deps.log('info', 'this process is the writer', { epoch: lease.epoch, gapMs: lease.gapMs });
      this.#deps.onLead(lease.epoch, lease.gapMs);
    } else if (!lease.held) {
      this.fenced();
    }
    this.#leaderAddress = lease.address;
  }
}
