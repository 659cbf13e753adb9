// How far a budget's word binds: its mode, what it does when it is exhausted, and what it keeps for urgent work. Stands alone
// because admission, settlement and what is told of a decision must read it the same way.
import { MICROS_MAX } from './money.ts';

/** Classes of urgency, least urgent first. */
export const PRIORITIES = ['background', 'normal', 'interactive', 'critical'] as const;

/** How urgent a piece of work is. */
export type Priority = (typeof PRIORITIES)[number];

/** Of a request that says nothing. */
export const PRIORITY_DEFAULT: Priority = 'normal';

/**
 * observe: everything is granted, and what enforcement would have said is told beside it. warn: the same, for owners who want
 * it raised. soft: refused only past `toleranceMicros` above an amount. enforce: refused past the amount. Suspend and close bind
 * in every mode.
 */
export type Mode = 'observe' | 'warn' | 'soft' | 'enforce';

/** What happens to a Reserve that a budget has no room for: refused, or granted as the first of its alternatives that fits. */
export type OnExhaustion = 'block' | 'degrade';

/** Capacity of every limit of a budget that only one class and those above it may use. */
export interface Kept {
  readonly priority: Priority;
  readonly micros: bigint;
}

/** See the head of this file. */
export interface Enforcement {
  readonly mode: Mode;
  /** How far past an amount soft goes; counted in no other mode. */
  readonly toleranceMicros: bigint;
  readonly onExhaustion: OnExhaustion;
  readonly kept: readonly Kept[];
}

/** Of a budget that says nothing. One object, so that the usual case is known by it. */
export const ENFORCED: Enforcement = { mode: 'enforce', toleranceMicros: 0n, onExhaustion: 'block', kept: [] };

/** Whatever has a definition that says how far it binds. */
interface Enforcing {
  readonly def: { readonly enforcement: Enforcement };
}

/** Whether a budget refuses at all: in observe and warn it does not. */
export function binds({ def }: Enforcing): boolean {
  return def.enforcement.mode === 'enforce' || def.enforcement.mode === 'soft';
}

/** How much more than its limits say a budget lets a request of a class have; below 0 where it keeps something from it. */
export function leewayMicros({ def }: Enforcing, priority: Priority): bigint {
  const { mode, toleranceMicros, kept } = def.enforcement;
  if (mode === 'observe' || mode === 'warn') return MICROS_MAX;
  let leeway = mode === 'soft' ? toleranceMicros : 0n;
  for (const each of kept) if (isAbove(each.priority, priority)) leeway -= each.micros;
  return leeway;
}

function isAbove(a: Priority, b: Priority): boolean {
  return PRIORITIES.indexOf(a) > PRIORITIES.indexOf(b);
}

/** How far past an amount a budget goes. */
export function toleranceMicros({ def }: Enforcing): bigint {
  return def.enforcement.mode === 'soft' ? def.enforcement.toleranceMicros : 0n;
}

interface Sharing extends Enforcing {
  readonly def: Enforcing['def'] & { readonly childShares: readonly unknown[] };
}

/** Whether any budget has leeway or keeps something, for urgent work or for a child, so that more than its limits has to be looked at. */
export function isSpecial(budgets: readonly Sharing[]): boolean {
  for (const { def } of budgets) {
    const { mode, kept } = def.enforcement;
    if (mode !== 'enforce' || kept.length > 0 || def.childShares.length > 0) return true;
  }
  return false;
}

/** Whether any budget lets more pass than it says, so that there is something to tell beside a grant. */
export function hasShadow(budgets: readonly Enforcing[]): boolean {
  return budgets.some(({ def }) => def.enforcement.mode !== 'enforce');
}

/** The same budgets with every mode set to enforce: what enforcement would have said is asked of these. */
export function asEnforced<Budget extends Enforcing>(budgets: readonly Budget[]): Budget[] {
  return budgets.map((budget) =>
    budget.def.enforcement.mode === 'enforce'
      ? budget
      : { ...budget, def: { ...budget.def, enforcement: { ...budget.def.enforcement, mode: 'enforce' } } },
  );
}
