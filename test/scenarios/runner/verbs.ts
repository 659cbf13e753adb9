// The one place that maps the format's verbs and fields to the contract's calls. What the contract does not have yet is
// named here too, and fails the scenario that needs it.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Duration, durationFromMs } from '@bufbuild/protobuf/wkt';
import { type Budget, BudgetSchema, BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import type { Limit, LimitSchema } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import type { BudgetFields, WindowRule } from './budget-fields.ts';
import { NotSupportedError } from './not-supported-error.ts';
import type { Reply } from './outcome.ts';
import { frameMessage, limitMessage, policyMessage } from './policy-message.ts';
import { priorityOf } from './priority-words.ts';
import type { RpcClient } from './rpc-client.ts';
import type { KeyChoice } from './scalar-fields.ts';
import type { CallStep, CallStepOf, CallVerb } from './step-fields.ts';
import { isWindow } from './window-message.ts';

/** What a call needs of the scenario around it. */
export interface CallWorld {
  readonly rpc: RpcClient;
  /** A key that this scenario has not sent yet. */
  freshKey(): string;
  /** The id behind an `as`. Rejects with UnknownReservationError where that step was given none. */
  reservationId(name: string): Promise<string>;
}

/** Sends the call of a step. Rejects with the call's status where it is refused. */
export async function sendCall(step: CallStep, world: CallWorld): Promise<Reply> {
  // The verb of a step picks the function for that very step; the compiler can't tie the two together.
  const call = CALLS[step.do] as (step: CallStep, world: CallWorld) => Promise<Reply>;
  return await call(step, world);
}

const CALLS: { readonly [Verb in CallVerb]: (step: CallStepOf<Verb>, world: CallWorld) => Promise<Reply> } = {
  reserve: async (step, world) => {
    const key = keyOf(step, world);
    const request = {
      budget: step.budget,
      ...key,
      ...given('maxMicros', step.maxMicros),
      ...given('minMicros', step.minMicros),
      ...given('ttl', duration(step.ttlMs)),
      ...given('tokens', whole(step.tokens)),
      ...given('toolCalls', whole(step.toolCalls)),
      ...given('also', step.also && [...step.also]),
      ...given('priority', step.priority === undefined ? undefined : priorityOf(step.priority)),
      ...given('alternatives', step.alternatives && [...step.alternatives]),
      ...given('maxWait', duration(step.waitMs)),
      // One that waits is found by it; a repeat of the key has the same.
      ...given('holder', step.waitMs === undefined ? undefined : key.idempotencyKey),
      validateOnly: step.dryRun ?? false,
    };
    // The deadline of the call would shorten the wait.
    return await world.rpc.call(ReservationService.method.reserve, request, step.waitMs);
  },
  extend: async (step, world) =>
    await world.rpc.call(ReservationService.method.extend, {
      ...(await targetOf(step, world)),
      ...given('addMicros', step.addMicros),
      ...given('minMicros', step.minMicros),
    }),
  settle: async (step, world) => {
    const actual = step.actualMicros;
    return await world.rpc.call(ReservationService.method.settle, {
      ...(await targetOf(step, world)),
      ...(actual === undefined ? {} : { cost: { case: 'actualMicros', value: actual } }),
      ...(step.usageUnknown === true ? { cost: { case: 'usageUnknown', value: {} } } : {}),
      keepOpen: step.keepOpen ?? false,
      ...given('retainMicros', step.retainMicros),
      ...given('confirmAmount', step.confirm),
    });
  },
  release: async (step, world) => await world.rpc.call(ReservationService.method.release, await targetOf(step, world)),
  renew: async (step, world) =>
    await world.rpc.call(ReservationService.method.renew, {
      ...(await targetOf(step, world)),
      ...given('ttl', duration(step.ttlMs)),
      started: step.started ?? false,
    }),
  create_budget: async (step, world) =>
    await createBudget(step.name ?? step.budget ?? '', step, { policy: 'now', key: step.key }, world),
  set_limit: async (step, world) => {
    const { budget } = await world.rpc.call(BudgetService.method.getBudget, { budget: step.budget });
    const known = limitOf(step.window, budget);
    const { amountMicros, window = LIFETIME } = step;
    const limits: readonly MessageInitShape<typeof LimitSchema>[] = budget?.limits ?? [];
    const edited =
      known === undefined
        ? [...limits, limitMessage({ amountMicros, window })]
        : limits.map((limit) => (limit === known ? { ...limit, amountMicros } : limit));
    return await world.rpc.call(BudgetService.method.updateBudget, {
      budget: { budget: step.budget, limits: edited },
      updateMask: { paths: ['limits'] },
      ...keyOf(step, world),
    });
  },
  top_up: async (step, world) => {
    const named = step.window !== undefined;
    const { budget } = named ? await world.rpc.call(BudgetService.method.getBudget, { budget: step.budget }) : {};
    return await world.rpc.call(BudgetService.method.topUp, {
      ...budgetOf(step, world),
      // No limit has the name of a window that is not there: the service then says so.
      limit: named ? (limitOf(step.window, budget)?.name ?? 'not-there') : '',
      addMicros: step.addMicros ?? 0n,
    });
  },
  suspend: async (step, world) => await world.rpc.call(BudgetService.method.suspendBudget, budgetOf(step, world)),
  resume: async (step, world) => await world.rpc.call(BudgetService.method.resumeBudget, budgetOf(step, world)),
  close: async (step, world) => await world.rpc.call(BudgetService.method.closeBudget, budgetOf(step, world)),
  approve: () => Promise.reject(new NotSupportedError('approve')),
  reject: () => Promise.reject(new NotSupportedError('reject')),
  adjust: () => Promise.reject(new NotSupportedError('adjust')),
};

/**
 * Creates a budget with its kind, limits and `uncapped` and, unless that is to come later through `setPolicy`, with
 * its policy.
 */
export async function createBudget(
  name: string,
  fields: BudgetFields,
  options: { readonly policy: 'now' | 'later'; readonly key: KeyChoice | undefined },
  world: CallWorld,
): Promise<Reply> {
  const policy = policyMessage(fields);
  return await world.rpc.call(BudgetService.method.createBudget, {
    budget: {
      budget: name,
      ...frameMessage(fields),
      ...(options.policy === 'now' ? policy : {}),
    },
    ...keyOf(options, world),
  });
}

/** Lets the policy fields of a budget take effect; a budget without any is left alone. */
export async function setPolicy(name: string, fields: BudgetFields, world: CallWorld): Promise<void> {
  const policy = policyMessage(fields);
  const paths = BudgetSchema.fields
    .filter((field) => Object.hasOwn(policy, field.localName))
    .map((field) => field.name);
  if (paths.length === 0) return;
  await world.rpc.call(BudgetService.method.updateBudget, {
    budget: { budget: name, ...policy },
    updateMask: { paths },
    idempotencyKey: world.freshKey(),
  });
}

const LIFETIME: WindowRule = { kind: 'lifetime' };

/** The limit that has the window; the only one, where no window is said. */
function limitOf(window: WindowRule | undefined, budget: Budget | undefined): Limit | undefined {
  const limits = budget?.limits ?? [];
  if (window === undefined && limits.length === 1) return limits[0];
  return limits.find((limit) => isWindow(limit.window, window ?? LIFETIME));
}

function keyOf(step: { readonly key: KeyChoice | undefined }, world: CallWorld): { idempotencyKey: string } {
  switch (step.key?.kind) {
    case 'none':
      return { idempotencyKey: '' };
    case 'given':
      return { idempotencyKey: step.key.key };
    default:
      return { idempotencyKey: world.freshKey() };
  }
}

async function targetOf(step: { readonly reservation: string; readonly key: KeyChoice | undefined }, world: CallWorld) {
  return { reservationId: await world.reservationId(step.reservation), ...keyOf(step, world) };
}

function budgetOf(step: { readonly budget: string; readonly key: KeyChoice | undefined }, world: CallWorld) {
  return { budget: step.budget, ...keyOf(step, world) };
}

function duration(ms: number | undefined): Duration | undefined {
  return ms === undefined ? undefined : durationFromMs(ms);
}

function whole(count: number | undefined): bigint | undefined {
  return count === undefined ? undefined : BigInt(count);
}

function given<Name extends string, T>(name: Name, value: T | undefined): { [Key in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: T };
}
