// What apply would be refused for: the service is asked to decide a plan and to change nothing, and what it says is told by the lines
// of the file, as is what apply is refused for. Its own file because a refusal speaks of changes and fields of the contract, which nobody wrote.
import { create, toBinary } from '@bufbuild/protobuf';
import { MESSAGE_BYTES_MAX } from '../../../api/transport-limits.ts';
import { CHANGES_MAX } from '../../../api/validate/apply-budgets.ts';
import { ApplyBudgetsRequestSchema, BudgetService } from '../../../gen/budgetd/v1/budget_pb.ts';
import { CallError, type CallFailure, exitCodeOf } from '../call-error.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { fieldText } from '../print-failure.ts';
import { freshKey, type Session } from '../session.ts';
import { FileProblems, formatProblem, type Position } from './file-problems.ts';
import { isEmptyPlan, requestOf, type TreePlan } from './plan.ts';
import { nameInFile, positionOf } from './read-budgets-file.ts';

/** What the service says of a file that is not applied, as lines for people. */
export interface Verdict {
  /** What apply would be refused for now; none: it would be done. */
  readonly refusals: readonly string[];
  /** Why that is not known of some trees. */
  readonly warnings: readonly string[];
}

type Request = ReturnType<typeof requestOf>;

/** What a call ends with that is refused for what it asks; any other end says nothing about it. */
const JUDGED: ReadonlySet<ExitCode> = new Set([EXIT.usage, EXIT.notFound, EXIT.refused, EXIT.noMoney]);

/** Asks, tree by tree. Throws where the service can't say. */
export async function refusalsOfPlan(session: Session, file: string, plans: readonly TreePlan[]): Promise<Verdict> {
  const problems = new FileProblems();
  const others: string[] = [];
  const warnings: string[] = [];
  for (const plan of plans) {
    if (isEmptyPlan(plan)) continue;
    const request = requestOf(plan, freshKey());
    const tooLarge = sizeProblem(plan.tree, request);
    if (tooLarge !== undefined) {
      others.push(`${file}: refused: ${tooLarge}`);
      continue;
    }
    const failure = await failureOf(session, request);
    if (failure === undefined) continue;
    if (failure.reason === 'FORBIDDEN') {
      warnings.push(
        `${file}: warning: this token may not apply tree ${plan.tree}, so the service did not say whether it would take it`,
      );
      continue;
    }
    note(textsOf(failure, plan, request), file, problems, others);
  }
  return { refusals: [...problems.sorted().map((problem) => formatProblem(file, problem)), ...others], warnings };
}

/** A refusal that `apply` met, in the same words; undefined where the call says nothing of the file: it failed, or may not be made. */
export function refusalsOfApply(
  error: unknown,
  file: string,
  plan: TreePlan,
  request: Request,
): readonly string[] | undefined {
  if (!isVerdict(error) || error.failure.reason === 'FORBIDDEN') return undefined;
  const problems = new FileProblems();
  const others: string[] = [];
  note(textsOf(error.failure, plan, request), file, problems, others);
  return [...problems.sorted().map((problem) => formatProblem(file, problem)), ...others];
}

function note(texts: readonly Text[], file: string, problems: FileProblems, others: string[]): void {
  for (const [at, message] of texts) {
    if (at === undefined) others.push(`${file}: refused: ${message}`);
    else problems.add(at, `refused: ${message}`);
  }
}

function isVerdict(error: unknown): error is CallError {
  return error instanceof CallError && JUDGED.has(exitCodeOf(error));
}

/** Why a request is more than one call takes; undefined where it is not. */
export function sizeProblem(tree: string, request: Request): string | undefined {
  const changeCount = request.changes?.length ?? 0;
  const { length } = toBinary(ApplyBudgetsRequestSchema, create(ApplyBudgetsRequestSchema, request));
  if (changeCount <= CHANGES_MAX && length <= MESSAGE_BYTES_MAX) return undefined;
  const size = `${changeCount} changes, ${Math.ceil(length / 1024)} KiB`;
  const most = `${CHANGES_MAX} changes and ${MESSAGE_BYTES_MAX / 1024} KiB`;
  return `tree ${tree}: ${size}, where one transaction takes ${most}`;
}

async function failureOf({ connection }: Session, request: Request): Promise<CallFailure | undefined> {
  try {
    await connection.call(BudgetService.method.applyBudgets, { ...request, validateOnly: true });
    return undefined;
  } catch (error) {
    if (isVerdict(error)) return error.failure;
    throw error;
  }
}

/** How it names a field of a change, that of its budget by the name of the field alone. */
const IN_CHANGE = /^changes\[([0-9]+)\](?:\.[a-z]+)?(?:\.budget\b)?\.?(.*)$/;

type Text = readonly [at: Position | undefined, message: string];

// Each field by itself; a refusal that names none is about a whole budget.
function textsOf({ fields, reason, message, metadata }: CallFailure, plan: TreePlan, request: Request): Text[] {
  const { tree, unit } = plan;
  if (fields.length === 0) {
    const { change_index: index, change_budget: path = tree } = metadata;
    const text = message.replace(`changes[${index}], ${path}: `, '');
    return [[changedAt(plan, request, index)?.at, `${path}: ${reason}: ${text}`]];
  }
  return fields.map(({ field, description }): Text => {
    const [, index, rest = ''] = IN_CHANGE.exec(field) ?? [];
    const budget = changedAt(plan, request, index);
    if (budget === undefined) return [undefined, `${tree}: ${field}: ${fieldText(description, field, unit)}`];
    const name = rest === '' ? '' : `${nameInFile(rest)}: `;
    return [positionOf(budget, rest), `${budget.path}: ${name}${fieldText(description, field, unit)}`];
  });
}

function changedAt({ creates, edits }: TreePlan, { changes }: Request, index: string | undefined) {
  const { change } = changes?.[Number(index)] ?? {};
  const path = change?.case === 'create' || change?.case === 'update' ? change.value.budget?.budget : undefined;
  return [...creates, ...edits.map(({ budget }) => budget)].find((budget) => budget.path === path);
}
