// Steps become the contract's requests field by field, and what the contract lacks fails loudly: nothing is left out.
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from 'vitest';
import { GetBudgetResponseSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { OnExpiry } from '../../../src/gen/budgetd/v1/limit_pb.ts';
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
    health: () => Promise.resolve('SERVING'),
    close: () => undefined,
  };
  return { world: { rpc, freshKey: () => 'fresh', reservationId: (name) => `id of ${name}` }, sent };
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

describe('what the contract lacks', () => {
  test.each([
    ['reserve.priority', '{do: reserve, budget: s, max: 1, priority: critical}'],
    ['reserve.wait', '{do: reserve, budget: s, max: 1, wait: 1s}'],
    ['reserve.tokens', '{do: reserve, budget: s, max: 1, tokens: 0}'],
    ['reserve.tool_calls', '{do: reserve, budget: s, max: 1, tool_calls: 1}'],
    ['reserve.alternatives', '{do: reserve, budget: s, max: 1, alternatives: [{label: l, max: 1}]}'],
    ['reserve.also', '{do: reserve, budget: s, max: 1, also: [t]}'],
    ['budget.mode', '{do: create_budget, name: t, mode: warn}'],
    ['budget.max_active', '{do: create_budget, name: t, max_active: 0}'],
    ['window.calendar', '{do: create_budget, name: t, limits: [{amount: 1, window: {calendar: day}}]}'],
    ['window.rolling', '{do: set_limit, budget: s, window: {rolling: 1h}, amount: 1}'],
    ['approve', `{do: approve, reservation: A}`],
    ['reject', `{do: reject, reservation: A}`],
    ['adjust', `{do: adjust, reservation: A, actual: 1}`],
  ])('%s', async (field, step) => {
    await expect(requestOf(RESERVE, step)).rejects.toThrow(`not supported by this service yet: ${field}`);
  });
});
