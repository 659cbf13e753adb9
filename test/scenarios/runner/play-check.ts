// Plays `check`: reads budgets and reservations as any client would, and compares them with what the step says.
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { countAlerts } from './count-alerts.ts';
import { differs, judgeReservation, type Mismatch } from './judge-answer.ts';
import { judgeBalances } from './judge-balances.ts';
import { decodeRefusal, formatRefusal, isServiceError } from './refusal.ts';
import type { ScenarioWorld } from './scenario-world.ts';
import type { WorldStepOf } from './step-fields.ts';

// The most that the contract allows; the pages are followed to the end all the same.
const PAGE_SIZE = 1000;

/** Reads what a check is about and judges it. */
export async function playCheck(step: WorldStepOf<'check'>, world: ScenarioWorld): Promise<readonly Mismatch[]> {
  const mismatches: Mismatch[] = [];
  for (const [name, expect] of step.balances ?? []) {
    mismatches.push(
      ...(await reading(`balances.${name}`, async () => {
        const { budget } = await world.rpc.call(BudgetService.method.getBudget, { budget: name });
        if (budget === undefined) throw new Error('GetBudget answered without a budget');
        return judgeBalances(expect, budget);
      })),
    );
  }
  for (const [name, expect] of step.reservations ?? []) {
    const field = `reservations.${name}`;
    mismatches.push(
      ...(await reading(field, async () => {
        const reservationId = await world.reservationId(name);
        const { reservation } = await world.rpc.call(ReservationService.method.getReservation, { reservationId });
        world.leases.see(reservation);
        const found = judgeReservation(expect, reservation, world.nowMs);
        return found.map((mismatch) => ({ ...mismatch, field: `${field}.${mismatch.field}` }));
      })),
    );
  }
  for (const [name, expected] of step.alerts ?? []) {
    const field = `alerts.${name}`;
    mismatches.push(
      ...(await reading(field, async () => differs(field, expected, await countAlerts(world.rpc, name)))),
    );
  }
  if (step.budgets !== undefined) {
    const expected = step.budgets;
    mismatches.push(...(await reading('budgets', async () => differs('budgets', expected, await countBudgets(world)))));
  }
  return mismatches;
}

/** A read that is refused is a difference of what it was to show. */
async function reading(field: string, read: () => Promise<readonly Mismatch[]>): Promise<readonly Mismatch[]> {
  try {
    return await read();
  } catch (error) {
    if (!isServiceError(error)) throw error;
    return [{ field, expected: 'an answer', got: formatRefusal(decodeRefusal(error)) }];
  }
}

async function countBudgets(world: ScenarioWorld): Promise<number> {
  let count = 0;
  let pageToken = '';
  do {
    const page = await world.rpc.call(BudgetService.method.listBudgets, {
      recursive: true,
      pageSize: PAGE_SIZE,
      pageToken,
    });
    count += page.budgets.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return count;
}
