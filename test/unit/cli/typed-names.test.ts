// What is wrong is told by what was typed. Every option that the table names is one of the command that sends the field, and every field
// of the requests that commands send is in it.
import type { DescMessage } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/app/cli/program.ts';
import { typedName, typedText } from '../../../src/app/cli/typed-names.ts';
import { BudgetSchema, CloseBudgetRequestSchema, TopUpRequestSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ModelCallSchema, UsageSchema } from '../../../src/gen/budgetd/v1/model_call_pb.ts';
import { PriceFeesSchema, PriceRatesSchema } from '../../../src/gen/budgetd/v1/price_pb.ts';
import {
  ExtendRequestSchema,
  ReleaseRequestSchema,
  RenewRequestSchema,
  ReserveRequestSchema,
  SettleRequestSchema,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { EnforcementSchema, ModelRulesSchema, ShapeSchema } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { keepTerminal } from './plain-terminal.ts';

it.each([
  ['min_micros', '--min'],
  ['max_micros', 'amount'],
  ['idempotency_key', '--key'],
  ['also[2]', '--also no. 3'],
  ['labels["a.b[0]"]', '--label a.b[0]'],
  ['alternatives[1].max_micros', '--alternative no. 2, max'],
  ['alternatives[0].model_call.candidates[0].provider', '--alternative no. 1, provider'],
  ['model_call.candidates[0].model', '--model no. 1, model'],
  ['model_call.max_output_tokens', '--max-output'],
  ['usage.raw.kind', '--kind'],
  ['usage.counts.web_searches', '--count web_searches'],
  ['usage.prompt_tokens_details.cached_tokens', 'usage.prompt_tokens_details.cached_tokens'],
  ['budget.budget', 'budget'],
  ['budget.limits', '--limit'],
  ['budget.limits[1].amount_micros', '--limit no. 2, amount'],
  ['budget.limits[0].window.calendar.time_zone', '--limit no. 1, time zone'],
  ['budget.enforcement.kept[0].micros', '--keep no. 1, amount'],
  ['budget.alert_at.percent[3]', '--alert-at no. 4'],
  ['budget.child_template.limits[0].amount_micros', '--child-template, limits[0].amount_micros'],
  ['budget.labels["team"]', '--label team'],
  ['budget.shape', 'shape'],
  ['row.rates.cache_write_5m', '--cache-write-5m'],
  ['row.band.start', '--band, start'],
  ['changes[0].create.budget.uncapped', 'changes[0].create.budget.uncapped'],
  ['constructor', 'constructor'],
  ['', ''],
])('%s is %s', (field, typed) => {
  expect(typedName(field, 'CreateBudget')).toBe(typed);
});

it('names no option for the limits of an edit: one of them was typed', () => {
  expect(typedName('budget.limits[1].amount_micros', 'UpdateBudget')).toBe('limit no. 2, amount');
});

it.each([
  ['must not be above max_micros', 'must not be above the amount'],
  ['must only be set with keep_open', 'must only be set with --keep-open'],
  ['is required: one of request_bytes and input_tokens', 'is required: one of --bytes and --input-tokens'],
  ['acme has no limit start_time (there are: max_micros)', 'acme has no limit start_time (there are: max_micros)'],
])('%s: %s', (description, typed) => {
  expect(typedText(description)).toBe(typed);
});

// What the service alone sets, and groups of which each field is typed apart.
const UNTYPED = new Set([
  ...['parent', 'state', 'revision', 'etag', 'create_time', 'update_time', 'balances', 'totals', 'availability'],
  ...[
    'suspended_by',
    'rate_standings',
    'shape',
    'enforcement',
    'models',
    'template',
    'made_from_template',
    'closed_by',
    'open_children',
  ],
]);
const ARGUMENTS = new Set(['budget', 'reservation', 'amount', 'usage', 'provider', 'model', 'unit', 'row', 'name']);

describe.each<[string, string, DescMessage]>([
  ['reserve', '', ReserveRequestSchema],
  ['reserve', 'model_call.', ModelCallSchema],
  ['extend', '', ExtendRequestSchema],
  ['settle', '', SettleRequestSchema],
  ['settle', 'usage.', UsageSchema],
  ['renew', '', RenewRequestSchema],
  ['release', '', ReleaseRequestSchema],
  ['create', 'budget.', BudgetSchema],
  ['create', 'budget.shape.', ShapeSchema],
  ['create', 'budget.enforcement.', EnforcementSchema],
  ['create', 'budget.models.', ModelRulesSchema],
  ['top-up', '', TopUpRequestSchema],
  ['close', '', CloseBudgetRequestSchema],
  ['prices add', 'row.rates.', PriceRatesSchema],
  ['prices add', 'row.fees.', PriceFeesSchema],
])('of %s, %s', (words, prefix, { fields }) => {
  it('each field is an option or an argument that there is', async () => {
    const { terminal, stdout } = keepTerminal();
    const unused = () => Promise.reject(new Error('not expected'));
    await runCommandLine([...words.split(' '), '--help'], {
      terminal,
      environment: {},
      nowMs: () => 0,
      runVerify: unused,
      repairs: { rebuildProjection: unused, listQuarantine: unused, clearQuarantine: unused },
      spend: { readMonths: unused, readEstimateShares: unused },
      onInterrupt: () => () => undefined,
      confirm: () => Promise.resolve(undefined),
    });
    const options = new Set(stdout().match(/--[a-z0-9-]+/g));
    const unknown = fields
      .filter(({ name }) => !UNTYPED.has(name))
      .map(({ name }) => [prefix + name, typedName(prefix + name, '')] as const)
      .filter(([, typed]) => !ARGUMENTS.has(typed) && !options.has(typed));
    expect(unknown).toEqual([]);
  });
});
