// An edit of a budget by its operator: another amount, another policy for lapses.
import type { OnExpiry } from '../../../src/kernel/budget.ts';
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, pathOf, submitAndCompare, type Target } from '../model-command.ts';

export class EditCommand implements ModelCommand {
  readonly #place: number;
  readonly #amount: number | undefined;
  readonly #onExpiry: OnExpiry | undefined;

  constructor(place: number, amount: number | undefined, onExpiry: OnExpiry | undefined) {
    this.#place = place;
    this.#amount = amount;
    this.#onExpiry = onExpiry;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const command = target.make.update(pathOf(target, this.#place), {
      ...(this.#amount === undefined ? {} : { limits: this.#amount }),
      ...(this.#onExpiry === undefined ? {} : { onExpiry: this.#onExpiry }),
    });
    await submitAndCompare(model, target, command);
  }

  toString(): string {
    return `Edit(place ${this.#place}, amount ${this.#amount ?? 'as it is'}, on expiry ${this.#onExpiry ?? 'as it is'})`;
  }
}
