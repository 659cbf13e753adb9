// Requests by a model call instead of an amount: what they come to, and why there may be no price, or a budget may not let the call
// through.
import type { BudgetState } from './budget.ts';
import type { Extend, Reserve } from './command.ts';
import type { DecideContext } from './decision.ts';
import { ANY_MODEL, type CallToPrice, type PriceRecord, type Unpriced } from './price.ts';
import type { Refusal } from './refusal.ts';
import type { Alternative } from './request.ts';
import type { Reservation } from './reservation.ts';
import type { TreeState } from './tree-state.ts';

/** A Reserve whose amount is known, or why it is not. */
export interface PricedReserve extends Reserve {
  readonly unpriced?: Refusal;
}

/**
 * A Reserve with what its call can cost at the most, which is granted whole or not at all; one by amount, or priced already, as it
 * is.
 */
export function pricedReserve(command: Reserve, { def }: BudgetState, context: DecideContext): PricedReserve {
  if (command.call === undefined || command.price !== undefined) return command;
  const priced = context.pricing.price(command.call, def.unit, context.nowMs);
  if (priced.kind === 'unpriced') return { ...command, unpriced: unpricedRefusal(priced, def.path) };
  const { maxMicros, record } = priced;
  return { ...command, maxMicros, minMicros: maxMicros, price: record };
}

/**
 * Whether a refusal is only for want of a price book that is about to be read: a moment later the same request may be told anything,
 * so that it is no word of anybody's rules.
 */
export function isForTheMoment({ reason }: Refusal): boolean {
  return reason === 'STORE_UNAVAILABLE';
}

/**
 * The Reserve that asks for an alternative instead; undefined where that has no price, or would be dearer, and the refusal where that
 * is not known for the moment.
 */
export function alternativeOf(
  command: PricedReserve,
  { maxMicros, call }: Alternative,
  named: BudgetState,
  context: DecideContext,
): PricedReserve | Refusal | undefined {
  if (call === undefined) return { ...command, maxMicros, minMicros: maxMicros, price: undefined };
  const cheaper = pricedReserve({ ...command, call, price: undefined }, named, context);
  const { unpriced } = cheaper;
  if (unpriced !== undefined) return isForTheMoment(unpriced) ? unpriced : undefined;
  return cheaper.maxMicros > command.maxMicros ? undefined : cheaper;
}

/** An Extend with what its call can cost beside what the reservation has pinned; a refusal where that has no price. */
export function pricedExtend(
  state: TreeState,
  command: Extend,
  { budgetNo, price: before }: Reservation,
  context: DecideContext,
): { readonly command: Extend; readonly price: PriceRecord | undefined; readonly unpriced: Refusal | undefined } {
  if (command.call === undefined) return { command, price: undefined, unpriced: undefined };
  const { def } = state.mustBudget(budgetNo);
  const priced = context.pricing.price(command.call, def.unit, context.nowMs, before);
  if (priced.kind === 'unpriced') return { command, price: undefined, unpriced: unpricedRefusal(priced, def.path) };
  const { maxMicros, record } = priced;
  return { command: { ...command, addMicros: maxMicros, minMicros: maxMicros }, price: record, unpriced: undefined };
}

/**
 * MODEL_NOT_ALLOWED by the budget nearest the root that does not let a call through; where none refuses it, and of one that is not
 * known for want of a price book, the refusal that says so. Undefined where all let it through.
 */
export function modelRefusal(
  budgets: readonly BudgetState[],
  call: CallToPrice | undefined,
  { pricing }: DecideContext,
): Refusal | undefined {
  if (call === undefined) return undefined;
  let unknown: Refusal | undefined;
  for (const { def } of budgets) {
    const refused = def.models === ANY_MODEL ? undefined : pricing.refused(call, def.models);
    if (refused === undefined) continue;
    if ('kind' in refused) {
      unknown ??= unpricedRefusal(refused, def.path);
      continue;
    }
    const { provider, model, rule } = refused;
    const why =
      rule === 'allowed_models'
        ? 'is not among the models that it allows'
        : 'is served in a dearer tier than it allows';
    return {
      kind: 'refusal',
      reason: 'MODEL_NOT_ALLOWED',
      message: `budget ${def.path} does not let ${provider}/${model} through: it ${why}`,
      budget: def.path,
      unpriced: { provider, model, why: rule },
    };
  }
  return unknown;
}

/** A refusal for want of a price. */
export function unpricedRefusal(
  { kind: _, reason, message, retryAfterMs, ...unpriced }: Unpriced,
  budget: string,
): Refusal {
  const { field } = unpriced;
  return {
    kind: 'refusal',
    reason,
    message,
    budget,
    unpriced,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(reason !== 'PRICE_UNKNOWN' && field !== undefined && { fields: [{ field, description: message }] }),
  };
}
