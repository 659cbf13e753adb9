// The first promise, checked on the journal alone: no entry that raises settled + held leaves it above the amount of a limit.
// Entries that do not raise it (a lapse, a settlement out of the hold) pass where an edit has lowered the amount below it.
import type { Effect, Entry } from '../kernel/entry.ts';
import { counterOf } from '../kernel/headroom.ts';
import type { TreeState } from '../kernel/tree-state.ts';

/** Checks entries against the state before them. */
export class CeilingCheck {
  readonly #state: TreeState;

  constructor(state: TreeState) {
    this.#state = state;
  }

  /** What is wrong with an entry that is about to be applied. */
  problems(entry: Entry): string[] {
    return effectsOf(entry).flatMap((effect) => this.#problemsOf(entry.seq, effect));
  }

  #problemsOf(seq: number, effect: Effect): string[] {
    const problems: string[] = [];
    const change = effect.heldMicros + effect.settledMicros;
    if (change <= 0n) return problems;
    for (const account of effect.accounts) {
      const budget = this.#state.budget(account.budgetNo);
      if (budget === undefined) {
        problems.push(`entry ${seq} moves budget ${account.budgetNo}, which does not exist`);
        continue;
      }
      const counter = counterOf(budget, account);
      const after = counter.heldMicros + counter.settledMicros + change;
      for (const limit of budget.def.limits) {
        if (limit.windowNo === account.windowNo && after > limit.amountMicros) {
          problems.push(
            `entry ${seq} takes ${budget.def.path} to ${after}, past ${limit.amountMicros} of ${limit.name}`,
          );
        }
      }
    }
    return problems;
  }
}

function effectsOf(entry: Entry): readonly Effect[] {
  if (entry.type === 'Expired') return entry.lapses.flatMap((lapse) => lapse.effects);
  return 'effects' in entry ? entry.effects : [];
}
