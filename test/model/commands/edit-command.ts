// An edit of a budget by its operator: other lifetime limits, or none any more, another policy for lapses. Limits in other windows stay
// as they are: what a window that comes has to start from is summed up by a store, and less exactly than the model would.
import type { OnExpiry } from '../../../src/kernel/budget.ts';
import type { LimitsOption, Micros } from '../../support/commands.ts';
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, pathOf, submitAndCompare, type Target } from '../model-command.ts';

type NamedLimits = Exclude<LimitsOption, Micros>;

function named(limits: LimitsOption): NamedLimits {
  return typeof limits === 'object' ? limits : { lifetime: limits };
}

function windowed(model: BudgetModel, path: string): NamedLimits {
  const all = [...(model.budgets.get(path)?.limits ?? [])];
  return Object.fromEntries(all.filter(([, { rule }]) => rule.kind !== 'lifetime'));
}

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
    const path = pathOf(target, this.#place);
    const limits = this.#limits;
    const command = target.make.update(path, {
      ...(limits === undefined ? {} : { limits: { ...named(limits), ...windowed(model, path) } }),
      ...(this.#onExpiry === undefined ? {} : { onExpiry: this.#onExpiry }),
    });
    await submitAndCompare(model, target, command);
  }

  toString(): string {
    const limits = this.#limits === undefined ? 'as they are' : JSON.stringify(this.#limits);
    return `Edit(place ${this.#place}, limits ${limits}, on expiry ${this.#onExpiry ?? 'as it is'})`;
  }
}
