// An earlier command sent once more, as a caller does that lost the answer.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, submitAndCompare, type Target } from '../model-command.ts';

export class RepeatCommand implements ModelCommand {
  readonly #ref: number;

  constructor(ref: number) {
    this.#ref = ref;
  }

  check(model: Readonly<BudgetModel>): boolean {
    return this.#ref < model.told.length;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const earlier = model.told[model.told.length - 1 - this.#ref];
    // Making a budget again is refused by its name, which is a table's business.
    if (earlier === undefined || earlier.kind === 'CreateBudget') return;
    await submitAndCompare(model, target, target.make.again(earlier));
  }

  toString(): string {
    return `Repeat(last but ${this.#ref})`;
  }
}
