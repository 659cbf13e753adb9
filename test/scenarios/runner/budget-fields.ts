// Reads the budgets of a scenario with their limits, windows and every policy field of the format. What the service can
// do with them is not known here: that is for the mapping of verbs.
import { type FieldsOf, listOf, mapOf, oneOf, optional, type Read, readFields, required } from './field-rules.ts';
import { CaseFormatError } from './located-yaml.ts';
import { amount, bool, count, durationMs, instantMs, word } from './scalar-fields.ts';

/** When a limit counts. */
export type WindowRule =
  | { readonly kind: 'lifetime' }
  | { readonly kind: 'rolling'; readonly durationMs: number }
  | { readonly kind: 'calendar'; readonly unit: 'hour' | 'day' | 'week' | 'month'; readonly timeZone: string }
  | { readonly kind: 'range'; readonly startMs: number; readonly endMs: number };

/** A window: the word `lifetime`, or a map with `rolling`, `calendar` (and `tz`) or `range`. */
export const window: Read<WindowRule> = (value) => {
  if (value.kind === 'scalar') return { kind: oneOf('lifetime')(value) };
  const fields = readFields(value, 'a window', {
    rollingMs: optional('rolling', durationMs),
    calendar: optional('calendar', oneOf('hour', 'day', 'week', 'month')),
    timeZone: optional('tz', word),
    rangeMs: optional('range', listOf(instantMs)),
  });
  const kinds = [fields.rollingMs, fields.calendar, fields.rangeMs].filter((kind) => kind !== undefined);
  if (kinds.length !== 1)
    throw new CaseFormatError(value.line, 'a window is one of: lifetime, rolling, calendar, range');
  if (fields.timeZone !== undefined && fields.calendar === undefined) {
    throw new CaseFormatError(value.line, 'tz goes with calendar only');
  }
  if (fields.calendar !== undefined) {
    return { kind: 'calendar', unit: fields.calendar, timeZone: fields.timeZone ?? 'UTC' };
  }
  if (fields.rollingMs !== undefined) return { kind: 'rolling', durationMs: fields.rollingMs };
  const [startMs, endMs, ...more] = fields.rangeMs ?? [];
  if (startMs === undefined || endMs === undefined || more.length > 0) {
    throw new CaseFormatError(value.line, 'a range has a start and an end');
  }
  return { kind: 'range', startMs, endMs };
};

const LIFETIME: WindowRule = { kind: 'lifetime' };

const limit: Read<LimitSetting> = (value) => {
  const fields = readFields(value, 'a limit', {
    amountMicros: required('amount', amount),
    window: optional('window', window),
  });
  return { amountMicros: fields.amountMicros, window: fields.window ?? LIFETIME };
};

/** An amount per window. */
export interface LimitSetting {
  readonly amountMicros: bigint;
  readonly window: WindowRule;
}

const rate = (value: Parameters<Read<unknown>>[0]) => {
  const fields = readFields(value, 'a rate', {
    requests: optional('requests', count),
    tokens: optional('tokens', count),
    toolCalls: optional('tool_calls', count),
    perMs: required('per', durationMs),
    burst: optional('burst', count),
  });
  const units = [fields.requests, fields.tokens, fields.toolCalls].filter((unit) => unit !== undefined);
  if (units.length !== 1) throw new CaseFormatError(value.line, 'a rate counts one of: requests, tokens, tool_calls');
  return fields;
};

const POLICY_RULES = {
  onExpiry: optional('on_expiry', oneOf('release', 'charge_started', 'charge')),
  maxReservationMicros: optional('max_reservation', amount),
  maxActive: optional('max_active', count),
  rates: optional('rates', listOf(rate)),
  mode: optional('mode', oneOf('observe', 'warn', 'soft', 'enforce')),
  onExhaustion: optional('on_exhaustion', oneOf('block', 'degrade', 'park')),
  overrun: optional('overrun', oneOf('record', 'reject')),
  weight: optional('weight', count),
  floorMicros: optional('floor', amount),
  sharePercent: optional('share_percent', count),
  keptMicros: optional('kept', mapOf(amount)),
  maxChildren: optional('max_children', count),
  maxDepth: optional('max_depth', count),
  maxLeaseMs: optional('max_lease', durationMs),
  maxRenewals: optional('max_renewals', count),
  closeAfterMs: optional('close_after', durationMs),
  approvalAboveMicros: optional('approval_above', amount),
  approvalTtlMs: optional('approval_ttl', durationMs),
  toleranceMicros: optional('tolerance', amount),
  alertAt: optional('alert_at', listOf(count)),
};

const FRAME_RULES = {
  kind: optional('kind', word),
  limits: optional('limits', listOf(limit)),
  uncapped: optional('uncapped', bool),
};

const TERMS_RULES = { ...FRAME_RULES, ...POLICY_RULES };

/** A budget's kind, limits and policy. */
export type BudgetFields = FieldsOf<typeof TERMS_RULES> & { readonly childTemplate: BudgetFields | undefined };

// A template is a budget without a name, and may hold one itself; the format leaves open which of its fields it may set,
// so all may be.
const childTemplate: Read<BudgetFields> = (value) => readFields(value, 'a child template', BUDGET_RULES);

/** The keys of a budget besides its name and its preparation; `create_budget` takes the same. */
export const BUDGET_RULES = {
  ...TERMS_RULES,
  childTemplate: optional<BudgetFields>('child_template', childTemplate),
};

/** A budget that a scenario starts with. */
export interface BudgetSetting {
  readonly line: number;
  readonly name: string;
  readonly fields: BudgetFields;
  /** Spent on it before the steps, by a reserve and a settle. */
  readonly settledMicros: bigint | undefined;
  /** Held on it before the steps, by a reserve of 24 h. */
  readonly heldMicros: bigint | undefined;
}

/** Reads one entry of `budgets`. */
export const budgetSetting: Read<BudgetSetting> = (value) => {
  const { name, settledMicros, heldMicros, ...fields } = readFields(value, 'a budget', {
    name: required('name', word),
    settledMicros: optional('settled', amount),
    heldMicros: optional('held', amount),
    ...BUDGET_RULES,
  });
  return { line: value.line, name, fields, settledMicros, heldMicros };
};
