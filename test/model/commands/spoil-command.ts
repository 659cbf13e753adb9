// Trouble with the next append: a race that is lost, or an answer that never arrives though the commit did.
import type { BudgetModel } from '../budget-model.ts';
import type { ModelCommand, Target } from '../model-command.ts';

export class SpoilCommand implements ModelCommand {
  readonly #how: 'conflict' | 'lost_answer';

  constructor(how: 'conflict' | 'lost_answer') {
    this.#how = how;
  }

  check(): boolean {
    return true;
  }

  async run(_: BudgetModel, target: Target): Promise<void> {
    target.spoilNextAppend(this.#how);
  }

  toString(): string {
    return `Spoil(${this.#how})`;
  }
}
