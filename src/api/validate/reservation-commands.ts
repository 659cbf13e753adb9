// Requests on reservations as commands: every field checked, all invalid ones named at once. Stands alone because unary
// calls and Sessions must agree on it to the letter. Nothing here asks who the caller is or what exists.
import type {
  ExtendRequest,
  GetReservationRequest,
  ReleaseRequest,
  RenewRequest,
  ReserveRequest,
  SettleRequest,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import type { Extend, GetReservation, Release, Renew, Renewal, Reserve, Settle } from '../../kernel/command.ts';
import { type ReservationId, type TreeId, treeOf } from '../../kernel/names.ts';
import type { UsageToPrice } from '../../kernel/price.ts';
import type { Refusal } from '../../kernel/refusal.ts';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { commandKey, frameText, frameValue } from '../command-key.ts';
import { personalFields } from '../personal-fields.ts';
import { checkAlso, frameAlso } from './also.ts';
import { checkAlternatives, frameAlternatives } from './alternatives.ts';
import { checkAmountOrCall } from './amount-or-call.ts';
import { checkDuration, frameDuration, WAIT_RANGE } from './durations.ts';
import { checkOutcome, checkPriority } from './enums.ts';
import { checkLabels } from './labels.ts';
import { checkTtl } from './lease.ts';
import { frameModelCall } from './model-call.ts';
import { checkKey, checkMicros, checkPath, checkReservationId, checkText, type Problems } from './problems.ts';
import { UNITS_MAX } from './rates.ts';
import { checkUsage, frameUsage } from './usage.ts';

/** What a command takes from around its request. */
export interface CommandOrigin {
  /** Name of the caller, for the journal. */
  readonly actor: string;
  readonly newReservationId: () => ReservationId;
}

function checkUse(problems: Problems, field: string, units: bigint | undefined): number {
  if (units === undefined) return 0;
  if (units >= 0n && units <= UNITS_MAX) return Number(units);
  problems.push({ field, description: `must be 0 to ${UNITS_MAX}` });
  return 0;
}

/** A Reserve as a command. */
export function reserveCommand(request: ReserveRequest, origin: CommandOrigin): Reserve | ApiRefusal {
  const problems: Problems = [];
  const budget = checkPath(problems, 'budget', request.budget);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, !request.validateOnly);
  const { micros: maxMicros, minMicros, call } = checkAmountOrCall(problems, 'max_micros', request.maxMicros, request);
  const ttlMs = checkTtl(problems, 'ttl', request.ttl);
  const also = checkAlso(problems, 'also', request.also, budget);
  const tokens = checkUse(problems, 'tokens', request.tokens);
  const toolCalls = checkUse(problems, 'tool_calls', request.toolCalls);
  const priority = checkPriority(problems, 'priority', request.priority);
  const alternatives = checkAlternatives(problems, 'alternatives', request.alternatives, request.maxMicros);
  const { maxWait } = request;
  const waitMs = maxWait === undefined ? 0 : checkDuration(problems, 'max_wait', maxWait, WAIT_RANGE);
  const holder = checkText(problems, 'holder', request.holder);
  const actingFor = checkText(problems, 'acting_for', request.actingFor);
  const labels = checkLabels(problems, 'labels', request.labels);
  if (problems.length > 0) return invalidFields(problems);
  const dryRun = request.validateOnly;
  const fields = () =>
    frameValue('max', request.maxMicros) +
    frameValue('min', request.minMicros) +
    frameDuration('ttl', request.ttl) +
    frameText('holder', holder) +
    frameAlso(also) +
    frameValue('tokens', request.tokens) +
    frameValue('tool_calls', request.toolCalls) +
    frameValue('priority', request.priority === 0 ? undefined : request.priority) +
    frameAlternatives(request.alternatives) +
    frameDuration('max_wait', maxWait) +
    frameModelCall(request.modelCall);
  return {
    kind: 'Reserve',
    treeId: treeOf(budget),
    actor: origin.actor,
    key: dryRun ? undefined : commandKey('Reserve', budget, request.idempotencyKey, fields()),
    personal: personalFields(actingFor, labels),
    id: origin.newReservationId(),
    budget,
    maxMicros,
    minMicros,
    call,
    price: undefined,
    ttlMs,
    also,
    tokens,
    toolCalls,
    priority,
    alternatives,
    waitMs,
    holder,
    dryRun,
  };
}

/** An Extend as a command. */
export function extendCommand(request: ExtendRequest, origin: CommandOrigin): Extend | ApiRefusal {
  const problems: Problems = [];
  const { treeId, id } = checkReservationId(problems, 'reservation_id', request.reservationId);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  const { micros: addMicros, minMicros, call } = checkAmountOrCall(problems, 'add_micros', request.addMicros, request);
  if (problems.length > 0) return invalidFields(problems);
  const fields =
    frameValue('add', request.addMicros) + frameValue('min', request.minMicros) + frameModelCall(request.modelCall);
  const key = commandKey('Extend', request.reservationId, request.idempotencyKey, fields);
  return { kind: 'Extend', treeId, actor: origin.actor, key, personal: undefined, id, addMicros, minMicros, call };
}

/** A cost by amount, or usage to be priced; neither: unknown. */
interface StatedCost {
  readonly actualMicros: bigint | undefined;
  readonly usage: UsageToPrice | Refusal | undefined;
  readonly framed: string;
}

const UNKNOWN_COST: StatedCost = { actualMicros: undefined, usage: undefined, framed: 'unknown;' };

function checkCost(problems: Problems, { cost, keepOpen }: SettleRequest): StatedCost {
  switch (cost.case) {
    case 'actualMicros': {
      const actualMicros = checkMicros(problems, 'actual_micros', cost.value);
      return { actualMicros, usage: undefined, framed: frameValue('actual', actualMicros) };
    }
    case 'usage': {
      const usage = checkUsage(problems, 'usage', cost.value);
      return { actualMicros: undefined, usage, framed: frameUsage(cost.value) };
    }
    case 'usageUnknown':
      if (keepOpen) problems.push({ field: 'keep_open', description: 'must not be set with usage_unknown' });
      return UNKNOWN_COST;
    default:
      problems.push({ field: 'cost', description: 'is required: one of actual_micros, usage and usage_unknown' });
      return UNKNOWN_COST;
  }
}

function checkRetain(problems: Problems, request: SettleRequest): bigint | undefined {
  if (request.retainMicros === undefined) return undefined;
  const retainMicros = checkMicros(problems, 'retain_micros', request.retainMicros);
  if (!request.keepOpen) problems.push({ field: 'retain_micros', description: 'must only be set with keep_open' });
  return retainMicros;
}

/** A Settle as a command. */
export function settleCommand(request: SettleRequest, origin: CommandOrigin): Settle | ApiRefusal {
  const problems: Problems = [];
  const { treeId, id } = checkReservationId(problems, 'reservation_id', request.reservationId);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  const cost = checkCost(problems, request);
  const retainMicros = checkRetain(problems, request);
  const outcome = checkOutcome(problems, 'outcome', request.outcome);
  const labels = checkLabels(problems, 'labels', request.labels);
  if (problems.length > 0) return invalidFields(problems);
  const { keepOpen, confirmAmount: confirmed } = request;
  const fields =
    cost.framed +
    frameValue('keep', keepOpen) +
    frameValue('retain', retainMicros) +
    frameText('outcome', outcome ?? '') +
    frameValue('confirm', confirmed);
  const key = commandKey('Settle', request.reservationId, request.idempotencyKey, fields);
  const personal = personalFields('', labels);
  return {
    kind: 'Settle',
    treeId,
    actor: origin.actor,
    key,
    personal,
    id,
    actualMicros: cost.actualMicros,
    usage: cost.usage,
    keepOpen,
    retainMicros,
    confirmed,
    outcome,
  };
}

/** A Release as a command. */
export function releaseCommand(request: ReleaseRequest, origin: CommandOrigin): Release | ApiRefusal {
  const problems: Problems = [];
  const { treeId, id } = checkReservationId(problems, 'reservation_id', request.reservationId);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  const reason = checkText(problems, 'reason', request.reason);
  if (problems.length > 0) return invalidFields(problems);
  const key = commandKey('Release', request.reservationId, request.idempotencyKey, frameText('reason', reason));
  return { kind: 'Release', treeId, actor: origin.actor, key, personal: undefined, id, reason };
}

/** One lease of a Renew or BatchRenew; `prefix` leads to its fields. */
export function checkRenewal(
  problems: Problems,
  prefix: string,
  request: RenewRequest,
): Renewal & { readonly treeId: TreeId } {
  const { treeId, id } = checkReservationId(problems, `${prefix}reservation_id`, request.reservationId);
  return { treeId, id, ttlMs: checkTtl(problems, `${prefix}ttl`, request.ttl) };
}

/** A Renew of one lease as a command. */
export function renewCommand(request: RenewRequest, origin: CommandOrigin): Renew | ApiRefusal {
  const problems: Problems = [];
  const { treeId, id, ttlMs } = checkRenewal(problems, '', request);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, false);
  if (problems.length > 0) return invalidFields(problems);
  // A Renew says that work has begun with the mark or without; a repeat must still set the same fields.
  const fields = () => frameDuration('ttl', request.ttl) + frameValue('started', request.started);
  const key =
    request.idempotencyKey === ''
      ? undefined
      : commandKey('Renew', request.reservationId, request.idempotencyKey, fields());
  const renewals = [{ id, ttlMs }];
  return { kind: 'Renew', treeId, actor: origin.actor, key, personal: undefined, renewals };
}

/** A GetReservation as a command. */
export function getReservationCommand(
  request: GetReservationRequest,
  origin: CommandOrigin,
): GetReservation | ApiRefusal {
  const problems: Problems = [];
  const { treeId, id } = checkReservationId(problems, 'reservation_id', request.reservationId);
  if (problems.length > 0) return invalidFields(problems);
  return { kind: 'GetReservation', treeId, actor: origin.actor, key: undefined, personal: undefined, id };
}
