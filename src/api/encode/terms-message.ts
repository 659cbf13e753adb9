// Terms of budgets on the wire: windows, limits, rates, bounds and templates. What was read can be sent back as it is.
import { CalendarUnit, type Limit, OnExpiry, type Window } from '../../gen/budgetd/v1/limit_pb.ts';
import {
  type AlertAt,
  type BudgetTemplate,
  type Enforcement,
  Mode,
  type ModelRules,
  OnExhaustion,
  OverrunPolicy,
  Priority,
  type Rate,
  RateKind,
  ServiceTierClass,
  type Shape,
} from '../../gen/budgetd/v1/terms_pb.ts';
import type {
  BudgetTerms,
  OnExpiry as KernelOnExpiry,
  OverrunPolicy as KernelOverrun,
  Shape as KernelShape,
  LimitInput,
} from '../../kernel/budget.ts';
import type {
  Enforcement as KernelEnforcement,
  Mode as KernelMode,
  OnExhaustion as KernelOnExhaustion,
  Priority as KernelPriority,
} from '../../kernel/enforcement.ts';
import type { ModelRules as KernelModelRules, ModelTier } from '../../kernel/price.ts';
import type { RateKind as KernelRateKind, RateInput } from '../../kernel/rate.ts';
import type { CalendarUnit as KernelUnit, WindowRule } from '../../kernel/window.ts';
import { durationFromMs, timestampFromMs } from './time.ts';

/** What happens to lapsed holds, on the wire. */
export const EXPIRIES: Readonly<Record<KernelOnExpiry, OnExpiry>> = {
  release: OnExpiry.RELEASE,
  charge: OnExpiry.CHARGE,
  charge_started: OnExpiry.CHARGE_STARTED,
};

/** What happens to cost past the ceiling, on the wire. */
export const OVERRUNS: Readonly<Record<KernelOverrun, OverrunPolicy>> = {
  record: OverrunPolicy.RECORD,
  reject: OverrunPolicy.REJECT,
};

/** What rates count, on the wire. */
export const RATE_KINDS: Readonly<Record<KernelRateKind, RateKind>> = {
  requests: RateKind.REQUESTS,
  tokens: RateKind.TOKENS,
  tool_calls: RateKind.TOOL_CALLS,
};

/** Modes on the wire. */
export const MODES: Readonly<Record<KernelMode, Mode>> = {
  observe: Mode.OBSERVE,
  warn: Mode.WARN,
  soft: Mode.SOFT,
  enforce: Mode.ENFORCE,
};

/** Classes of urgency on the wire. */
export const PRIORITIES: Readonly<Record<KernelPriority, Priority>> = {
  background: Priority.BACKGROUND,
  normal: Priority.NORMAL,
  interactive: Priority.INTERACTIVE,
  critical: Priority.CRITICAL,
};

const EXHAUSTIONS: Readonly<Record<KernelOnExhaustion, OnExhaustion>> = {
  block: OnExhaustion.BLOCK,
  degrade: OnExhaustion.DEGRADE,
};

const TIER_CLASSES: Readonly<Record<ModelTier, ServiceTierClass>> = {
  flex: ServiceTierClass.FLEX,
  standard: ServiceTierClass.STANDARD,
  priority: ServiceTierClass.PRIORITY,
};

const UNITS: Readonly<Record<KernelUnit, CalendarUnit>> = {
  hour: CalendarUnit.HOUR,
  day: CalendarUnit.DAY,
  week: CalendarUnit.WEEK,
  month: CalendarUnit.MONTH,
};

function windowKind(rule: WindowRule): Window['kind'] {
  switch (rule.kind) {
    case 'lifetime':
      return { case: 'lifetime', value: { $typeName: 'budgetd.v1.LifetimeWindow' } };
    case 'range': {
      const startTime = timestampFromMs(rule.startMs);
      return {
        case: 'range',
        value: { $typeName: 'budgetd.v1.RangeWindow', startTime, endTime: timestampFromMs(rule.endMs) },
      };
    }
    case 'rolling': {
      const duration = durationFromMs(rule.durationMs);
      return { case: 'rolling', value: { $typeName: 'budgetd.v1.RollingWindow', duration } };
    }
    case 'calendar': {
      const { timeZone } = rule;
      return {
        case: 'calendar',
        value: { $typeName: 'budgetd.v1.CalendarWindow', unit: UNITS[rule.unit], timeZone },
      };
    }
  }
}

/** A limit with its window. */
export function limitMessage({ name, rule, amountMicros }: LimitInput): Limit {
  return {
    $typeName: 'budgetd.v1.Limit',
    name,
    window: { $typeName: 'budgetd.v1.Window', kind: windowKind(rule) },
    amountMicros,
  };
}

/** A rate; its burst is always said. */
export function rateMessage({ kind, count, perMs, burst }: RateInput): Rate {
  return {
    $typeName: 'budgetd.v1.Rate',
    kind: RATE_KINDS[kind],
    count: BigInt(count),
    per: durationFromMs(perMs),
    burst: BigInt(burst),
  };
}

/** The bounds that there are; undefined where there is none. */
export function shapeMessage(shape: KernelShape): Shape | undefined {
  if (Object.values(shape).every((bound) => bound === undefined)) return undefined;
  const { maxReservationMicros, maxActive, maxChildren, maxDepth, maxLeaseMs, maxRenewals, closeAfterMs } = shape;
  return {
    $typeName: 'budgetd.v1.Shape',
    maxReservationMicros,
    maxActive,
    maxChildren,
    maxDepth,
    maxLease: maxLeaseMs === undefined ? undefined : durationFromMs(maxLeaseMs),
    maxRenewals,
    closeAfter: closeAfterMs === undefined ? undefined : durationFromMs(closeAfterMs),
  };
}

/** How limits are applied; always said. */
export function enforcementMessage({ mode, toleranceMicros, onExhaustion, kept }: KernelEnforcement): Enforcement {
  return {
    $typeName: 'budgetd.v1.Enforcement',
    mode: MODES[mode],
    toleranceMicros,
    onExhaustion: EXHAUSTIONS[onExhaustion],
    kept: kept.map(({ priority, micros }) => ({
      $typeName: 'budgetd.v1.Kept',
      priority: PRIORITIES[priority],
      micros,
    })),
  };
}

/** Shares that are told of; always said. */
export function alertAtMessage(percents: readonly number[]): AlertAt {
  return { $typeName: 'budgetd.v1.AlertAt', percent: [...percents] };
}

/** Which models calls may name; unset where every one in every tier. */
export function modelsMessage({ allowed, maxTier }: KernelModelRules): ModelRules | undefined {
  if (allowed === undefined && maxTier === undefined) return undefined;
  return {
    $typeName: 'budgetd.v1.ModelRules',
    allowedModels: allowed && { $typeName: 'budgetd.v1.AllowedModels', models: [...allowed] },
    maxTier: maxTier === undefined ? ServiceTierClass.UNSPECIFIED : TIER_CLASSES[maxTier],
  };
}

/** A template with those inside it. */
export function templateMessage(terms: BudgetTerms): BudgetTemplate {
  return {
    $typeName: 'budgetd.v1.BudgetTemplate',
    kind: terms.budgetKind,
    uncapped: terms.uncapped,
    limits: terms.limits.map(limitMessage),
    rates: terms.rates.map(rateMessage),
    shape: shapeMessage(terms.shape),
    onExpiry: EXPIRIES[terms.onExpiry],
    overrun: OVERRUNS[terms.overrun],
    enforcement: enforcementMessage(terms.enforcement),
    alertAt: alertAtMessage(terms.alertAt),
    weight: terms.weight,
    floorMicros: terms.floorMicros,
    sharePercent: terms.sharePercent,
    models: modelsMessage(terms.models),
    childTemplate: terms.childTemplate && templateMessage(terms.childTemplate),
  };
}
