// Makes the budgets that a scenario starts with: all of them first, then what is settled and held on them by ordinary
// calls, and only then their policy, so that no policy judges the preparation.

import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import type { BudgetSetting } from './budget-fields.ts';
import type { ScenarioWorld } from './scenario-world.ts';
import { createBudget, setPolicy } from './verbs.ts';

const PREPARED_TTL_MS = 24 * 3_600_000;

/** Thrown where a budget can't be prepared; `cause` is the refusal. */
export class PreparationError extends Error {
  readonly line: number;

  constructor(budget: BudgetSetting, cause: unknown) {
    super(`budget ${budget.name} can not be prepared`, { cause });
    this.name = 'PreparationError';
    this.line = budget.line;
  }
}

/** Prepares all budgets of a scenario. */
export async function prepareBudgets(budgets: readonly BudgetSetting[], world: ScenarioWorld): Promise<void> {
  const each = async (prepare: (budget: BudgetSetting) => Promise<unknown>): Promise<void> => {
    for (const budget of budgets) {
      try {
        await prepare(budget);
      } catch (error) {
        throw new PreparationError(budget, error);
      }
    }
  };
  await each((budget) => createBudget(budget.name, budget.fields, { policy: 'later', key: undefined }, world));
  await each(async (budget) => {
    if (budget.settledMicros !== undefined) {
      const reservationId = await hold(budget.name, budget.settledMicros, world);
      await world.rpc.call(ReservationService.method.settle, {
        reservationId,
        idempotencyKey: world.freshKey(),
        cost: { case: 'actualMicros', value: budget.settledMicros },
      });
    }
    if (budget.heldMicros !== undefined) await hold(budget.name, budget.heldMicros, world);
  });
  await each((budget) => setPolicy(budget.name, budget.fields, world));
}

async function hold(budget: string, maxMicros: bigint, world: ScenarioWorld): Promise<string> {
  const { reservation } = await world.rpc.call(ReservationService.method.reserve, {
    budget,
    idempotencyKey: world.freshKey(),
    maxMicros,
    ttl: durationFromMs(PREPARED_TTL_MS),
  });
  return reservation?.reservationId ?? '';
}
