// A Release of one of the latest reservations.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, reservationOf, submitAndCompare, type Target } from '../model-command.ts';

export class ReleaseCommand implements ModelCommand {
  readonly #ref: number;
  readonly #key: string | undefined;

  constructor(ref: number, key: string | undefined) {
    this.#ref = ref;
    this.#key = key;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const options = this.#key === undefined ? {} : { key: this.#key };
    await submitAndCompare(model, target, target.make.release(reservationOf(model, this.#ref), options));
  }

  toString(): string {
    return `Release(latest but ${this.#ref}, key ${this.#key ?? 'none'})`;
  }
}
