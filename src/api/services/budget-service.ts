// BudgetService: creates, reads and steers budgets.
import {
  type ApplyBudgetsRequest,
  type ApplyBudgetsResponse,
  type Budget,
  BudgetSchema,
  type BudgetService,
  type ListBudgetsRequest,
  type ListBudgetsResponse,
} from '../../gen/budgetd/v1/budget_pb.ts';
import type { BudgetAnswer } from '../../kernel/answer.ts';
import type { Command } from '../../kernel/command.ts';
import { type BudgetPath, treeOf } from '../../kernel/names.ts';
import type { Refusal } from '../../kernel/refusal.ts';
import { type ApiRefusal, isRefusal, type Reply } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { judgeList } from '../auth/permissions.ts';
import { budgetMessage } from '../encode/budget-message.ts';
import { etagOf } from '../encode/etag.ts';
import { encodePageToken } from '../page-token.ts';
import { applyBudgetsCommand } from '../validate/apply-budgets.ts';
import {
  createBudgetCommand,
  getBudgetCommand,
  switchBudgetCommand,
  topUpCommand,
  updateBudgetCommand,
} from '../validate/budget-commands.ts';
import { listBudgetsQuery } from '../validate/list-queries.ts';
import type { CommandDesk } from './command-desk.ts';
import type { CallContext, UnaryHandlers } from './handler.ts';
import { cutPage, readOrRefuse } from './list-page.ts';
import { WrongAnswerError } from './reservation-calls.ts';
import type { ServiceDeps } from './service-deps.ts';

// How many budgets of a list are read at once: enough to fill a batch, few enough to leave the queue to others.
const READS_AT_ONCE = 64;

async function answerOf(
  desk: CommandDesk,
  actor: Actor,
  command: Command | ApiRefusal,
): Promise<BudgetAnswer | ApiRefusal> {
  if (command.kind === 'refusal') return command;
  const answer = await desk.submit(actor, command);
  if (answer.kind === 'budget' || answer.kind === 'refusal') return answer;
  throw new WrongAnswerError(`an answer of kind ${answer.kind} to ${command.kind}`);
}

/** Reads the budgets in order. A tree that is quarantined alone is left out of a list over all trees. */
async function readBudgets(
  desk: CommandDesk,
  actor: Actor,
  paths: readonly BudgetPath[],
  skipQuarantined: boolean,
): Promise<Budget[] | ApiRefusal> {
  const budgets: Budget[] = [];
  for (let at = 0; at < paths.length; at += READS_AT_ONCE) {
    const reading = paths.slice(at, at + READS_AT_ONCE).map((budget) => {
      const treeId = treeOf(budget);
      return answerOf(desk, actor, {
        kind: 'GetBudget',
        treeId,
        actor: actor.name,
        key: undefined,
        personal: undefined,
        budget,
      });
    });
    for (const answer of await Promise.all(reading)) {
      if (answer.kind === 'budget') budgets.push(budgetMessage(answer));
      else if (!(skipQuarantined && answer.reason === 'TREE_QUARANTINED')) return answer;
    }
  }
  return budgets;
}

// To catch up all trees means to look at the head of each: the first page of a list over them does it, and what is made
// while its pages are read may be missing in them, as in every list that is read page by page. Only a leader lists.
async function catchUpList(
  { coordinator }: ServiceDeps,
  parent: BudgetPath | undefined,
  after: BudgetPath | undefined,
): Promise<Refusal | undefined> {
  if (parent === undefined && after !== undefined && coordinator.status().leader) return undefined;
  return coordinator.catchUp(parent === undefined ? undefined : treeOf(parent));
}

async function listBudgets(
  deps: ServiceDeps,
  desk: CommandDesk,
  request: ListBudgetsRequest,
  { actor, cancelled }: CallContext,
): Promise<Reply<ListBudgetsResponse>> {
  const paged = listBudgetsQuery(request);
  if (isRefusal(paged)) return paged;
  const { query, digest } = paged;
  const { parent, after, countMax } = query;
  const denied = judgeList(actor, parent) ?? (await catchUpList(deps, parent, after));
  if (denied !== undefined) return denied;
  // One more than asked tells whether there is another page.
  const read = await readOrRefuse(deps.reads.listBudgetPaths({ ...query, countMax: countMax + 1 }), deps.log);
  if (isRefusal(read)) return read;
  const paths = read.value.slice(0, countMax);
  // A subtree lists at least its own root, so that an empty one does not exist.
  if (paths.length === 0 && parent !== undefined && after === undefined) paths.push(parent);
  const budgets = cancelled() ? [] : await readBudgets(desk, actor, paths, parent === undefined);
  if (isRefusal(budgets)) return budgets;
  const page = [...cutPage(BudgetSchema, budgets, countMax)];
  // Where the page was cut for its size the next one begins after its last budget, else after the last path read.
  const lastPath = page.length < budgets.length ? page.at(-1)?.budget : paths.at(-1);
  const more = page.length < budgets.length || read.value.length > countMax;
  const nextPageToken = more && lastPath !== undefined ? encodePageToken(digest, lastPath) : '';
  return { $typeName: 'budgetd.v1.ListBudgetsResponse', budgets: page, nextPageToken };
}

async function applyBudgets(
  desk: CommandDesk,
  request: ApplyBudgetsRequest,
  { actor }: CallContext,
): Promise<Reply<ApplyBudgetsResponse>> {
  const command = applyBudgetsCommand(request, actor.name);
  if (isRefusal(command)) return command;
  const answer = await desk.submit(actor, command);
  if (answer.kind === 'refusal') return answer;
  if (answer.kind !== 'budgets') throw new WrongAnswerError(`an answer of kind ${answer.kind} to ${command.kind}`);
  const budgets = answer.results.map(({ def: { path, revision } }) => ({
    $typeName: 'budgetd.v1.AppliedBudget' as const,
    budget: path,
    revision: BigInt(revision),
    etag: etagOf(revision),
  }));
  return { $typeName: 'budgetd.v1.ApplyBudgetsResponse', budgets };
}

/** The handlers of BudgetService. */
export function createBudgetService(deps: ServiceDeps, desk: CommandDesk): UnaryHandlers<typeof BudgetService> {
  const reply = async <N extends string>(
    $typeName: N,
    actor: Actor,
    command: Command | ApiRefusal,
  ): Promise<Reply<{ $typeName: N; budget: Budget }>> => {
    const answer = await answerOf(desk, actor, command);
    return isRefusal(answer) ? answer : { $typeName, budget: budgetMessage(answer) };
  };
  return {
    createBudget: (request, { actor }) =>
      reply('budgetd.v1.CreateBudgetResponse', actor, createBudgetCommand(request, actor.name)),
    getBudget: (request, { actor }) =>
      reply('budgetd.v1.GetBudgetResponse', actor, getBudgetCommand(request, actor.name)),
    listBudgets: (request, context) => listBudgets(deps, desk, request, context),
    updateBudget: (request, { actor }) =>
      reply('budgetd.v1.UpdateBudgetResponse', actor, updateBudgetCommand(request, actor.name)),
    applyBudgets: (request, context) => applyBudgets(desk, request, context),
    closeBudget: (request, { actor }) =>
      reply('budgetd.v1.CloseBudgetResponse', actor, switchBudgetCommand('CloseBudget', request, actor.name)),
    suspendBudget: (request, { actor }) =>
      reply('budgetd.v1.SuspendBudgetResponse', actor, switchBudgetCommand('SuspendBudget', request, actor.name)),
    resumeBudget: (request, { actor }) =>
      reply('budgetd.v1.ResumeBudgetResponse', actor, switchBudgetCommand('ResumeBudget', request, actor.name)),
    topUp: (request, { actor }) => reply('budgetd.v1.TopUpResponse', actor, topUpCommand(request, actor.name)),
  };
}
