// Commands on budgets: create, update, suspend, resume, close, top up. Each entry carries the definition after it, whole.
import type { BudgetDef, BudgetState, LimitDef } from './budget.ts';
import type { CreateBudget, LimitInput, SwitchBudget, TopUp, UpdateBudget } from './command.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse } from './decision.ts';
import type { BudgetChange } from './entry.ts';
import { MICROS_MAX } from './money.ts';
import { parentOf } from './names.ts';
import { readBudget } from './read.ts';
import { budgetAfter } from './records-after.ts';
import type { FieldProblem, Refusal } from './refusal.ts';
import { budgetNotFound, closedRefusal, invalidFields } from './refuse-state.ts';
import type { TreeState } from './tree-state.ts';

/** Unit of a tree whose root names none. */
const UNIT_DEFAULT = 'USD';

/** Decides a CreateBudget. */
export function decideCreate(state: TreeState, command: CreateBudget, context: DecideContext): Decision {
  const path = command.budget;
  if (state.budgetAt(path) !== undefined) {
    return answerOnly({ kind: 'refusal', reason: 'BUDGET_EXISTS', message: `budget ${path} exists`, budget: path });
  }
  const parentPath = parentOf(path);
  const parent = parentPath === undefined ? undefined : state.budgetAt(parentPath);
  if (parentPath !== undefined && parent === undefined) return answerOnly(budgetNotFound(parentPath));
  const chain = parent === undefined ? [] : state.chain(parent);
  const closed = closedRefusal(chain);
  if (closed !== undefined) return refuse(state, command, context, closed, { budget: path, budgets: chain });
  const treeUnit = chain[0]?.def.unit;
  const problems: FieldProblem[] = [...uncappedProblem(chain, command.uncapped, command.limits)];
  if (treeUnit !== undefined && command.unit !== undefined && command.unit !== treeUnit) {
    problems.push({ field: 'budget.unit', description: `the unit of this tree is ${treeUnit}` });
  }
  if (problems.length > 0) return answerOnly(invalidFields(problems));
  const { limits, limitNoMax } = numbered(command.limits, [], 0);
  const def: BudgetDef = {
    no: state.position.budgetCount + 1,
    path,
    parentNo: parent?.def.no,
    kind: command.budgetKind,
    owner: command.owner,
    unit: treeUnit ?? command.unit ?? UNIT_DEFAULT,
    uncapped: command.uncapped,
    windows: [{ no: 0, rule: { kind: 'lifetime' } }],
    limits,
    limitNoMax,
    onExpiry: command.onExpiry,
    suspended: false,
    closed: false,
    revision: 1,
    createMs: context.nowMs,
    updateMs: context.nowMs,
  };
  return changed(state, command, context, 'BudgetCreated', def, { replaceLabels: true });
}

/** Decides an UpdateBudget. */
export function decideUpdate(state: TreeState, command: UpdateBudget, context: DecideContext): Decision {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return answerOnly(budgetNotFound(command.budget));
  const { def: before } = budget;
  if (command.expectedRevision !== undefined && command.expectedRevision !== before.revision) {
    return answerOnly(etagMismatch(before));
  }
  const chain = state.chain(budget);
  const closed = closedRefusal(chain);
  if (closed !== undefined) return refuse(state, command, context, closed, { budget: before.path, budgets: chain });
  const uncapped = command.uncapped ?? before.uncapped;
  const above = chain.slice(0, -1);
  // An edit of something else is not refused for a limit that was taken away above (docs/semantics.md, "Limits").
  const namesCap = command.uncapped !== undefined || command.limits !== undefined;
  const problems = namesCap ? uncappedProblem(above, uncapped, command.limits ?? before.limits) : [];
  if (problems.length > 0) return answerOnly(invalidFields(problems));
  const { limits, limitNoMax } =
    command.limits === undefined
      ? { limits: before.limits, limitNoMax: before.limitNoMax }
      : numbered(command.limits, before.limits, before.limitNoMax);
  const def: BudgetDef = {
    ...before,
    kind: command.budgetKind ?? before.kind,
    owner: command.owner ?? before.owner,
    uncapped,
    limits,
    limitNoMax,
    onExpiry: command.onExpiry ?? before.onExpiry,
    revision: before.revision + 1,
    updateMs: context.nowMs,
  };
  return changed(state, command, context, 'BudgetUpdated', def, { replaceLabels: command.replaceLabels });
}

const SWITCHES = {
  SuspendBudget: { type: 'BudgetSuspended', set: { suspended: true } },
  ResumeBudget: { type: 'BudgetResumed', set: { suspended: false } },
  CloseBudget: { type: 'BudgetClosed', set: { closed: true } },
} as const;

/** Decides a SuspendBudget, ResumeBudget or CloseBudget. One that changes nothing is still remembered by its key. */
export function decideSwitch(state: TreeState, command: SwitchBudget, context: DecideContext): Decision {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return answerOnly(budgetNotFound(command.budget));
  const { def: before } = budget;
  const { type, set } = SWITCHES[command.kind];
  const after = { ...before, ...set };
  const same = after.suspended === before.suspended && after.closed === before.closed;
  const def = same ? before : { ...after, revision: before.revision + 1, updateMs: context.nowMs };
  return changed(state, command, context, type, def, { reason: command.reason });
}

/** Decides a TopUp. */
export function decideTopUp(state: TreeState, command: TopUp, context: DecideContext): Decision {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return answerOnly(budgetNotFound(command.budget));
  const { def: before } = budget;
  const chain = state.chain(budget);
  const closed = closedRefusal(chain);
  if (closed !== undefined) return refuse(state, command, context, closed, { budget: before.path, budgets: chain });
  const limit = limitToTopUp(before, command.limit);
  if ('field' in limit) return answerOnly(invalidFields([limit]));
  if (command.addMicros > MICROS_MAX - limit.amountMicros) {
    return answerOnly(invalidFields([{ field: 'add_micros', description: 'the amount would pass 2^63-1' }]));
  }
  const raised = { ...limit, amountMicros: limit.amountMicros + command.addMicros };
  const def: BudgetDef = {
    ...before,
    limits: before.limits.map((each) => (each.no === limit.no ? raised : each)),
    revision: before.revision + 1,
    updateMs: context.nowMs,
  };
  return changed(state, command, context, 'BudgetToppedUp', def, { addMicros: command.addMicros });
}

function limitToTopUp(def: BudgetDef, name: string | undefined): LimitDef | FieldProblem {
  const [first, second] = def.limits;
  if (first === undefined) return { field: 'budget', description: `${def.path} has no limit to top up` };
  if (name === undefined) {
    if (second === undefined) return first;
    const names = def.limits.map((limit) => limit.name).join(', ');
    return { field: 'limit', description: `${def.path} has several limits, name one of ${names}` };
  }
  const named = def.limits.find((limit) => limit.name === name);
  return named ?? { field: 'limit', description: `${def.path} has no limit ${name}` };
}

// A budget with no limit on itself or above must say so, or a forgotten limit would mean unlimited spend. That one above
// says so is not enough: it spoke for itself.
function uncappedProblem(
  above: readonly BudgetState[],
  uncapped: boolean,
  limits: readonly { readonly name: string }[],
): FieldProblem[] {
  if (uncapped || limits.length > 0) return [];
  if (above.some(({ def }) => def.limits.length > 0)) return [];
  return [{ field: 'budget.uncapped', description: 'must be true where neither the budget nor any above has a limit' }];
}

// A limit that keeps its name keeps its number: what is used stays used.
function numbered(inputs: readonly LimitInput[], before: readonly LimitDef[], limitNoMaxBefore: number) {
  let limitNoMax = limitNoMaxBefore;
  const limits = inputs.map((input): LimitDef => {
    const known = before.find((limit) => limit.name === input.name);
    if (known === undefined) limitNoMax += 1;
    return { no: known?.no ?? limitNoMax, name: input.name, windowNo: 0, amountMicros: input.amountMicros };
  });
  return { limits, limitNoMax };
}

function etagMismatch(def: BudgetDef): Refusal {
  return {
    kind: 'refusal',
    reason: 'ETAG_MISMATCH',
    message: `budget ${def.path} was edited since it was read; read it again`,
    budget: def.path,
  };
}

interface ChangeDetails {
  readonly replaceLabels?: boolean;
  readonly addMicros?: bigint;
  readonly reason?: string;
}

function changed(
  state: TreeState,
  command: CreateBudget | UpdateBudget | SwitchBudget | TopUp,
  context: DecideContext,
  type: BudgetChange['type'],
  def: BudgetDef,
  details: ChangeDetails,
): Decision {
  const entry: BudgetChange = {
    ...entryBase(state, command, context),
    type,
    def,
    replaceLabels: details.replaceLabels ?? false,
    addMicros: details.addMicros,
    reason: details.reason ?? '',
  };
  const after = budgetAfter(state.budget(def.no), entry);
  return { answer: readBudget(state, after, false), entries: [entry] };
}
