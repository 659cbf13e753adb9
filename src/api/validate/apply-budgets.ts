// An ApplyBudgets as a command: each change checked as a call of its own, and what they have to be together. Its own file because
// the keys of the changes are made here, and how they are framed may never change.
import type { ApplyBudgetsRequest, BudgetChange } from '../../gen/budgetd/v1/budget_pb.ts';
import type { ApplyBudgets, BudgetEdit } from '../../kernel/command.ts';
import { type TreeId, treeOf } from '../../kernel/names.ts';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { digest16, frameText, frameValue } from '../command-key.ts';
import { checkCreate, checkSwitch, checkUpdate } from './budget-commands.ts';
import { checkKey, checkPath, type Problems } from './problems.ts';

/**
 * Most changes in one call: about what a message of 1 MiB has room for, with a few limits each. Deciding and appending so many takes
 * some 100 ms, for which other trees wait.
 */
export const CHANGES_MAX = 1_000;

const METHOD = 'ApplyBudgets';

/** An ApplyBudgets as a command. */
export function applyBudgetsCommand(request: ApplyBudgetsRequest, actor: string): ApplyBudgets | ApiRefusal {
  const { validateOnly, idempotencyKey, changes } = request;
  const problems: Problems = [];
  const treeId = checkTree(problems, request.tree);
  checkKey(problems, 'idempotency_key', idempotencyKey, !validateOnly);
  const countProblem = changes.length === 0 ? 'is required' : `must have at most ${CHANGES_MAX} entries`;
  if (changes.length === 0 || changes.length > CHANGES_MAX) {
    return invalidFields([...problems, { field: 'changes', description: countProblem }]);
  }
  const checked = changes.map((change, index) => checkChange(problems, `changes[${index}]`, change, actor));
  checkTogether(problems, checked, treeId);
  if (problems.length > 0) return invalidFields(problems);
  const present = checked.filter((each) => each !== undefined);
  const keys = validateOnly ? undefined : changeKeys(treeId, idempotencyKey, present);
  const edits = present.map(({ command }, index) => ({ ...command, key: keys?.[index] }) as BudgetEdit);
  const key = keys?.[0];
  return { kind: METHOD, treeId, actor, key, personal: undefined, changes: edits, dryRun: validateOnly };
}

type CheckedChange = Pick<NonNullable<ReturnType<typeof checkOne>>, 'command' | 'framed'>;

function checkTree(problems: Problems, tree: string): TreeId {
  const path = checkPath(problems, 'tree', tree);
  if (path.includes('/')) problems.push({ field: 'tree', description: 'must be the root of a tree' });
  return treeOf(path);
}

function checkChange(problems: Problems, at: string, stated: BudgetChange, actor: string): CheckedChange | undefined {
  const { change } = stated;
  if (change.case === undefined) {
    problems.push({ field: at, description: 'must be one kind of change that this version knows' });
    return undefined;
  }
  const own: Problems = [];
  if (change.value.idempotencyKey !== '') {
    own.push({ field: 'idempotency_key', description: 'must be unset: the key is that of the whole' });
  }
  const checked = checkOne(own, change, actor);
  for (const { field, description } of own) problems.push({ field: `${at}.${change.case}.${field}`, description });
  return checked;
}

function checkOne(problems: Problems, change: Exclude<BudgetChange['change'], { case: undefined }>, actor: string) {
  switch (change.case) {
    case 'create':
      return checkCreate(problems, change.value, actor);
    case 'update':
      return checkUpdate(problems, change.value, actor);
    case 'close':
      return checkSwitch(problems, 'CloseBudget', change.value, actor);
  }
}

function checkTogether(problems: Problems, checked: readonly (CheckedChange | undefined)[], treeId: TreeId): void {
  const firstAt = new Map<string, number>();
  for (const [index, each] of checked.entries()) {
    const path = each?.command.budget;
    if (path === undefined || path === '') continue;
    const field = `changes[${index}]`;
    const before = firstAt.get(path);
    if (before === undefined) firstAt.set(path, index);
    else problems.push({ field, description: `names ${path}, as changes[${before}] does` });
    if (treeOf(path) !== treeId && treeId !== '') problems.push({ field, description: `is not in the tree ${treeId}` });
  }
}

// One key a change, so that each finds its own entry again. All have the fingerprint of the whole: a request that differs in any
// change is another request.
function changeKeys(treeId: TreeId, idempotencyKey: string, changes: readonly CheckedChange[]) {
  const framed = changes.map(({ command: { kind, budget }, framed: own }) =>
    frameText(kind, frameText('budget', budget) + own()),
  );
  const fingerprint = digest16(frameText(METHOD, framed.join('')));
  const scope = frameText(METHOD, treeId) + frameText('key', idempotencyKey);
  return changes.map((_, index) => ({ digest: digest16(scope + frameValue('change', index)), fingerprint }));
}
