// Appends until the outcome is known, and knows whether the store answers. Stands alone because both are about the store
// and nothing about commands.
import { type AppendResult, type Store, StoreUnavailableError, type TreeAppend } from '../store/port.ts';
import type { Log } from './log.ts';

/** How long an append whose outcome is unknown is repeated before its callers are told that the store does not answer. */
const UNKNOWN_OUTCOME_MS = 4_000;

/** Pause between two tries to reach the store. */
const STORE_RETRY_MS = 100;

/** Everything the appender works with. */
export interface AppenderDeps {
  readonly store: Store;
  readonly log: Log;
  readonly epoch: () => number | undefined;
  /** Called when `storeDown` has changed, before anybody is answered. */
  readonly onStoreChange?: () => void;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** See the head of this file. */
export class Appender {
  readonly #deps: AppenderDeps;
  #storeDown = false;
  #probing = false;
  #stopped = false;

  constructor(deps: AppenderDeps) {
    this.#deps = deps;
  }

  /** Whether the last try to reach the store failed. */
  get storeDown(): boolean {
    return this.#storeDown;
  }

  /**
   * Appends. A lost answer says nothing about the outcome, so the same is appended at the same heads again until the store
   * says what became of it. Throws StoreUnavailableError where it does not say so for UNKNOWN_OUTCOME_MS; from then on the
   * store is looked for in the background.
   */
  async append(epoch: number, appends: readonly TreeAppend[]): Promise<AppendResult> {
    const untilMs = this.#deps.monotonicMs() + UNKNOWN_OUTCOME_MS;
    for (;;) {
      try {
        const result = await this.#deps.store.append(epoch, appends);
        this.#setStoreDown(false);
        return result;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) {
          // It answers, if only with a fault, which is for the caller to handle.
          this.#setStoreDown(false);
          throw error;
        }
        // Nobody else should be let in to wait for what this batch may never learn.
        this.#setStoreDown(true);
        if (this.#stopped || this.#deps.monotonicMs() >= untilMs) {
          this.#lookForStore();
          throw error;
        }
        await this.#deps.sleep(STORE_RETRY_MS);
      }
    }
  }

  /** A read failed since the store does not answer. */
  readFailed(): void {
    this.#setStoreDown(true);
    this.#lookForStore();
  }

  /** Ends the looking. */
  stop(): void {
    this.#stopped = true;
  }

  #setStoreDown(down: boolean): void {
    if (this.#storeDown === down) return;
    this.#storeDown = down;
    this.#deps.onStoreChange?.();
  }

  #lookForStore(): void {
    if (this.#probing) return;
    this.#probing = true;
    this.#probe()
      .catch((error: unknown) => this.#deps.log('error', 'looking for the store failed', { error }))
      .finally(() => {
        this.#probing = false;
      });
  }

  // So that the first caller after an outage is not the one to find out.
  async #probe(): Promise<void> {
    while (this.#storeDown && !this.#stopped) {
      await this.#deps.sleep(STORE_RETRY_MS);
      try {
        await this.#deps.store.append(this.#deps.epoch() ?? 0, []);
      } catch (error) {
        if (error instanceof StoreUnavailableError) continue;
        // A fault is an answer too: whoever appends next will meet it and be told, instead of nobody being let in.
        this.#deps.log('error', 'the store answers with a fault', { error });
      }
      this.#setStoreDown(false);
      this.#deps.log('info', 'the store answers again');
    }
  }
}
