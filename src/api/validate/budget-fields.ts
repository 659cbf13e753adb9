// Fields of a Budget message as Create and Update take them.
import type { Budget } from '../../gen/budgetd/v1/budget_pb.ts';
import { frameText, frameValue } from '../command-key.ts';
import { frameAlertAt } from './alert-at.ts';
import { frameEnforcement } from './enforcement.ts';
import { frameLimits } from './limits.ts';
import { frameModels } from './models.ts';
import type { Problems } from './problems.ts';
import { frameRates } from './rates.ts';
import { frameShape } from './shape.ts';
import { frameShares } from './shares.ts';
import { frameTemplate } from './template.ts';

/** A unit, as trees write it. */
const UNIT = /^[A-Za-z]{1,16}$/;

/** What is wrong with the form of a unit; undefined: nothing. Which units a tree may be made with is the kernel's to say. */
export function unitProblem(unit: string): string | undefined {
  return UNIT.test(unit) ? undefined : 'must have 1 to 16 letters of [A-Za-z]';
}

/** The tree's unit: only a root may say it. Undefined where it does not. */
export function checkUnit(problems: Problems, field: string, unit: string, path: string): string | undefined {
  if (unit === '') return undefined;
  const description = unitProblem(unit);
  if (description !== undefined) problems.push({ field, description });
  else if (path.includes('/')) problems.push({ field, description: 'is set on the root of a tree only' });
  return unit;
}

/** Notes every output-only field that is set. */
export function refuseOutputOnly(problems: Problems, prefix: string, budget: Budget): void {
  const set: readonly (readonly [string, boolean])[] = [
    ['state', budget.state !== 0],
    ['suspended_by', budget.suspendedBy !== ''],
    ['closed_by', budget.closedBy !== ''],
    ['revision', budget.revision !== 0n],
    ['etag', budget.etag !== ''],
    ['create_time', budget.createTime !== undefined],
    ['update_time', budget.updateTime !== undefined],
    ['balances', budget.balances.length > 0],
    ['totals', budget.totals !== undefined],
    ['availability', budget.availability !== undefined],
    ['rate_standings', budget.rateStandings.length > 0],
    ['open_children', budget.openChildren !== 0n],
  ];
  for (const [name, isSet] of set) {
    if (isSet) problems.push({ field: `${prefix}${name}`, description: 'is output only' });
  }
}

/** Frames the fields of a budget that a client may set, labels (personal) and path (the key's scope) left out. */
export function frameBudget(budget: Budget): string {
  return (
    frameText('kind', budget.kind) +
    frameText('owner', budget.owner) +
    frameText('unit', budget.unit) +
    frameValue('uncapped', budget.uncapped) +
    frameLimits(budget.limits) +
    frameValue('on_expiry', budget.onExpiry === 0 ? undefined : budget.onExpiry) +
    frameRates(budget.rates) +
    frameShape(budget.shape) +
    frameValue('overrun', budget.overrun === 0 ? undefined : budget.overrun) +
    frameEnforcement(budget.enforcement) +
    frameAlertAt(budget.alertAt) +
    frameShares(budget) +
    frameModels(budget.models) +
    frameTemplate(budget.childTemplate)
  );
}
