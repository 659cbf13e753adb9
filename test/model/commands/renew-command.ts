// A Renew of one of the latest reservations.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, reservationOf, submitAndCompare, type Target } from '../model-command.ts';

export class RenewCommand implements ModelCommand {
  readonly #ref: number;
  readonly #ttlMs: number;
  readonly #key: string | undefined;

  constructor(ref: number, ttlMs: number, key: string | undefined) {
    this.#ref = ref;
    this.#ttlMs = ttlMs;
    this.#key = key;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const options = this.#key === undefined ? {} : { key: this.#key };
    await submitAndCompare(model, target, target.make.renew(reservationOf(model, this.#ref), this.#ttlMs, options));
  }

  toString(): string {
    return `Renew(latest but ${this.#ref}, ${this.#ttlMs} ms, key ${this.#key ?? 'none'})`;
  }
}
