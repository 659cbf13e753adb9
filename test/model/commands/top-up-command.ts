// A TopUp, where there is a limit to raise.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, PLACES, pathOf, submitAndCompare, type Target } from '../model-command.ts';

export class TopUpCommand implements ModelCommand {
  readonly #place: number;
  readonly #add: number;
  readonly #key: string | undefined;

  constructor(place: number, add: number, key: string | undefined) {
    this.#place = place;
    this.#add = add;
    this.#key = key;
  }

  check(model: Readonly<BudgetModel>): boolean {
    const budget = [...model.budgets.values()][this.#place % PLACES.length];
    return budget?.amount !== undefined;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const options = this.#key === undefined ? {} : { key: this.#key };
    await submitAndCompare(model, target, target.make.topUp(pathOf(target, this.#place), this.#add, options));
  }

  toString(): string {
    return `TopUp(place ${this.#place}, ${this.#add}, key ${this.#key ?? 'none'})`;
  }
}
