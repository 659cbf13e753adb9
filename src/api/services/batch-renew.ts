// BatchRenew: many leases in one call, one command a tree, one result a lease in the order asked. What is refused for one
// lease or one tree leaves the others alone; a field that is wrong refuses the request whole.
import type { BatchRenewRequest, BatchRenewResponse, BatchRenewResult } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { ReservationAnswer } from '../../kernel/answer.ts';
import type { Renew, Renewal } from '../../kernel/command.ts';
import type { TreeId } from '../../kernel/names.ts';
import { type ApiRefusal, invalidFields, isRefusal, type Reply } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { statusMessage } from '../errors/call-status.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import type { Problems } from '../validate/problems.ts';
import { checkRenewal } from '../validate/reservation-commands.ts';
import type { CommandDesk } from './command-desk.ts';
import { RESERVATION_CALLS, WrongAnswerError } from './reservation-calls.ts';

// A sidecar's leases; 1,000 answers of about 300 bytes stay far below the 4 MiB that gRPC clients take by default.
const RENEWALS_MAX = 1_000;

type TreeRenewal = Renewal & { readonly treeId: TreeId };
type Outcome = ReservationAnswer | ApiRefusal;

function checkRenewals(request: BatchRenewRequest): readonly TreeRenewal[] | ApiRefusal {
  const { renewals } = request;
  if (renewals.length === 0) return invalidFields([{ field: 'renewals', description: 'is required' }]);
  if (renewals.length > RENEWALS_MAX) {
    return invalidFields([{ field: 'renewals', description: `must have at most ${RENEWALS_MAX} entries` }]);
  }
  const problems: Problems = [];
  const checked = renewals.map((renewal, index) => {
    if (renewal.idempotencyKey !== '') {
      problems.push({ field: `renewals[${index}].idempotency_key`, description: 'is not taken in a batch' });
    }
    return checkRenewal(problems, `renewals[${index}].`, renewal);
  });
  return problems.length > 0 ? invalidFields(problems) : checked;
}

function renewOf(actor: Actor, treeId: TreeId, renewals: readonly Renewal[]): Renew {
  return { kind: 'Renew', treeId, actor: actor.name, key: undefined, personal: undefined, renewals };
}

async function renewTree(desk: CommandDesk, command: Renew, actor: Actor): Promise<readonly Outcome[]> {
  const answer = await desk.submit(actor, command);
  if (answer.kind === 'refusal') return command.renewals.map(() => answer);
  if (answer.kind === 'renewals' && answer.results.length === command.renewals.length) return answer.results;
  throw new WrongAnswerError(`an answer of kind ${answer.kind} to ${command.renewals.length} renewals`);
}

function resultMessage(outcome: Outcome): BatchRenewResult {
  const result: BatchRenewResult['result'] = isRefusal(outcome)
    ? { case: 'error', value: statusMessage(refusalStatus(outcome)) }
    : { case: 'renewed', value: RESERVATION_CALLS.renew.toMessage(outcome) };
  return { $typeName: 'budgetd.v1.BatchRenewResult', result };
}

/** Answers a BatchRenew. */
export async function batchRenew(
  desk: CommandDesk,
  request: BatchRenewRequest,
  actor: Actor,
): Promise<Reply<BatchRenewResponse>> {
  const renewals = checkRenewals(request);
  if (isRefusal(renewals)) return renewals;
  const judged = await Promise.all(renewals.map(async (one) => desk.judge(actor, renewOf(actor, one.treeId, [one]))));
  const outcomes: (Outcome | undefined)[] = judged;
  const byTree = new Map<TreeId, number[]>();
  for (const [index, { treeId }] of renewals.entries()) {
    if (outcomes[index] !== undefined) continue;
    const indexes = byTree.get(treeId);
    if (indexes === undefined) byTree.set(treeId, [index]);
    else indexes.push(index);
  }
  const trees = [...byTree].map(async ([treeId, indexes]) => {
    const leases = indexes.flatMap((index) => renewals[index] ?? []);
    const plain = leases.map(({ id, ttlMs }) => ({ id, ttlMs }));
    const results = await renewTree(desk, renewOf(actor, treeId, plain), actor);
    for (const [at, index] of indexes.entries()) outcomes[index] = results[at];
  });
  await Promise.all(trees);
  const results = outcomes.flatMap((outcome) => (outcome === undefined ? [] : [resultMessage(outcome)]));
  return { $typeName: 'budgetd.v1.BatchRenewResponse', results };
}
