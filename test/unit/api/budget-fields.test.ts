// Every field of every request on budgets with values that are wrong: refused, and named by the path it has in the proto.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { createBudgetCommand, updateBudgetCommand } from '../../../src/api/validate/budget-commands.ts';
import {
  type BudgetSchema,
  CreateBudgetRequestSchema,
  UpdateBudgetRequestSchema,
} from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit, type RangeWindowSchema, type WindowSchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import {
  type BudgetTemplateSchema,
  Mode,
  OnExhaustion,
  Priority,
  RateKind,
} from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { NO_SHAPE } from '../../../src/kernel/budget.ts';
import type { CreateBudget, UpdateBudget } from '../../../src/kernel/command.ts';
import { ENFORCED } from '../../../src/kernel/enforcement.ts';

type BudgetInit = MessageInitShape<typeof BudgetSchema>;
type Case = readonly [field: string, changes: BudgetInit];

function refusedFields(outcome: object): string[] {
  return isRefusal(outcome) ? (outcome.fields ?? []).map(({ field }) => field) : [];
}

const key = 'k-1';
const badKeys = ['', 'line\nbreak', 'x'.repeat(256)];
const badPaths = ['', 'a//b', 'a b', Array(17).fill('a').join('/')];
const badText = ['tab\t', 'x'.repeat(257)];

const hour = { seconds: 3_600n };
const limitIn = (window: MessageInitShape<typeof WindowSchema>): BudgetInit => ({ limits: [{ window }] });
const rolling = (seconds: bigint, nanos = 0) =>
  limitIn({ kind: { case: 'rolling', value: { duration: { seconds, nanos } } } });
const range = (value: MessageInitShape<typeof RangeWindowSchema>) => limitIn({ kind: { case: 'range', value } });
const calendar = (unit: CalendarUnit | 5, timeZone = '') =>
  limitIn({ kind: { case: 'calendar', value: { unit: unit as CalendarUnit, timeZone } } });

const inWindow = 'budget.limits[0].window';
const windowCases: readonly Case[] = [
  [`${inWindow}.rolling.duration`, limitIn({ kind: { case: 'rolling', value: {} } })],
  [`${inWindow}.rolling.duration`, rolling(0n)],
  [`${inWindow}.rolling.duration`, rolling(-5n)],
  [`${inWindow}.rolling.duration`, rolling(1n, 500_000_000)],
  [`${inWindow}.rolling.duration`, rolling(31_622_401n)],
  [`${inWindow}.range.start_time`, range({ endTime: hour })],
  [`${inWindow}.range.start_time`, range({ startTime: { seconds: -1n }, endTime: hour })],
  [`${inWindow}.range.start_time`, range({ startTime: { nanos: 1 }, endTime: hour })],
  [`${inWindow}.range.end_time`, range({ startTime: hour })],
  [`${inWindow}.range.end_time`, range({ startTime: hour, endTime: hour })],
  [`${inWindow}.range.end_time`, range({ startTime: hour, endTime: { seconds: 3_599n, nanos: 999_000_000 } })],
  [`${inWindow}.range.end_time`, range({ startTime: hour, endTime: { seconds: 253_402_300_800n } })],
  [`${inWindow}.calendar.unit`, calendar(0)],
  [`${inWindow}.calendar.unit`, calendar(5)],
  [`${inWindow}.calendar.time_zone`, calendar(2, 'Mars/Olympus')],
  [`${inWindow}.calendar.time_zone`, calendar(2, 'Europe')],
  ['budget.limits[1].name', { limits: [day('UTC'), day('')] }],
];

function day(timeZone: string) {
  const value = { unit: CalendarUnit.DAY, timeZone };
  return { window: { kind: { case: 'calendar', value } } } as const;
}

const rate = { kind: RateKind.TOKENS, count: 5n, per: hour };
const rateCases: readonly Case[] = [
  ['budget.rates[0].kind', { rates: [{ ...rate, kind: 0 }] }],
  ['budget.rates[0].kind', { rates: [{ ...rate, kind: 4 as never }] }],
  ['budget.rates[0].count', { rates: [{ ...rate, count: 0n }] }],
  ['budget.rates[0].count', { rates: [{ ...rate, count: 1_000_000_000_001n }] }],
  ['budget.rates[0].burst', { rates: [{ ...rate, burst: -1n }] }],
  ['budget.rates[0].burst', { rates: [{ ...rate, burst: 1_000_000_000_001n }] }],
  ['budget.rates[0].per', { rates: [{ kind: rate.kind, count: 5n }] }],
  ['budget.rates[0].per', { rates: [{ ...rate, per: { nanos: 999_000_000 } }] }],
  ['budget.rates[0].per', { rates: [{ ...rate, per: { seconds: 86_401n } }] }],
  ['budget.rates[0].per', { rates: [{ ...rate, per: { seconds: 1n, nanos: 1 } }] }],
  ['budget.rates[1]', { rates: [rate, { ...rate, count: 6n }] }],
  ['budget.rates', { rates: Array.from({ length: 17 }, (_, n) => ({ ...rate, per: { seconds: BigInt(n + 1) } })) }],
];

const shapeCases: readonly Case[] = [
  ['budget.shape.max_reservation_micros', { shape: { maxReservationMicros: -1n } }],
  ['budget.shape.max_active', { shape: { maxActive: -1 } }],
  ['budget.shape.max_children', { shape: { maxChildren: -1 } }],
  ['budget.shape.max_depth', { shape: { maxDepth: 16 } }],
  ['budget.shape.max_depth', { shape: { maxDepth: -1 } }],
  ['budget.shape.max_lease', { shape: { maxLease: { nanos: 999_000_000 } } }],
  ['budget.shape.max_lease', { shape: { maxLease: { seconds: 86_401n } } }],
  ['budget.shape.max_renewals', { shape: { maxRenewals: -1 } }],
  ['budget.shape.close_after', { shape: { closeAfter: { seconds: 0n } } }],
  ['budget.shape.close_after', { shape: { closeAfter: { seconds: 31_622_401n } } }],
  ['budget.shape.close_after', { shape: { closeAfter: { seconds: 1n, nanos: 1 } } }],
];

const enforcementCases: readonly Case[] = [
  ['budget.enforcement.mode', { enforcement: { mode: 5 as never } }],
  ['budget.enforcement.tolerance_micros', { enforcement: { toleranceMicros: -1n } }],
  ['budget.enforcement.on_exhaustion', { enforcement: { onExhaustion: 3 as never } }],
  ['budget.enforcement.kept[0].priority', { enforcement: { kept: [{ micros: 1n }] } }],
  ['budget.enforcement.kept[0].priority', { enforcement: { kept: [{ priority: 5 as never, micros: 1n }] } }],
  ['budget.enforcement.kept[0].priority', { enforcement: { kept: [{ priority: Priority.BACKGROUND }] } }],
  ['budget.enforcement.kept[0].micros', { enforcement: { kept: [{ priority: Priority.NORMAL, micros: -1n }] } }],
  [
    'budget.enforcement.kept[1].priority',
    { enforcement: { kept: Array.from({ length: 99 }, () => ({ priority: Priority.CRITICAL, micros: 1n })) } },
  ],
  ['budget.alert_at.percent', { alertAt: { percent: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }],
  ['budget.alert_at.percent[0]', { alertAt: { percent: [0] } }],
  ['budget.alert_at.percent[1]', { alertAt: { percent: [80, 1_001] } }],
  ['budget.alert_at.percent[1]', { alertAt: { percent: [80, 80] } }],
  ['budget.alert_at.percent[2]', { alertAt: { percent: [80, 100, 90] } }],
  ['budget.child_template.enforcement.mode', { childTemplate: { enforcement: { mode: 5 as never } } }],
  ['budget.child_template.alert_at.percent[0]', { childTemplate: { alertAt: { percent: [-1] } } }],
];

/** Templates in each other, so many in all. */
function nested(depth: number): MessageInitShape<typeof BudgetTemplateSchema> {
  return depth === 1 ? { kind: 'last' } : { childTemplate: nested(depth - 1) };
}

const settable: readonly Case[] = [
  ['budget.kind', { kind: 'a b' }],
  ['budget.kind', { kind: 'k'.repeat(64) }],
  ...badText.map((owner): Case => ['budget.owner', { owner }]),
  ['budget.labels["a b"]', { labels: { 'a b': '' } }],
  ['budget.labels["a"]', { labels: { a: '\u0000' } }],
  ['budget.limits', { limits: Array.from({ length: 17 }, (_, n) => ({ name: `l${n}`, amountMicros: 1n })) }],
  ['budget.limits[1].name', { limits: [{ name: 'a' }, { name: 'a b' }] }],
  ['budget.limits[1].name', { limits: [{ name: 'a' }, { name: 'x'.repeat(64) }] }],
  ['budget.limits[1].name', { limits: [{ name: 'a' }, { name: 'a' }] }],
  ['budget.limits[1].name', { limits: [{}, { name: 'lifetime' }] }],
  ...['day', 'day:UTC', 'hour:Asia/Tokyo', 'rolling:1h30m', 'range:2026-03-01T00:00:00Z..2026-04-01T00:00:00Z'].map(
    (name): Case => ['budget.limits[0].name', { limits: [{ name }] }],
  ),
  [
    'budget.limits[0].name',
    { limits: [{ name: 'lifetime', window: { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY } } } }] },
  ],
  ['budget.limits[0].window', { limits: [{ name: 'day', window: {} }] }],
  ['budget.limits[1].amount_micros', { limits: [{ name: 'a' }, { name: 'b', amountMicros: -1n }] }],
  ['budget.limits[0].window', { limits: [{ window: {} }] }],
  ['budget.on_expiry', { onExpiry: 4 as never }],
  ['budget.overrun', { overrun: 3 as never }],
  ...windowCases,
  ...rateCases,
  ...shapeCases,
  ...enforcementCases,
  ['budget.child_template.kind', { childTemplate: { kind: 'a b' } }],
  ['budget.child_template.limits[0].amount_micros', { childTemplate: { limits: [{ amountMicros: -1n }] } }],
  ['budget.child_template.rates[0].kind', { childTemplate: { rates: [{ count: 1n, per: { seconds: 1n } }] } }],
  ['budget.child_template.shape.max_depth', { childTemplate: { shape: { maxDepth: 16 } } }],
  ['budget.child_template.on_expiry', { childTemplate: { onExpiry: 4 as never } }],
  ['budget.child_template.overrun', { childTemplate: { overrun: 3 as never } }],
  ['budget.child_template.child_template.kind', { childTemplate: { childTemplate: { kind: '/' } } }],
  [`budget${'.child_template'.repeat(9)}`, { childTemplate: nested(9) }],
  [`budget${'.child_template'.repeat(9)}`, { childTemplate: nested(40) }],
];

const outputOnly: readonly Case[] = [
  ['budget.state', { state: 1 }],
  ['budget.suspended_by', { suspendedBy: 'a' }],
  ['budget.closed_by', { closedBy: 'a' }],
  ['budget.revision', { revision: 1n }],
  ['budget.etag', { etag: 'r1' }],
  ['budget.create_time', { createTime: {} }],
  ['budget.update_time', { updateTime: {} }],
  ['budget.balances', { balances: [{}] }],
  ['budget.totals', { totals: {} }],
  ['budget.availability', { availability: {} }],
  ['budget.rate_standings', { rateStandings: [{}] }],
  ['budget.open_children', { openChildren: 1n }],
];

describe('CreateBudget', () => {
  const check = (budget: BudgetInit, idempotencyKey = key) =>
    createBudgetCommand(
      create(CreateBudgetRequestSchema, { budget: { budget: 'acme', ...budget } as BudgetInit, idempotencyKey }),
      'tester',
    );

  it.each([
    ...settable,
    ...outputOnly,
    ...badPaths.map((budget): Case => ['budget.budget', { budget }]),
    ['budget.unit', { unit: 'US$' }],
    ['budget.unit', { unit: 'a'.repeat(17) }],
    ['budget.unit', { budget: 'acme/a', unit: 'USD' }],
  ] satisfies Case[])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check(changes))).toEqual([field]);
  });

  it.each(badKeys)('names the key %j', (idempotencyKey) => {
    expect(refusedFields(check({}, idempotencyKey))).toEqual(['idempotency_key']);
  });

  it('names a missing budget beside what else is wrong', () => {
    expect(refusedFields(createBudgetCommand(create(CreateBudgetRequestSchema, {}), 'tester'))).toEqual([
      'budget',
      'idempotency_key',
    ]);
  });

  it('leaves it to the decision which units a new tree may have: a repeat is answered whatever they are', () => {
    expect(check({ unit: 'usd', uncapped: true })).toMatchObject({ unit: 'usd' });
  });

  it('fills in defaults', () => {
    expect(check({ limits: [{ amountMicros: 5n }] })).toMatchObject({
      unit: undefined,
      uncapped: false,
      limits: [{ name: 'lifetime', rule: { kind: 'lifetime' }, amountMicros: 5n }],
      onExpiry: 'release',
      personal: undefined,
      rates: [],
      shape: NO_SHAPE,
      overrun: 'record',
      enforcement: ENFORCED,
      alertAt: [80, 100],
      childTemplate: undefined,
    });
  });

  it('reads how limits are applied, and tells shares that are unset from none', () => {
    const kept = [{ priority: Priority.CRITICAL, micros: 3n }];
    const enforcement = { mode: Mode.SOFT, toleranceMicros: 5n, onExhaustion: OnExhaustion.DEGRADE, kept };
    expect(check({ enforcement, alertAt: {}, childTemplate: { alertAt: { percent: [1, 1_000] } } })).toMatchObject({
      enforcement: {
        mode: 'soft',
        toleranceMicros: 5n,
        onExhaustion: 'degrade',
        kept: [{ priority: 'critical', micros: 3n }],
      },
      alertAt: [],
      childTemplate: { enforcement: ENFORCED, alertAt: [1, 1_000] },
    });
    expect(check({ enforcement: {} })).toMatchObject({ enforcement: ENFORCED, alertAt: [80, 100] });
  });

  it('takes the least and the most of every bound and rate', () => {
    const most = {
      maxReservationMicros: 9_223_372_036_854_775_807n,
      maxActive: 2_147_483_647,
      maxChildren: 0,
      maxDepth: 15,
      maxLease: { seconds: 86_400n },
      maxRenewals: 0,
      closeAfter: { seconds: 31_622_400n },
    };
    const rates = [
      { kind: RateKind.REQUESTS, count: 1n, per: { seconds: 1n }, burst: 1_000_000_000_000n },
      { kind: RateKind.REQUESTS, count: 1_000_000_000_000n, per: { seconds: 86_400n } },
    ];
    expect(check({ shape: most, rates, childTemplate: nested(8) })).toMatchObject({
      shape: {
        maxReservationMicros: 9_223_372_036_854_775_807n,
        maxActive: 2_147_483_647,
        maxChildren: 0,
        maxDepth: 15,
        maxLeaseMs: 86_400_000,
        maxRenewals: 0,
        closeAfterMs: 31_622_400_000,
      },
      rates: [
        { kind: 'requests', count: 1, perMs: 1_000, burst: 1_000_000_000_000 },
        { kind: 'requests', count: 1_000_000_000_000, perMs: 86_400_000, burst: 1_000_000_000_000 },
      ],
      childTemplate: { childTemplate: { budgetKind: '', shape: NO_SHAPE } },
    });
  });

  it('says which name two limits have that were given none', () => {
    const day = { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY } } } as const;
    expect(check({ limits: [{ window: day }, { window: day }] })).toMatchObject({
      fields: [{ description: 'must be unique in its budget: another one is named day too' }],
    });
  });

  it('reads windows, each with a name of its own', () => {
    const windows: MessageInitShape<typeof WindowSchema>[] = [
      { kind: { case: 'lifetime', value: {} } },
      { kind: { case: 'rolling', value: { duration: { seconds: 5_400n } } } },
      { kind: { case: 'rolling', value: { duration: { seconds: 86_400n } } } },
      { kind: { case: 'calendar', value: { unit: CalendarUnit.WEEK } } },
      { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: 'America/Argentina/ComodRivadavia' } } },
      { kind: { case: 'range', value: { startTime: { seconds: 0n, nanos: 1_000_000 }, endTime: { seconds: 60n } } } },
    ];
    const { limits } = check({ limits: windows.map((window) => ({ window })) }) as CreateBudget;
    expect(limits).toMatchObject([
      { name: 'lifetime', rule: { kind: 'lifetime' } },
      { name: 'rolling:1h30m', rule: { kind: 'rolling', durationMs: 5_400_000, stepMs: 45_000 } },
      { name: 'rolling:1d', rule: { kind: 'rolling', durationMs: 86_400_000, stepMs: 60_000 } },
      { name: 'week', rule: { kind: 'calendar', unit: 'week', timeZone: 'UTC' } },
      { name: 'day:America/Argentina/ComodRivadavia', rule: { timeZone: 'America/Argentina/ComodRivadavia' } },
      { name: 'range:1970-01-01T00:00:00.001Z..1970-01-01T00:01:00Z', rule: { startMs: 1, endMs: 60_000 } },
    ]);
    // What GetBudget shows can be sent back: every name that is given by default is one that may be given.
    const named = limits.map((limit, index) => ({ name: limit.name, window: windows[index] }) as never);
    expect(check({ limits: named })).toMatchObject({ limits });
    const free = ['daily', 'day:shift', 'rolling:stone', 'range'].map((name) => ({ name }));
    expect(check({ limits: free })).toMatchObject({ limits: free });
  });
});

describe('UpdateBudget', () => {
  type Init = MessageInitShape<typeof UpdateBudgetRequestSchema>;
  const paths = [
    ...['kind', 'owner', 'labels', 'uncapped', 'limits', 'on_expiry'],
    ...['rates', 'shape', 'overrun', 'child_template', 'enforcement', 'alert_at'],
  ];
  const check = (budget: BudgetInit, changes: Init = {}) => {
    const request = {
      budget: { budget: 'acme', ...budget } as BudgetInit,
      updateMask: { paths },
      idempotencyKey: key,
      ...changes,
    } as Init;
    return updateBudgetCommand(create(UpdateBudgetRequestSchema, request), 'tester');
  };

  it.each([...settable, ...badPaths.map((budget): Case => ['budget.budget', { budget }])])(
    'names %s, case %#',
    (field, changes) => {
      expect(refusedFields(check(changes))).toEqual([field]);
    },
  );

  it.each([
    ['update_mask', { updateMask: { paths: [] } }],
    ['update_mask', { updateMask: { paths: ['unit'] } }],
    ['update_mask', { updateMask: { paths: ['kind', 'budget.kind'] } }],
    ['update_mask', { updateMask: { paths: ['shape.max'] } }],
    ['update_mask', { updateMask: { paths: ['rate_standings'] } }],
    ['update_mask', { updateMask: { paths: ['enforcement.kept.micros'] } }],
    ['update_mask', { updateMask: { paths: ['alert_at.percent'] } }],
    ['etag', { etag: 'r0' }],
    ['etag', { etag: 'W/"1"' }],
    ['etag', { etag: `r${'9'.repeat(16)}` }],
    ['idempotency_key', { idempotencyKey: '' }],
    ['budget', { budget: undefined }],
  ] satisfies [string, Init][])('names %s, case %#', (field, changes) => {
    expect(refusedFields(check({}, changes as Init))).toEqual([field]);
  });

  it('looks at masked fields only, so that a budget that was read can be sent back', () => {
    const read = { owner: 'kim', kind: 'not looked at', revision: 3n, etag: 'r3', state: 1 } as const;
    expect(check(read, { updateMask: { paths: ['owner'] }, etag: 'r3' })).toMatchObject({
      owner: 'kim',
      budgetKind: undefined,
      limits: undefined,
      onExpiry: undefined,
      uncapped: undefined,
      rates: undefined,
      shape: {},
      overrun: undefined,
      enforcement: {},
      alertAt: undefined,
      childTemplate: undefined,
      expectedRevision: 3,
      replaceLabels: false,
    });
  });

  it('changes the bounds that are masked, and takes away those that are unset', () => {
    const shape = { maxActive: 5, maxLease: { seconds: 60n }, maxDepth: 99 };
    const single = check({ shape }, { updateMask: { paths: ['shape.max_active', 'shape.max_children'] } });
    expect((single as UpdateBudget).shape).toEqual({ maxActive: 5, maxChildren: undefined });
    const whole = check({ shape: { maxActive: 5 } }, { updateMask: { paths: ['shape', 'shape.max_depth'] } });
    expect((whole as UpdateBudget).shape).toEqual({ ...NO_SHAPE, maxActive: 5 });
    const none = check({}, { updateMask: { paths: ['shape'] } });
    expect((none as UpdateBudget).shape).toEqual(NO_SHAPE);
    expect((check({ shape }, { updateMask: { paths: ['owner'] } }) as UpdateBudget).shape).toEqual({});
  });

  it('changes of the enforcement what is masked, and puts back what is unset', () => {
    const enforcement = { mode: Mode.WARN, toleranceMicros: -1n };
    const single = check({ enforcement }, { updateMask: { paths: ['enforcement.mode', 'enforcement.kept'] } });
    expect((single as UpdateBudget).enforcement).toEqual({ mode: 'warn', kept: [] });
    expect((check({}, { updateMask: { paths: ['enforcement'] } }) as UpdateBudget).enforcement).toEqual(ENFORCED);
    expect((check({}, { updateMask: { paths: ['alert_at'] } }) as UpdateBudget).alertAt).toEqual([80, 100]);
    expect((check({ alertAt: {} }, { updateMask: { paths: ['alert_at'] } }) as UpdateBudget).alertAt).toEqual([]);
  });

  it('tells a template that is taken away from one that stays', () => {
    expect(check({}, { updateMask: { paths: ['child_template'] } })).toMatchObject({
      childTemplate: { to: undefined },
    });
    expect(check({}, { updateMask: { paths: ['owner'] } })).toMatchObject({ childTemplate: undefined });
    const set = check({ childTemplate: { kind: 'run' } }, { updateMask: { paths: ['child_template'] } });
    expect(set).toMatchObject({ childTemplate: { to: { budgetKind: 'run', onExpiry: 'release' } } });
  });

  it('replaces labels by none where the mask names them and none are given', () => {
    const update = check({}, { updateMask: { paths: ['labels'] } });
    expect(update).toMatchObject({ replaceLabels: true, personal: undefined });
  });
});
