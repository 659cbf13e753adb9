// Terms of budgets on the wire: windows, limits, rates, bounds and templates. What was read can be sent back as it is.
import { CalendarUnit, type Limit, OnExpiry, type Window } from '../../gen/budgetd/v1/limit_pb.ts';
import { type BudgetTemplate, OverrunPolicy, type Rate, RateKind, type Shape } from '../../gen/budgetd/v1/terms_pb.ts';
import type {
  BudgetTerms,
  OnExpiry as KernelOnExpiry,
  OverrunPolicy as KernelOverrun,
  Shape as KernelShape,
  LimitInput,
} from '../../kernel/budget.ts';
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
    childTemplate: terms.childTemplate && templateMessage(terms.childTemplate),
  };
}
