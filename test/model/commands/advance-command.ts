// Time that passes.
import type { BudgetModel } from '../budget-model.ts';
import type { ModelCommand, Target } from '../model-command.ts';

export class AdvanceCommand implements ModelCommand {
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    model.nowMs += this.#ms;
    target.advance(this.#ms);
  }

  toString(): string {
    return `Advance(${this.#ms} ms)`;
  }
}
