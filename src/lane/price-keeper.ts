// Holds the price book while this process leads. It is read when the lead begins, and until then nothing has a price, so that no call
// is priced by a book that another leader has added to; what the program's catalogue has anew is added then. Afterwards the book
// changes here alone, since only the leader adds, and every addition is guarded by the epoch. What needs no price waits for nothing
// of this.
import type { Unpriced } from '../kernel/price.ts';
import type { Refusal } from '../kernel/refusal.ts';
import type { CatalogueNote } from '../pricing/catalogue.ts';
import { OUTPUT_TOKENS_DEFAULT } from '../pricing/estimate.ts';
import { buildPriceBook, type PriceBook, type Retirement } from '../pricing/price-book.ts';
import { StoreUnavailableError } from '../store/port.ts';
import type { PriceStore } from '../store/price-port.ts';
import { importInto, latestVersion, type PriceCatalogue } from './catalogue-import.ts';
import type { Log } from './log.ts';
import { Loop, type Sleep } from './loop.ts';
import { decodePrices, encodePrices, NO_PRICE_RECORDS, type PriceRecords } from './price-records.ts';
import type { PriceUnknownWord } from './price-unknown-words.ts';
import type { PriceChange, PriceSnapshot, Prices, PricesStatus } from './prices.ts';
import * as refusals from './refusals.ts';
import { UnknownPrices } from './unknown-prices.ts';

/** What an operator sets. */
export interface PriceOptions {
  /** Default: none is imported. */
  readonly catalogue?: PriceCatalogue | undefined;
  /** Age from which the catalogue counts as stale, in milliseconds. Default: STALE_AFTER_MS. */
  readonly staleAfterMs?: number;
  /** Default: OUTPUT_TOKENS_DEFAULT. */
  readonly outputTokensDefault?: number;
}

/** Providers change prices every few months. */
export const STALE_AFTER_MS = 90 * 86_400_000;

/** Between two tries to read the book: nothing has a price meanwhile. */
const RETRY_MS = 250;

/** While it can't be read as it was written: somebody has to mend it first. */
const UNREADABLE_RETRY_MS = 5_000;

/** Reading takes far less, and a store that is away comes back within seconds. */
const UNREAD: Unpriced = {
  kind: 'unpriced',
  reason: 'STORE_UNAVAILABLE',
  message: 'the price book is not read yet; what needs no price is decided',
  retryAfterMs: 1_000,
};

const UNREADABLE: Unpriced = {
  kind: 'unpriced',
  reason: 'PRICE_UNKNOWN',
  message:
    'the price book can not be read, so that nothing has a price until an operator has looked; amounts need none',
  why: 'book_unreadable' satisfies PriceUnknownWord,
};

/** Everything the keeper works with. */
export interface PriceKeeperDeps extends PriceOptions {
  readonly store: PriceStore;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly leaderAddress: () => string;
  /** Called when an addition under `epoch` found another one. */
  readonly onFenced: (epoch: number) => void;
  readonly sleep: Sleep;
}

/** See the head of this file. */
export class PriceKeeper implements Prices {
  readonly #deps: PriceKeeperDeps;
  readonly #loop: Loop;
  readonly outputTokensDefault: number;
  readonly #unknown = new UnknownPrices();
  #snapshot: PriceSnapshot = snapshotOf(NO_PRICE_RECORDS);
  #notes: readonly CatalogueNote[] = [];
  /** The epoch of this process's lead; undefined while it has none. */
  #leading: number | undefined;
  /** The epoch for which the book was read. */
  #loaded: number | undefined;
  /** Whether the store may hold more than the book: an addition got no answer. */
  #isBehind = false;
  /** Why the last try to read it failed, where the store answered. */
  #problem: string | undefined;
  /** The last addition, or reading, that was begun. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: PriceKeeperDeps) {
    this.#deps = deps;
    this.outputTokensDefault = deps.outputTokensDefault ?? OUTPUT_TOKENS_DEFAULT;
    this.#loop = new Loop({
      round: () => this.#loadOnce(),
      pauseMs: () => (this.#problem === undefined ? RETRY_MS : UNREADABLE_RETRY_MS),
      failure: 'the price book could not be read',
      log: deps.log,
      sleep: deps.sleep,
    });
  }

  /** The epoch under which things have prices: that of the lead, once the book was read for it. */
  get epoch(): number | undefined {
    return this.#leading === this.#loaded ? this.#leading : undefined;
  }

  /** The book in force, or why there is none. */
  get book(): PriceBook | Unpriced {
    return this.#missing ?? this.#snapshot.book;
  }

  /** A lead begins: the book has to be read before anything has a price. */
  lead(epoch: number): void {
    this.#leading = epoch;
    this.#loaded = undefined;
    this.#problem = undefined;
    this.#loop.start();
    this.#loadOnce().catch((error: unknown) => {
      const level = error instanceof StoreUnavailableError ? 'warn' : 'error';
      this.#deps.log(level, 'the price book could not be read at once; it is tried again', { error });
    });
  }

  /** The lead is over. */
  lose(): void {
    this.#leading = undefined;
  }

  /** Resolves when what was begun has ended. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  async stop(): Promise<void> {
    this.#leading = undefined;
    await this.#loop.stop();
    await this.settled();
  }

  read(): PriceSnapshot | Refusal {
    return this.#refusal() ?? this.#snapshot;
  }

  change<T, R extends { readonly kind: 'refusal' } = never>(
    make: (now: PriceSnapshot, nowMs: number) => PriceChange<T> | R,
  ): Promise<T | R | Refusal> {
    return this.#inTurn(async () => {
      if (this.#isBehind && !(await this.#isReadAnew())) return this.#refusal() ?? refusals.storeUnavailable();
      const { epoch } = this;
      const refusal = this.#refusal();
      if (refusal !== undefined || epoch === undefined) return refusal ?? this.#notLeader();
      const change = make(this.#snapshot, this.#deps.nowMs());
      if ('kind' in change) return change;
      try {
        if (!(await this.#write(epoch, change.added))) return this.#notLeader();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        this.#deps.log('warn', 'prices could not be added', { error });
        // They may have been. Nobody was told so: until it is read anew the book prices as it is, and takes nothing.
        this.#isBehind = true;
        return refusals.storeUnavailable();
      }
      if (!isEmpty(change.added)) this.#snapshot = snapshotOf(withAdded(this.#snapshot.records, change.added));
      return change.answer;
    });
  }

  /** Notes a refusal that callers got, for those who look after prices. */
  noteRefusal(refusal: Refusal): void {
    this.#unknown.note(refusal, this.#deps.nowMs());
  }

  status(): PricesStatus {
    const loaded = this.epoch !== undefined;
    const { rows, aliases, unitRows, retirements, versions } = loaded ? this.#snapshot.records : NO_PRICE_RECORDS;
    const catalogue = latestVersion(versions);
    const catalogueAgeMs = catalogue === undefined ? 0 : Math.max(0, this.#deps.nowMs() - catalogue.importedMs);
    return {
      loaded,
      problem: this.#leading === undefined ? undefined : this.#problem,
      catalogue,
      catalogueAgeMs,
      stale: catalogue !== undefined && catalogueAgeMs > (this.#deps.staleAfterMs ?? STALE_AFTER_MS),
      rowCount: rows.length,
      aliasCount: aliases.length,
      unitRowCount: unitRows.length,
      retirementCount: retirements.length,
      notes: loaded ? this.#notes : [],
      unknownCount: this.#unknown.count,
      unknown: this.#unknown.latest,
    };
  }

  #refusal(): Refusal | undefined {
    if (this.#leading === undefined) return this.#notLeader();
    const missing = this.#missing;
    if (missing === undefined) return undefined;
    const { reason, message, retryAfterMs, why } = missing;
    return {
      kind: 'refusal',
      reason,
      message,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(why !== undefined && { unpriced: { why } }),
    };
  }

  get #missing(): Unpriced | undefined {
    if (this.epoch !== undefined) return undefined;
    return this.#problem === undefined ? UNREAD : UNREADABLE;
  }

  #notLeader(): Refusal {
    return refusals.notLeader(this.#deps.leaderAddress());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #loadOnce(): Promise<void> {
    return this.#inTurn(() => this.#load());
  }

  // A repeat of what was added without an answer must find it.
  async #isReadAnew(): Promise<boolean> {
    try {
      await this.#load();
      return !this.#isBehind;
    } catch (error) {
      this.#deps.log('warn', 'prices could not be added: the book could not be read anew', { error });
      return false;
    }
  }

  async #load(): Promise<void> {
    const epoch = this.#leading;
    if (epoch === undefined || (this.#loaded === epoch && !this.#isBehind)) return;
    try {
      await this.#read(epoch);
      this.#problem = undefined;
    } catch (error) {
      this.#problem = error instanceof StoreUnavailableError ? undefined : String(error);
      throw error;
    }
  }

  async #read(epoch: number): Promise<void> {
    const records = decodePrices(await this.#deps.store.loadPrices());
    await turnOfOthers();
    const added = this.#loaded === epoch ? {} : this.#import(records);
    await turnOfOthers();
    if (!isEmpty(added) && !(await this.#write(epoch, added))) return;
    const snapshot = snapshotOf(withAdded(records, added));
    if (this.#leading !== epoch) return;
    this.#snapshot = snapshot;
    this.#isBehind = false;
    this.#loaded = epoch;
  }

  #import(records: PriceRecords): Partial<PriceRecords> {
    const { catalogue, log, nowMs } = this.#deps;
    if (catalogue === undefined) return {};
    const { name, version } = catalogue;
    const { added, notes, leftOutFor } = importInto(records, catalogue, nowMs());
    this.#notes = notes;
    if (leftOutFor !== undefined) {
      log('warn', 'the catalogue of prices was not imported: a newer one has been', { name, version, leftOutFor });
    } else if (!isEmpty(added)) {
      const { rows = [], aliases = [], retirements = [] } = added;
      const counts = { rows: rows.length, aliases: aliases.length, retirements: retirements.length };
      const left = [...Map.groupBy(notes, ({ reason }) => reason)].map(([reason, { length }]) => [reason, length]);
      log('info', 'importing a catalogue of prices', { name, version, ...counts, left: Object.fromEntries(left) });
    }
    return added;
  }

  /** False where this process no longer leads. */
  async #write(epoch: number, added: Partial<PriceRecords>): Promise<boolean> {
    if ((await this.#deps.store.addPrices(epoch, encodePrices(added))) === 'added') return true;
    this.#deps.onFenced(epoch);
    return false;
  }
}

// Reading thousands of records is a few dozen milliseconds in all: whatever else the process does gets in between.
const turnOfOthers = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const isEmpty = (added: Partial<PriceRecords>): boolean => Object.values(added).every(({ length }) => length === 0);

function withAdded(records: PriceRecords, added: Partial<PriceRecords>): PriceRecords {
  return {
    rows: [...records.rows, ...(added.rows ?? [])],
    aliases: [...records.aliases, ...(added.aliases ?? [])],
    unitRows: [...records.unitRows, ...(added.unitRows ?? [])],
    retirements: [...records.retirements, ...(added.retirements ?? [])],
    versions: [...records.versions, ...(added.versions ?? [])],
  };
}

function snapshotOf(records: PriceRecords): PriceSnapshot {
  const ends = new Map<string, Retirement>();
  for (const end of records.retirements) {
    const known = ends.get(end.rowHash);
    if (known === undefined || end.fromMs < known.fromMs) ends.set(end.rowHash, end);
  }
  return { book: buildPriceBook(records), ends, records };
}
