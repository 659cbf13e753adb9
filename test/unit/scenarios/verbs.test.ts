// Steps become the contract's requests field by field, and what the contract lacks fails loudly: nothing is left out.
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from 'vitest';
import { GetBudgetResponseSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit, OnExpiry } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { Mode, OnExhaustion, OverrunPolicy, Priority, RateKind } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { parseScenarios } from '../../scenarios/runner/parse-scenarios.ts';
import type { RpcClient } from '../../scenarios/runner/rpc-client.ts';
import type { CallStep } from '../../scenarios/runner/step-fields.ts';
import { type CallWorld, createBudget, sendCall, setPolicy } from '../../scenarios/runner/verbs.ts';

interface Sent {
  readonly method: string;
  readonly request: unknown;
}

/** A world whose service answers every call with an empty message, but for a budget of two limits. */
function recordingWorld(): { world: CallWorld; sent: Sent[] } {
  const sent: Sent[] = [];
  const rpc: RpcClient = {
    call: async <Output extends DescMessage>(
      method: { readonly name: string; readonly output: Output },
      request: unknown,
    ): Promise<MessageShape<Output>> => {
      sent.push({ method: method.name, request });
      const budget = {
        limits: [{ name: 'total', window: { kind: { case: 'lifetime', value: {} } }, amountMicros: 5n }],
      };
      const answer = method.name === 'GetBudget' ? create(GetBudgetResponseSchema, { budget } as never) : {};
      return await Promise.resolve(answer as MessageShape<Output>);
    },
    // No verb asks for a stream.
    stream: () => {
      throw new Error('no stream is answered here');
    },
    health: () => Promise.resolve('SERVING'),
    close: () => undefined,
  };
  return { world: { rpc, freshKey: () => 'fresh', reservationId: async (name) => `id of ${name}` }, sent };
}

function firstScenario(budget: string, ...steps: readonly string[]) {
  const lines = ['- name: n', `  budgets: [${budget}]`, '  steps:', ...steps.map((step) => `    - ${step}`)];
  const [scenario] = parseScenarios(lines.join('\n'), 'f.yaml');
  if (scenario === undefined) throw new Error('no scenario');
  return scenario;
}

/** The request that the last of some steps sends. */
async function requestOf(...steps: readonly string[]): Promise<readonly Sent[]> {
  const { world, sent } = recordingWorld();
  const step = firstScenario('{name: s}', ...steps).steps.at(-1);
  await sendCall(step as CallStep, world);
  return sent;
}

const RESERVE = '{do: reserve, as: A, budget: s, max: 1}';

describe('requests', () => {
  test('reserve, whole', async () => {
    expect(await requestOf('{do: reserve, budget: s, key: k, max: 9, min: 0, ttl: 90s, dry_run: true}')).toEqual([
      {
        method: 'Reserve',
        request: {
          budget: 's',
          idempotencyKey: 'k',
          maxMicros: 9n,
          minMicros: 0n,
          ttl: durationFromMs(90_000),
          validateOnly: true,
        },
      },
    ]);
  });

  test('a key left out is fresh; none is none', async () => {
    expect(await requestOf(RESERVE)).toMatchObject([{ request: { idempotencyKey: 'fresh' } }]);
    expect(await requestOf('{do: reserve, budget: s, key: none}')).toEqual([
      { method: 'Reserve', request: { budget: 's', idempotencyKey: '', validateOnly: false } },
    ]);
  });

  test('settle, both ways', async () => {
    const reservationId = 'id of A';
    expect(
      await requestOf(RESERVE, '{do: settle, reservation: A, actual: 0, keep_open: true, retain: 2}'),
    ).toMatchObject([
      { method: 'Settle', request: { reservationId, cost: { value: 0n }, keepOpen: true, retainMicros: 2n } },
    ]);
    expect(await requestOf(RESERVE, '{do: settle, reservation: A, usage_unknown: true}')).toMatchObject([
      { request: { reservationId, cost: { case: 'usageUnknown' }, keepOpen: false } },
    ]);
  });

  test('set_limit edits the limit that has the window, under its own name', async () => {
    expect(await requestOf('{do: set_limit, budget: s, amount: 9}')).toMatchObject([
      { method: 'GetBudget' },
      {
        method: 'UpdateBudget',
        request: { budget: { limits: [{ name: 'total', amountMicros: 9n }] }, updateMask: { paths: ['limits'] } },
      },
    ]);
  });

  test('set_limit adds a limit for a window that has none, and leaves its name to the service', async () => {
    const [, update] = await requestOf('{do: set_limit, budget: s, window: {rolling: 1h}, amount: 9}');
    expect(update).toMatchObject({
      request: {
        budget: {
          limits: [
            { name: 'total' },
            { amountMicros: 9n, window: { kind: { case: 'rolling', value: { duration: durationFromMs(3_600_000) } } } },
          ],
        },
      },
    });
  });

  test('reserve with what it will use and more budgets', async () => {
    const step = '{do: reserve, budget: s, key: k, max: 9, tokens: 0, tool_calls: 2, also: [s/a, s/b]}';
    expect(await requestOf(step)).toMatchObject([{ request: { tokens: 0n, toolCalls: 2n, also: ['s/a', 's/b'] } }]);
  });

  test('reserve with its class and other ways', async () => {
    const ways = 'alternatives: [{label: small, max: 3}, {label: tiny, max: 0}]';
    expect(await requestOf(`{do: reserve, budget: s, max: 9, priority: critical, ${ways}}`)).toMatchObject([
      {
        request: {
          priority: Priority.CRITICAL,
          alternatives: [
            { label: 'small', maxMicros: 3n },
            { label: 'tiny', maxMicros: 0n },
          ],
        },
      },
    ]);
  });

  test('create_budget with how its limits are applied and what is told of them', async () => {
    const enforcement = 'mode: soft, tolerance: 5, on_exhaustion: degrade, kept: {critical: 3, interactive: 2}';
    const [call] = await requestOf(`{do: create_budget, name: t, ${enforcement}, alert_at: [50, 100]}`);
    expect(call).toMatchObject({
      request: {
        budget: {
          enforcement: {
            mode: Mode.SOFT,
            toleranceMicros: 5n,
            onExhaustion: OnExhaustion.DEGRADE,
            kept: [
              { priority: Priority.CRITICAL, micros: 3n },
              { priority: Priority.INTERACTIVE, micros: 2n },
            ],
          },
          alertAt: { percent: [50, 100] },
        },
      },
    });
  });

  test('create_budget with windows, rates, bounds and templates', async () => {
    const limits =
      'limits: [{amount: 1, window: {calendar: week, tz: Asia/Tokyo}}, ' +
      '{amount: 2, window: {range: [1970-01-01T00:00:01Z, 1970-01-01T00:00:02Z]}}]';
    const bounds =
      'max_reservation: 1, max_active: 2, max_children: 3, max_depth: 4, max_lease: 5s, max_renewals: 6, close_after: 7s';
    const rates = 'rates: [{requests: 1, per: 1s}, {tokens: 2, per: 1s, burst: 3}, {tool_calls: 4, per: 1s}]';
    const template =
      'child_template: {kind: run, limits: [{amount: 3}], child_template: {uncapped: true, max_active: 0}}';
    const step = `{do: create_budget, name: t, ${limits}, ${bounds}, ${rates}, overrun: reject, ${template}}`;
    const [call] = await requestOf(step);
    const per = durationFromMs(1_000);
    expect(call).toMatchObject({
      request: {
        budget: {
          limits: [
            { window: { kind: { case: 'calendar', value: { unit: CalendarUnit.WEEK, timeZone: 'Asia/Tokyo' } } } },
            {
              amountMicros: 2n,
              window: {
                kind: { case: 'range', value: { startTime: timestampFromMs(1_000), endTime: timestampFromMs(2_000) } },
              },
            },
          ],
          rates: [
            { kind: RateKind.REQUESTS, count: 1n, per, burst: 0n },
            { kind: RateKind.TOKENS, count: 2n, per, burst: 3n },
            { kind: RateKind.TOOL_CALLS, count: 4n, per, burst: 0n },
          ],
          shape: {
            maxReservationMicros: 1n,
            maxActive: 2,
            maxChildren: 3,
            maxDepth: 4,
            maxLease: durationFromMs(5_000),
            maxRenewals: 6,
            closeAfter: durationFromMs(7_000),
          },
          overrun: OverrunPolicy.REJECT,
          childTemplate: {
            kind: 'run',
            limits: [{ amountMicros: 3n }],
            childTemplate: { uncapped: true, shape: { maxActive: 0 } },
          },
        },
      },
    });
  });

  test('top_up names a limit only where the step names a window', async () => {
    expect(await requestOf('{do: top_up, budget: s, add: 9}')).toMatchObject([
      { request: { limit: '', addMicros: 9n } },
    ]);
    expect(await requestOf('{do: top_up, budget: s, window: lifetime, add: 9}')).toMatchObject([
      { method: 'GetBudget' },
      { method: 'TopUp', request: { limit: 'total' } },
    ]);
  });

  test('a prepared budget gets its policy in a second call, and only where it has one', async () => {
    const { world, sent } = recordingWorld();
    const [budget] = firstScenario('{name: s, uncapped: true, on_expiry: charge}', '{do: verify}').budgets;
    if (budget === undefined) throw new Error('no budget');
    await createBudget('s', budget.fields, { policy: 'later', key: undefined }, world);
    await setPolicy('s', budget.fields, world);
    await setPolicy('s', { ...budget.fields, onExpiry: undefined }, world);
    expect(sent).toEqual([
      {
        method: 'CreateBudget',
        request: { budget: { budget: 's', kind: '', uncapped: true, limits: [] }, idempotencyKey: 'fresh' },
      },
      {
        method: 'UpdateBudget',
        request: {
          budget: { budget: 's', onExpiry: OnExpiry.CHARGE },
          updateMask: { paths: ['on_expiry'] },
          idempotencyKey: 'fresh',
        },
      },
    ]);
  });
});

test('a wait is sent as long as it is, with a holder by which it is found', async () => {
  expect(await requestOf('{do: reserve, budget: s, max: 1, key: k, wait: 90s}')).toMatchObject([
    { request: { idempotencyKey: 'k', holder: 'k', maxWait: durationFromMs(90_000) } },
  ]);
});

describe('what the contract lacks', () => {
  test.each([
    ['budget.on_exhaustion: park', '{do: create_budget, name: t, on_exhaustion: park}'],
    ['budget.approval_above', '{do: create_budget, name: t, child_template: {child_template: {approval_above: 1}}}'],
    ['approve', `{do: approve, reservation: A}`],
    ['reject', `{do: reject, reservation: A}`],
    ['adjust', `{do: adjust, reservation: A, actual: 1}`],
  ])('%s', async (field, step) => {
    await expect(requestOf(RESERVE, step)).rejects.toThrow(`not supported by this service yet: ${field}`);
  });
});
