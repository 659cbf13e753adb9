// The budgets that a file speaks of, as the service has them, and those beside them. Runs that a template made are counted, not
// read: a tree may have a hundred thousand of them, and no file is about them.
import type { Budget } from '../../../gen/budgetd/v1/budget_pb.ts';
import { BudgetService } from '../../../gen/budgetd/v1/budget_pb.ts';
import { type BudgetPath, chainOf, parentOf } from '../../../kernel/names.ts';
import { CallError } from '../call-error.ts';
import { readPages } from '../pages.ts';
import type { Session } from '../session.ts';

/** Budgets by their paths. */
export type LiveBudgets = ReadonlyMap<string, Budget>;

/** Budgets read at the most: at 1000 a call this is 100 calls, some seconds. */
const BUDGETS_MAX = 100_000;

/** The budgets of `paths`, those above them, and all that stand below them and outside of templates. Closed ones are among them. */
export async function readLiveBudgets(session: Session, paths: readonly BudgetPath[]): Promise<LiveBudgets> {
  const live = new Map<string, Budget>();
  // Budgets whose children are all known, closed ones too.
  const listed = new Set<string>();
  const tops = topsOf(paths);
  for (const path of new Set(tops.flatMap(chainOf))) {
    const budget = await getBudget(session, path);
    if (budget === undefined) continue;
    live.set(path, budget);
    if (tops.includes(path)) await readBelow(session, budget, live, listed);
  }
  for (const path of paths) {
    if (live.has(path) || listed.has(parentOf(path) ?? '') || !live.has(topOf(path, tops))) continue;
    const budget = await getBudget(session, path);
    if (budget === undefined) continue;
    live.set(path, budget);
    await readBelow(session, budget, live, listed);
  }
  return live;
}

// The paths that have none of the others above them.
function topsOf(paths: readonly BudgetPath[]): BudgetPath[] {
  const all = new Set(paths);
  return paths.filter((path) => chainOf(path).every((each) => each === path || !all.has(each)));
}

function topOf(path: BudgetPath, tops: readonly BudgetPath[]): string {
  return chainOf(path).find((each) => tops.includes(each)) ?? path;
}

/** A budget and everything below it, runs of templates included; closed ones are left out. */
export async function readWholeTree(session: Session, path: string): Promise<readonly Budget[]> {
  const budgets = await listBudgets(session, path, true);
  return budgets.filter(({ closedBy }) => closedBy === '');
}

/** Paths of the open roots. */
export async function readRoots(session: Session): Promise<string[]> {
  const roots = await listBudgets(session, '', false);
  return roots.filter(({ closedBy }) => closedBy === '').map(({ budget }) => budget);
}

// Only where there is something: most budgets have nothing below them.
async function readBelow(session: Session, top: Budget, live: Map<string, Budget>, listed: Set<string>): Promise<void> {
  const waiting = [top];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.openChildren === 0n || next.childTemplate !== undefined) continue;
    const { budget: parent } = next;
    listed.add(parent);
    for (const budget of await listBudgets(session, parent, false)) {
      if (parentOf(budget.budget as BudgetPath) !== parent) continue;
      live.set(budget.budget, budget);
      waiting.push(budget);
    }
  }
}

async function listBudgets(session: Session, parent: string, recursive: boolean): Promise<readonly Budget[]> {
  const listing = await readPages(BUDGETS_MAX, '', async (pageSize, pageToken) => {
    const request = { parent, recursive, pageSize, pageToken };
    const reply = await session.connection.call(BudgetService.method.listBudgets, request);
    return { rows: reply.budgets, nextPageToken: reply.nextPageToken };
  });
  if (listing.nextPageToken !== '') throw new RangeError(`${parent} has more than ${BUDGETS_MAX} budgets below it`);
  return listing.rows;
}

async function getBudget(session: Session, budget: string): Promise<Budget | undefined> {
  try {
    return (await session.connection.call(BudgetService.method.getBudget, { budget })).budget;
  } catch (error) {
    if (error instanceof CallError && error.failure.reason === 'BUDGET_NOT_FOUND') return undefined;
    throw error;
  }
}
