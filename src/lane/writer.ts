// Keeps this process's claim to be the one writer: takes the store's lease when it is free or has run out, renews it, and
// says so when it is lost. The lease only decides who tries; what makes a stale writer harmless is that every append checks
// its epoch.
import { type Store, StoreUnavailableError, type WriterLease } from '../store/port.ts';
import type { StoreClock } from './clock.ts';
import type { Log } from './log.ts';
import { Loop, type Sleep } from './loop.ts';

/** How long a lease lasts without renewal, by the store's clock. A killed writer is replaced within this and one round. */
const LEASE_TTL_MS = 6_000;

/** Between two renewals: two may fail before the lease runs out. */
const ROUND_MS = 1_500;

/** After a renewal that failed while the lease still runs: a store that is back for a moment must not be missed. */
const RETRY_MS = 100;

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
  /** Called when an epoch begins, with how long nobody could decide by the right time before it. */
  readonly onLead: (epoch: number, gapMs: number) => void;
  readonly onLost: () => void;
  readonly monotonicMs: () => number;
  readonly sleep: Sleep;
}

/** See the head of this file. */
export class Writer {
  readonly #deps: WriterDeps;
  readonly #loop: Loop;
  #epoch: number | undefined;
  #leaderAddress = '';
  /** Epoch of the other process that was last seen to lead. */
  #seenEpoch: number | undefined;
  /** By the monotonic clock: until then the lease runs at least. */
  #leaseEndMs = 0;
  /** Up to where this process decided by a clock that it then gave up; undefined where it did not. */
  #astrayFromMs: number | undefined;

  #address: string;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#address = deps.address;
    this.#loop = new Loop({
      round: () => this.#round(),
      pauseMs: () => this.#pauseMs(),
      failure: 'the writer lease could not be renewed',
      log: deps.log,
      sleep: deps.sleep,
    });
  }

  /** The epoch under which this process may append; undefined while it is not the writer. */
  get epoch(): number | undefined {
    return this.#epoch;
  }

  /** Where the writer can be reached, as it announced itself; empty if none is known. */
  get leaderAddress(): string {
    return this.#leaderAddress;
  }

  /** Tells another address from the next renewal on: where the service came to listen was not known before. */
  announce(address: string): void {
    this.#address = address;
  }

  /** Tries once, then goes on in rounds. Throws where the store can't be reached at all. */
  async start(): Promise<void> {
    await this.#claim();
    this.#loop.start();
  }

  /** Gives the lease back, so that a standby takes over at once. Appends must have ended. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    const epoch = this.#epoch;
    if (epoch === undefined) return;
    this.#epoch = undefined;
    try {
      await this.#deps.store.releaseWriterLease(this.#deps.holder, epoch);
    } catch (error) {
      this.#deps.log('warn', 'the writer lease could not be given back; it runs out by itself', { error });
    }
  }

  /** An append under `epoch` found another one. Where this process leads under a later epoch by now, that one stays. */
  fenced(epoch: number): void {
    if (this.#epoch !== epoch) return;
    this.#deps.log('warn', 'this process is no longer the writer', { epoch });
    this.#lose();
  }

  #pauseMs(): number {
    if (this.#epoch === undefined) return STANDBY_ROUND_MS;
    if (this.#loop.failureCount === 0) return ROUND_MS;
    return this.#deps.monotonicMs() < this.#leaseEndMs ? RETRY_MS : STANDBY_ROUND_MS;
  }

  async #round(): Promise<void> {
    await this.#claim();
    if (this.#epoch !== undefined && this.#deps.storeClock?.isAstray === true) await this.#startAnew(this.#epoch);
  }

  async #claim(): Promise<void> {
    const { store, holder, storeClock, monotonicMs, graceMs = 0 } = this.#deps;
    const sentMs = monotonicMs();
    const asked = this.#epoch;
    const lease = await store.holdWriterLease(holder, this.#address, asked, LEASE_TTL_MS, graceMs);
    const roundTripMs = monotonicMs() - sentMs;
    // Who asked without an epoch decided nothing by the clock it has.
    if (asked === undefined) storeClock?.tie(lease.storeNowMs, roundTripMs);
    else storeClock?.follow(lease.storeNowMs, roundTripMs);
    if (!lease.held) {
      if (asked !== undefined) this.fenced(asked);
      this.#leaderAddress = lease.address;
      this.#standBy(lease);
      return;
    }
    // An append was fenced while the answer was under way, which is older than that.
    if (lease.epoch === asked && this.#epoch !== asked) return;
    this.#leaderAddress = lease.address;
    this.#leaseEndMs = sentMs + LEASE_TTL_MS;
    if (lease.epoch !== asked) this.#lead(lease);
  }

  #lead(lease: WriterLease): void {
    const { storeClock, log, onLead } = this.#deps;
    // Nobody could renew by the right time while this process decided by the wrong one.
    const astrayMs =
      storeClock === undefined || this.#astrayFromMs === undefined ? 0 : storeClock.nowMs() - this.#astrayFromMs;
    const gapMs = Math.max(lease.gapMs, astrayMs);
    this.#astrayFromMs = undefined;
    this.#seenEpoch = undefined;
    this.#epoch = lease.epoch;
    log('info', 'this process is the writer', { epoch: lease.epoch, gapMs });
    onLead(lease.epoch, gapMs);
  }

  // Said once for each leader: after a kill the next process has nothing else to show until the lease has run out.
  #standBy(lease: WriterLease): void {
    if (this.#seenEpoch === lease.epoch) return;
    this.#seenEpoch = lease.epoch;
    this.#deps.log('info', 'another process holds the writer lease; this one leads when it is given back or runs out', {
      leader: lease.address,
      epoch: lease.epoch,
      runsOutInMs: lease.expireMs - lease.storeNowMs,
    });
  }

  // Its clock can't be set under way: decisions would see the time jump. So the epoch ends, and the next one, which this
  // process asks for at once, begins with the clock tied anew and with a grace for every lease that the jump passed over.
  async #startAnew(epoch: number): Promise<void> {
    const { store, holder, storeClock, log } = this.#deps;
    if (storeClock === undefined) return;
    const differenceMs = Math.round(storeClock.refusedJumpMs);
    log('error', "the clock stays away from the database's; it is tied anew under a new epoch", {
      epoch,
      differenceMs,
    });
    this.#astrayFromMs = storeClock.nowMs();
    this.#lose();
    try {
      await store.releaseWriterLease(holder, epoch);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      log('warn', 'the writer lease could not be given back; it runs out by itself', { error });
    }
    await this.#claim();
  }

  #lose(): void {
    this.#epoch = undefined;
    // The address that is known is this process's own; the next round learns whose it is now.
    this.#leaderAddress = '';
    this.#deps.onLost();
  }
}
