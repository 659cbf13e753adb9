// A budget suspended, resumed or closed.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, pathOf, submitAndCompare, type Target } from '../model-command.ts';

export class SwitchCommand implements ModelCommand {
  readonly #what: 'suspend' | 'resume' | 'close';
  readonly #place: number;

  constructor(what: 'suspend' | 'resume' | 'close', place: number) {
    this.#what = what;
    this.#place = place;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    await submitAndCompare(model, target, target.make[this.#what](pathOf(target, this.#place)));
  }

  toString(): string {
    return `${this.#what}(place ${this.#place})`;
  }
}
