// Calls that were refused for want of a price, since the start of the process: how many, and of the latest which budget asked for
// which model. Bounded whatever callers send, so that an operator sees what to add and nobody can fill the memory.
import type { Refusal } from '../kernel/refusal.ts';

/** One budget and model, or unit, that lacks a price. */
export interface UnknownPriceNote {
  readonly budget: string;
  /** Both empty where the unit is what has no price. */
  readonly provider: string;
  readonly model: string;
  /** Empty where a model is. */
  readonly unit: string;
  /** Why the latest one had no price, in the word of the refusal; empty where the unit is what has none. */
  readonly why: string;
  /** Refusals for it since it was last forgotten; at least 1. */
  readonly count: number;
  /** Of the latest one, by the coordinator's clock. */
  readonly lastMs: number;
}

/** As many as fit on a page. The one that was not asked for longest is forgotten first. */
const NOTES_MAX = 20;

/** See the head of this file. */
export class UnknownPrices {
  readonly #notes = new Map<string, UnknownPriceNote>();
  #count = 0;

  /** Refusals in all. */
  get count(): number {
    return this.#count;
  }

  /** The latest first. */
  get latest(): readonly UnknownPriceNote[] {
    return [...this.#notes.values()].reverse();
  }

  /** Notes a refusal; one for another reason is nothing to it. */
  note(refusal: Refusal, nowMs: number): void {
    if (refusal.reason !== 'PRICE_UNKNOWN') return;
    const { budget = '', unpriced } = refusal;
    const { provider = '', model = '', unit = '', why = '' } = unpriced ?? {};
    this.#count += 1;
    // The book itself could not be read: there is nothing to add.
    if (provider === '' && unit === '') return;
    const key = JSON.stringify([budget, provider, model, unit]);
    const count = (this.#notes.get(key)?.count ?? 0) + 1;
    this.#notes.delete(key);
    this.#notes.set(key, { budget, provider, model, unit, why, count, lastMs: nowMs });
    const [oldest] = this.#notes.keys();
    if (this.#notes.size > NOTES_MAX && oldest !== undefined) this.#notes.delete(oldest);
  }
}
