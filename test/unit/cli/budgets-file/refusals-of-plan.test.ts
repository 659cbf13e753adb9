// What a plan says that apply would be refused for, where the service's own words are the test's: which answers are a verdict, and
// where in the file they stand.
import { describe, expect, it } from 'vitest';
import { FileProblems } from '../../../../src/app/cli/budgets-file/file-problems.ts';
import { planTree } from '../../../../src/app/cli/budgets-file/plan.ts';
import { readBudgetsFile } from '../../../../src/app/cli/budgets-file/read-budgets-file.ts';
import { refusalsOfPlan, type Verdict } from '../../../../src/app/cli/budgets-file/refusals-of-plan.ts';
import { CallError, type CallFailure } from '../../../../src/app/cli/call-error.ts';
import type { Session } from '../../../../src/app/cli/session.ts';
import type { ApplyBudgetsRequest } from '../../../../src/gen/budgetd/v1/budget_pb.ts';
import type { TreeId } from '../../../../src/kernel/names.ts';

const QUIET = { message: '', metadata: {}, failing: [], fields: [], retryAfterMs: undefined };
const FILE = 'budgets: { a: { limits: [1 USD] }, a/b: , z: { limits: [2 USD] } }';

const failure = (code: string, reason: string | undefined, more: Partial<CallFailure> = {}): CallFailure => ({
  ...QUIET,
  code,
  reason,
  ...more,
});

/** Asks about the trees of a file that are not there yet; `answers` are what the service says, tree by tree. */
async function ask(
  answers: Readonly<Record<string, CallFailure | undefined>>,
  content = FILE,
): Promise<Verdict & { readonly asked: readonly ApplyBudgetsRequest[] }> {
  const asked: ApplyBudgetsRequest[] = [];
  const call = async (_: unknown, request: ApplyBudgetsRequest): Promise<object> => {
    asked.push(request);
    const answer = answers[request.tree];
    if (answer !== undefined) throw new CallError(answer, 'here', 'ApplyBudgets');
    return {};
  };
  const problems = new FileProblems();
  const budgets = readBudgetsFile(content, problems);
  const trees = [...new Set(budgets.map(({ path }) => path.split('/')[0] as TreeId))];
  const options = { unit: 'USD', prune: false, problems };
  const plans = trees.map((tree) => planTree(tree, budgets, new Map(), options));
  expect(problems.sorted()).toEqual([]);
  const session = { connection: { call } } as unknown as Session;
  return { ...(await refusalsOfPlan(session, 'f', plans)), asked };
}

describe('refusals of a plan', () => {
  it('are asked for without an effect, tree by tree', async () => {
    const { asked, refusals, warnings } = await ask({});
    expect(asked.map(({ tree, validateOnly, changes }) => [tree, validateOnly, changes.length])).toEqual([
      ['a', true, 2],
      ['z', true, 1],
    ]);
    expect([refusals, warnings]).toEqual([[], []]);
  });

  it('are told of every tree, in the order of the file', async () => {
    const closed = failure('FAILED_PRECONDITION', 'BUDGET_CLOSED', {
      message: 'changes[0], z: z is closed',
      metadata: { change_index: '0', change_budget: 'z' },
    });
    const fields = [
      { field: 'changes[1].create.budget.shape.max_active', description: 'must be more' },
      { field: 'changes[0].create.budget.limits[0].amount_micros', description: 'must be 5 to 7000000' },
      { field: 'tree', description: 'must be another' },
    ];
    expect((await ask({ z: closed, a: failure('INVALID_ARGUMENT', 'INVALID_FIELD', { fields }) })).refusals).toEqual([
      'f:1:26: refused: a: limits[0].amount: must be 0.000005 to 7 (5 to 7000000 micros)',
      'f:1:36: refused: a/b: shape.max_active: must be more',
      'f:1:43: refused: z: BUDGET_CLOSED: z is closed',
      'f: refused: a: tree: must be another',
    ]);
  });

  it.each([
    ['ABORTED', 'ETAG_MISMATCH'],
    ['RESOURCE_EXHAUSTED', 'FAN_OUT_LIMIT'],
    ['NOT_FOUND', 'BUDGET_NOT_FOUND'],
  ])('are %s %s', async (code, reason) => {
    const { refusals } = await ask({ z: failure(code, reason, { message: 'so it is' }) });
    expect(refusals).toEqual([`f: refused: z: ${reason}: so it is`]);
  });

  it.each([
    ['UNAVAILABLE', 'STORE_UNAVAILABLE'],
    ['RESOURCE_EXHAUSTED', 'OVERLOADED'],
    ['ABORTED', 'CONTENTION'],
    ['INTERNAL', undefined],
  ])('are not known where the answer is %s %s', async (code, reason) => {
    await expect(ask({ a: failure(code, reason) })).rejects.toThrow(CallError);
  });

  it('are not known to a token that may not apply, which is no refusal of the file', async () => {
    const { refusals, warnings } = await ask({ a: failure('PERMISSION_DENIED', 'FORBIDDEN') });
    expect(refusals).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('f: warning: this token may not apply tree a')]);
  });

  it('are told of a tree that is too large without asking', async () => {
    const names = Array.from({ length: 1_001 }, (_, at) => `a/b${at}: `);
    const { asked, refusals } = await ask({}, `budgets: { a: { limits: [1 USD] }, ${names.join(', ')} }`);
    expect(asked).toEqual([]);
    expect(refusals).toEqual([expect.stringContaining('refused: tree a: 1002 changes')]);
  });
});
