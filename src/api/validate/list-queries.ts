// Requests that list as queries on the read models.
import type { ListBudgetsRequest } from '../../gen/budgetd/v1/budget_pb.ts';
import type { ListQueueRequest, ListReservationsRequest } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { GetQueue } from '../../kernel/command.ts';
import { type BudgetPath, parsePath, parseReservationId, publicReservationId, treeOf } from '../../kernel/names.ts';
import type { ListBudgetsQuery, ListReservationsQuery } from '../../store/reads.ts';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { decodePageToken, queryDigest } from '../page-token.ts';
import { checkState } from './enums.ts';
import { checkPath, checkText, type Problems } from './problems.ts';

const PAGE_SIZE_MAX = 1_000;
const PAGE_SIZE_DEFAULT = 100;

/** A query with what its page tokens are bound to. */
export interface PagedQuery<Q> {
  readonly query: Q;
  readonly digest: string;
}

/** Entries of a page; the default where it says none. */
export function checkPageSize(problems: Problems, size: number): number {
  if (size === 0) return PAGE_SIZE_DEFAULT;
  if (size < 1 || size > PAGE_SIZE_MAX) {
    problems.push({ field: 'page_size', description: `must be 1 to ${PAGE_SIZE_MAX}` });
  }
  return size;
}

/** Where the page before ended; undefined on the first one, or where a problem is noted. */
export function checkPageToken<T>(
  problems: Problems,
  digest: string,
  token: string,
  parse: (last: string) => T | undefined,
): T | undefined {
  if (token === '') return undefined;
  const last = decodePageToken(digest, token);
  const parsed = last === undefined ? undefined : parse(last);
  if (parsed === undefined) {
    problems.push({
      field: 'page_token',
      description: 'must be a token of an earlier page with the other fields unchanged',
    });
  }
  return parsed;
}

function pathOf(text: string): BudgetPath | undefined {
  const path = parsePath(text);
  return typeof path === 'string' ? path : undefined;
}

/** A ListBudgets as a query. */
export function listBudgetsQuery(request: ListBudgetsRequest): PagedQuery<ListBudgetsQuery> | ApiRefusal {
  const problems: Problems = [];
  const parent = request.parent === '' ? undefined : checkPath(problems, 'parent', request.parent);
  const countMax = checkPageSize(problems, request.pageSize);
  const digest = queryDigest('ListBudgets', [request.parent, String(request.recursive)]);
  const after = checkPageToken(problems, digest, request.pageToken, pathOf);
  if (problems.length > 0) return invalidFields(problems);
  return { query: { parent, recursive: request.recursive, after, countMax }, digest };
}

/** A ListReservations as a query. */
export function listReservationsQuery(
  request: ListReservationsRequest,
): PagedQuery<ListReservationsQuery> | ApiRefusal {
  const problems: Problems = [];
  const budget = checkPath(problems, 'budget', request.budget);
  const state = checkState(problems, 'state', request.state);
  const holder = checkText(problems, 'holder', request.holder);
  const countMax = checkPageSize(problems, request.pageSize);
  const treeId = treeOf(budget);
  const digest = queryDigest('ListReservations', [request.budget, String(request.state), holder]);
  const after = checkPageToken(problems, digest, request.pageToken, (last) => {
    const id = parseReservationId(last);
    return id !== undefined && publicReservationId(treeId, id.id) === last ? id.id : undefined;
  });
  if (problems.length > 0) return invalidFields(problems);
  const query = { treeId, budget, state, holder: holder === '' ? undefined : holder, after, countMax };
  return { query, digest };
}

/** A ListQueue as a command: the queue is in no table of readers. */
export function getQueueCommand(request: ListQueueRequest, actor: string): GetQueue | ApiRefusal {
  const problems: Problems = [];
  const budget = checkPath(problems, 'budget', request.budget);
  const countMax = checkPageSize(problems, request.pageSize);
  if (problems.length > 0) return invalidFields(problems);
  return { kind: 'GetQueue', treeId: treeOf(budget), actor, key: undefined, personal: undefined, budget, countMax };
}
