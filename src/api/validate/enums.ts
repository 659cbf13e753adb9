// Enum values of requests. A value that this version does not know is refused: to take it for "not said" would do
// something else than the caller asked.
import { CalendarUnit as CalendarUnitValue, OnExpiry as OnExpiryValue } from '../../gen/budgetd/v1/limit_pb.ts';
import { Outcome as OutcomeValue, ReservationState as StateValue } from '../../gen/budgetd/v1/reservation_pb.ts';
import {
  Mode as ModeValue,
  OnExhaustion as OnExhaustionValue,
  OverrunPolicy as OverrunValue,
  Priority as PriorityValue,
  RateKind as RateKindValue,
  ServiceTierClass as TierClassValue,
} from '../../gen/budgetd/v1/terms_pb.ts';
import type { OnExpiry, OverrunPolicy } from '../../kernel/budget.ts';
import type { Mode, OnExhaustion, Priority } from '../../kernel/enforcement.ts';
import type { ModelTier } from '../../kernel/price.ts';
import type { RateKind } from '../../kernel/rate.ts';
import type { Outcome, ReservationState } from '../../kernel/reservation.ts';
import type { CalendarUnit } from '../../kernel/window.ts';
import type { Problems } from './problems.ts';

const OUTCOMES: ReadonlyMap<number, Outcome> = new Map([
  [OutcomeValue.SUCCEEDED, 'succeeded'],
  [OutcomeValue.FAILED, 'failed'],
  [OutcomeValue.CANCELLED, 'cancelled'],
]);

const EXPIRIES: ReadonlyMap<number, OnExpiry> = new Map([
  [OnExpiryValue.RELEASE, 'release'],
  [OnExpiryValue.CHARGE, 'charge'],
  [OnExpiryValue.CHARGE_STARTED, 'charge_started'],
]);

const OVERRUNS: ReadonlyMap<number, OverrunPolicy> = new Map([
  [OverrunValue.RECORD, 'record'],
  [OverrunValue.REJECT, 'reject'],
]);

const CALENDAR_UNITS: ReadonlyMap<number, CalendarUnit> = new Map([
  [CalendarUnitValue.HOUR, 'hour'],
  [CalendarUnitValue.DAY, 'day'],
  [CalendarUnitValue.WEEK, 'week'],
  [CalendarUnitValue.MONTH, 'month'],
]);

const RATE_KINDS: ReadonlyMap<number, RateKind> = new Map([
  [RateKindValue.REQUESTS, 'requests'],
  [RateKindValue.TOKENS, 'tokens'],
  [RateKindValue.TOOL_CALLS, 'tool_calls'],
]);

const MODES: ReadonlyMap<number, Mode> = new Map([
  [ModeValue.OBSERVE, 'observe'],
  [ModeValue.WARN, 'warn'],
  [ModeValue.SOFT, 'soft'],
  [ModeValue.ENFORCE, 'enforce'],
]);

const EXHAUSTIONS: ReadonlyMap<number, OnExhaustion> = new Map([
  [OnExhaustionValue.BLOCK, 'block'],
  [OnExhaustionValue.DEGRADE, 'degrade'],
]);

const PRIORITIES: ReadonlyMap<number, Priority> = new Map([
  [PriorityValue.BACKGROUND, 'background'],
  [PriorityValue.NORMAL, 'normal'],
  [PriorityValue.INTERACTIVE, 'interactive'],
  [PriorityValue.CRITICAL, 'critical'],
]);

const TIER_CLASSES: ReadonlyMap<number, ModelTier> = new Map([
  [TierClassValue.FLEX, 'flex'],
  [TierClassValue.STANDARD, 'standard'],
  [TierClassValue.PRIORITY, 'priority'],
]);

const STATES: ReadonlyMap<number, ReservationState> = new Map([
  [StateValue.ACTIVE, 'ACTIVE'],
  [StateValue.SETTLED, 'SETTLED'],
  [StateValue.RELEASED, 'RELEASED'],
  [StateValue.EXPIRED, 'EXPIRED'],
  [StateValue.QUEUED, 'QUEUED'],
]);

// 0 is UNSPECIFIED in every enum: not said.
function checkEnum<T>(problems: Problems, field: string, value: number, known: ReadonlyMap<number, T>): T | undefined {
  if (value === 0) return undefined;
  const found = known.get(value);
  if (found === undefined) problems.push({ field, description: `has no value ${value}` });
  return found;
}

function checkSaid<T>(problems: Problems, field: string, value: number, known: ReadonlyMap<number, T>): T | undefined {
  if (value === 0) problems.push({ field, description: 'is required' });
  return checkEnum(problems, field, value, known);
}

/** An outcome; undefined: not said. */
export function checkOutcome(problems: Problems, field: string, value: number): Outcome | undefined {
  return checkEnum(problems, field, value, OUTCOMES);
}

/** What happens to lapsed holds; RELEASE where not said. */
export function checkOnExpiry(problems: Problems, field: string, value: number): OnExpiry {
  return checkEnum(problems, field, value, EXPIRIES) ?? 'release';
}

/** What happens to the cost of a live hold that no ceiling can cover; RECORD where not said. */
export function checkOverrun(problems: Problems, field: string, value: number): OverrunPolicy {
  return checkEnum(problems, field, value, OVERRUNS) ?? 'record';
}

/** The unit of a calendar window, which must be said. */
export function checkCalendarUnit(problems: Problems, field: string, value: number): CalendarUnit | undefined {
  return checkSaid(problems, field, value, CALENDAR_UNITS);
}

/** What a rate counts, which must be said. */
export function checkRateKind(problems: Problems, field: string, value: number): RateKind | undefined {
  return checkSaid(problems, field, value, RATE_KINDS);
}

/** How far a budget's word binds; ENFORCE where not said. */
export function checkMode(problems: Problems, field: string, value: number): Mode {
  return checkEnum(problems, field, value, MODES) ?? 'enforce';
}

/** What a budget without room does; BLOCK where not said. */
export function checkOnExhaustion(problems: Problems, field: string, value: number): OnExhaustion {
  return checkEnum(problems, field, value, EXHAUSTIONS) ?? 'block';
}

/** How urgent work is; NORMAL where not said. */
export function checkPriority(problems: Problems, field: string, value: number): Priority {
  return checkEnum(problems, field, value, PRIORITIES) ?? 'normal';
}

/** A class of urgency, which must be said. */
export function checkSaidPriority(problems: Problems, field: string, value: number): Priority | undefined {
  return checkSaid(problems, field, value, PRIORITIES);
}

/** The dearest tier; undefined: every tier. */
export function checkTierClass(problems: Problems, field: string, value: number): ModelTier | undefined {
  return checkEnum(problems, field, value, TIER_CLASSES);
}

/** A state to list; undefined: any. */
export function checkState(problems: Problems, field: string, value: number): ReservationState | undefined {
  return checkEnum(problems, field, value, STATES);
}
