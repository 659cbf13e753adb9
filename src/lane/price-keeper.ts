// Holds the price book while this process leads. It is read when the lead begins, and until then nothing is decided, so that no call
// is priced by a book that another leader has added to; what the program's catalogue has anew is added then. Afterwards the book
// changes here alone, since only the leader adds, and every addition is guarded by the epoch.
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

/** Between two tries to read the book: nothing is decided meanwhile. */
const RETRY_MS = 250;

/** Everything the keeper works with. */
export interface PriceKeeperDeps extends PriceOptions {
  readonly store: PriceStore;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly leaderAddress: () => string;
  /** Called when an addition under `epoch` found another one. */
  readonly onFenced: (epoch: number) => void;
  /** Called when `epoch` has changed. */
  readonly onChange: () => void;
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
  /** The last addition, or reading, that was begun. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: PriceKeeperDeps) {
    this.#deps = deps;
    this.outputTokensDefault = deps.outputTokensDefault ?? OUTPUT_TOKENS_DEFAULT;
    this.#loop = new Loop({
      round: () => this.#loadOnce(),
      pauseMs: () => RETRY_MS,
      failure: 'the price book could not be read',
      log: deps.log,
      sleep: deps.sleep,
    });
  }

  /** The epoch under which decisions may be made: that of the lead, once the book was read for it. */
  get epoch(): number | undefined {
    return this.#leading === this.#loaded ? this.#leading : undefined;
  }

  /** The book in force. */
  get book(): PriceBook {
    return this.#snapshot.book;
  }

  /** A lead begins: the book has to be read before anything is decided. */
  lead(epoch: number): void {
    this.#leading = epoch;
    this.#loaded = undefined;
    this.#loop.start();
    this.#loadOnce().catch((error: unknown) => {
      this.#deps.log('warn', 'the price book could not be read at once; it is tried again', { error });
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
        // They may have been. Nobody was told so: until it is read anew the book decides as it is.
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
    return this.epoch === undefined ? refusals.storeUnavailable() : undefined;
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
    return this.#inTurn(async () => {
      const epoch = this.#leading;
      if (epoch === undefined || (this.#loaded === epoch && !this.#isBehind)) return;
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
      this.#deps.onChange();
    });
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
