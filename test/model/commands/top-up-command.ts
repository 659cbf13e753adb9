// A TopUp, where there is a limit to raise.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, PLACES, pathOf, submitAndCompare, type Target } from '../model-command.ts';

export class TopUpCommand implements ModelCommand {
  readonly #place: number;
  /** The how-manieth limit is named, as long as there are so many; otherwise none is. */
  readonly #limit: number;
  readonly #add: number;
  readonly #key: string | undefined;

  constructor(place: number, limit: number, add: number, key: string | undefined) {
    this.#place = place;
    this.#limit = limit;
    this.#add = add;
    this.#key = key;
  }

  check(model: Readonly<BudgetModel>): boolean {
    const budget = [...model.budgets.values()][this.#place % PLACES.length];
    return (budget?.limits.size ?? 0) > 0;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const path = pathOf(target, this.#place);
    const limit = [...(model.budgets.get(path)?.limits.keys() ?? [])][this.#limit];
    const named = limit === undefined ? {} : { limit };
    const keyed = this.#key === undefined ? {} : { key: this.#key };
    await submitAndCompare(model, target, target.make.topUp(path, this.#add, { ...named, ...keyed }));
  }

  toString(): string {
    return `TopUp(place ${this.#place}, limit ${this.#limit}, ${this.#add}, key ${this.#key ?? 'none'})`;
  }
}
