// Every budget and every reservation as anybody can read them.
import { expect } from 'vitest';
import type { BudgetModel } from '../budget-model.ts';
import type { ModelCommand, Target } from '../model-command.ts';
import { figuresOf, predictionOf } from '../prediction.ts';

export class LookCommand implements ModelCommand {
  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    for (const path of model.budgets.keys()) {
      const shown = predictionOf(await target.submit(target.make.getBudget(path)), false);
      expect({ path, ...shown }).toEqual({ path, ...model.balances(path) });
    }
    for (const hold of model.holds.values()) {
      const shown = predictionOf(await target.submit(target.make.getReservation(hold.id)), false);
      expect(shown).toMatchObject(figuresOf(hold));
    }
  }

  toString(): string {
    return 'Look';
  }
}
