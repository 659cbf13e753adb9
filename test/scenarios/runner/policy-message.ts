// Budgets of the format as the contract's messages: limits, and the policy fields that the contract has. Those that it does
// not have yet fail the scenario that needs them.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { BudgetSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { type LimitSchema, OnExpiry } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import {
  type AlertAtSchema,
  type BudgetTemplateSchema,
  type EnforcementSchema,
  Mode,
  OnExhaustion,
  OverrunPolicy,
  RateKind,
  type RateSchema,
  type ShapeSchema,
} from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { BUDGET_RULES, type BudgetFields, type LimitSetting } from './budget-fields.ts';
import { NotSupportedError } from './not-supported-error.ts';
import { priorityOf } from './priority-words.ts';
import { windowMessage } from './window-message.ts';

const ON_EXPIRY = {
  release: OnExpiry.RELEASE,
  charge: OnExpiry.CHARGE,
  charge_started: OnExpiry.CHARGE_STARTED,
} as const;

const OVERRUN = { record: OverrunPolicy.RECORD, reject: OverrunPolicy.REJECT } as const;

const MODE = { observe: Mode.OBSERVE, warn: Mode.WARN, soft: Mode.SOFT, enforce: Mode.ENFORCE } as const;

const ON_EXHAUSTION: Readonly<Record<string, OnExhaustion>> = {
  block: OnExhaustion.BLOCK,
  degrade: OnExhaustion.DEGRADE,
};

/** Names in BUDGET_RULES that the contract has a field for. */
const SUPPORTED_FIELDS: ReadonlySet<string> = new Set([
  'kind',
  'limits',
  'uncapped',
  'onExpiry',
  'overrun',
  'rates',
  'maxReservationMicros',
  'maxActive',
  'maxChildren',
  'maxDepth',
  'maxLeaseMs',
  'maxRenewals',
  'closeAfterMs',
  'childTemplate',
  'mode',
  'toleranceMicros',
  'onExhaustion',
  'keptMicros',
  'alertAt',
  'weight',
  'floorMicros',
  'sharePercent',
]);

type Policy = Pick<
  Exclude<MessageInitShape<typeof BudgetSchema>, { $typeName: string }>,
  | 'onExpiry'
  | 'overrun'
  | 'rates'
  | 'shape'
  | 'enforcement'
  | 'alertAt'
  | 'weight'
  | 'floorMicros'
  | 'sharePercent'
  | 'childTemplate'
>;

/** Kind, limits and `uncapped`. */
export function frameMessage(fields: BudgetFields) {
  return {
    kind: fields.kind ?? '',
    uncapped: fields.uncapped ?? false,
    limits: (fields.limits ?? []).map(limitMessage),
  };
}

/** The policy fields that are given. Throws NotSupportedError for one that the contract does not have. */
export function policyMessage(fields: BudgetFields): Policy {
  for (const [name, { key }] of Object.entries(BUDGET_RULES)) {
    const isGiven = fields[name as keyof BudgetFields] !== undefined;
    if (isGiven && !SUPPORTED_FIELDS.has(name)) throw new NotSupportedError(`budget.${key}`);
  }
  const shape = shapeMessage(fields);
  const enforcement = enforcementMessage(fields);
  return {
    ...given('onExpiry', fields.onExpiry && ON_EXPIRY[fields.onExpiry]),
    ...given('overrun', fields.overrun && OVERRUN[fields.overrun]),
    ...given('rates', fields.rates?.map(rateMessage)),
    ...given('shape', Object.keys(shape).length === 0 ? undefined : shape),
    ...given('enforcement', Object.keys(enforcement).length === 0 ? undefined : enforcement),
    ...given('alertAt', fields.alertAt && alertAtMessage(fields.alertAt)),
    ...given('weight', fields.weight),
    ...given('floorMicros', fields.floorMicros),
    ...given('sharePercent', fields.sharePercent),
    ...given('childTemplate', fields.childTemplate && templateMessage(fields.childTemplate)),
  };
}

/** A limit; its name is left to the service. */
export function limitMessage(limit: LimitSetting): MessageInitShape<typeof LimitSchema> {
  return { window: windowMessage(limit.window), amountMicros: limit.amountMicros };
}

function templateMessage(fields: BudgetFields): MessageInitShape<typeof BudgetTemplateSchema> {
  return { ...frameMessage(fields), ...policyMessage(fields) };
}

function rateMessage(rate: NonNullable<BudgetFields['rates']>[number]): MessageInitShape<typeof RateSchema> {
  const { requests, tokens, toolCalls, perMs, burst } = rate;
  const kind =
    requests === undefined ? (tokens === undefined ? RateKind.TOOL_CALLS : RateKind.TOKENS) : RateKind.REQUESTS;
  return {
    kind,
    count: BigInt(requests ?? tokens ?? toolCalls ?? 0),
    per: durationFromMs(perMs),
    burst: BigInt(burst ?? 0),
  };
}

function shapeMessage(fields: BudgetFields): Exclude<MessageInitShape<typeof ShapeSchema>, { $typeName: string }> {
  return {
    ...given('maxReservationMicros', fields.maxReservationMicros),
    ...given('maxActive', fields.maxActive),
    ...given('maxChildren', fields.maxChildren),
    ...given('maxDepth', fields.maxDepth),
    ...given('maxLease', duration(fields.maxLeaseMs)),
    ...given('maxRenewals', fields.maxRenewals),
    ...given('closeAfter', duration(fields.closeAfterMs)),
  };
}

function enforcementMessage(
  fields: BudgetFields,
): Exclude<MessageInitShape<typeof EnforcementSchema>, { $typeName: string }> {
  const { mode, toleranceMicros, onExhaustion, keptMicros } = fields;
  const exhausted = onExhaustion && ON_EXHAUSTION[onExhaustion];
  if (onExhaustion !== undefined && exhausted === undefined) {
    throw new NotSupportedError(`budget.on_exhaustion: ${onExhaustion}`);
  }
  const kept = keptMicros && [...keptMicros].map(([word, micros]) => ({ priority: priorityOf(word), micros }));
  return {
    ...given('mode', mode && MODE[mode]),
    ...given('toleranceMicros', toleranceMicros),
    ...given('onExhaustion', exhausted),
    ...given('kept', kept),
  };
}

function alertAtMessage(percent: readonly number[]): MessageInitShape<typeof AlertAtSchema> {
  return { percent: [...percent] };
}

function duration(ms: number | undefined) {
  return ms === undefined ? undefined : durationFromMs(ms);
}

function given<Name extends string, T>(name: Name, value: T | undefined): { [Key in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: T };
}
