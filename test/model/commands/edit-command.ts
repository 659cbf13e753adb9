// An edit of a budget by its operator: other limits, or none any more, another policy for lapses.
import type { OnExpiry } from '../../../src/kernel/budget.ts';
import type { LimitsOption } from '../../support/commands.ts';
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, pathOf, submitAndCompare, type Target } from '../model-command.ts';

export class EditCommand implements ModelCommand {
  readonly #place: number;
  readonly #limits: LimitsOption | undefined;
  readonly #onExpiry: OnExpiry | undefined;

  constructor(place: number, limits: LimitsOption | undefined, onExpiry: OnExpiry | undefined) {
    this.#place = place;
    this.#limits = limits;
    this.#onExpiry = onExpiry;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const command = target.make.update(pathOf(target, this.#place), {
      ...(this.#limits === undefined ? {} : { limits: this.#limits }),
      ...(this.#onExpiry === undefined ? {} : { onExpiry: this.#onExpiry }),
    });
    await submitAndCompare(model, target, command);
  }

  toString(): string {
    const limits = this.#limits === undefined ? 'as they are' : JSON.stringify(this.#limits);
    return `Edit(place ${this.#place}, limits ${limits}, on expiry ${this.#onExpiry ?? 'as it is'})`;
  }
}
