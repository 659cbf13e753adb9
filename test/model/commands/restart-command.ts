// A stop and a start: nothing may be remembered but by the journal.
import type { BudgetModel } from '../budget-model.ts';
import type { ModelCommand, Target } from '../model-command.ts';

export class RestartCommand implements ModelCommand {
  check(): boolean {
    return true;
  }

  async run(_: BudgetModel, target: Target): Promise<void> {
    await target.restart();
  }

  toString(): string {
    return 'Restart';
  }
}
