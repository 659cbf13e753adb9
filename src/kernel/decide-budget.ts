// Commands on budgets: create, update, suspend, resume, close, top up. Each entry carries the definition after it, whole.
import type { BudgetDef, BudgetState, BudgetTerms, Counter, LimitDef, LimitInput } from './budget.ts';
import { limitsAfter, newDef, ratesAfter } from './budget-from-terms.ts';
import { childWindows } from './child-share.ts';
import type { CloseIdle, CreateBudget, SwitchBudget, TopUp, UpdateBudget } from './command.ts';
import { aboveChange, openingCounters, shareProblems } from './decide-shares.ts';
import { answerOnly, type DecideContext, type Decision, entryBase, refuse } from './decision.ts';
import { editNeeds, fitsEdit } from './edit-history.ts';
import type { BudgetChange, RateMove } from './entry.ts';
import { invariant } from './invariant.ts';
import { MICROS_MAX, minMicros } from './money.ts';
import { parentOf } from './names.ts';
import { modelsAfter } from './price.ts';
import { levelAt } from './rate.ts';
import { readBudget } from './read.ts';
import { budgetAfter } from './records-after.ts';
import type { FieldProblem, Refusal } from './refusal.ts';
import { depthRefusal, fanOutRefusal } from './refuse-shape.ts';
import { budgetNotFound, closedRefusal, invalidFields } from './refuse-state.ts';
import type { TreeState } from './tree-state.ts';
import { newUnitProblem, UNIT_DEFAULT } from './unit.ts';
import type { EditHistory } from './window-history.ts';

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
  const refusal =
    closedRefusal(chain) ??
    depthRefusal(chain, chain.length + 1) ??
    (parent === undefined ? undefined : fanOutRefusal(parent, parent.openChildCount));
  if (refusal !== undefined) return refuse(state, command, context, refusal, { budget: path, budgets: chain });
  const treeUnit = chain[0]?.def.unit;
  const isCapped = chain.some(({ def }) => def.limits.length > 0);
  const problems = [...cappingProblems(isCapped, command, 'budget'), ...unitProblems(treeUnit, command.unit)];
  const no = state.position.budgetCount + 1;
  problems.push(...shareProblems(parent?.def, undefined, { ...command, no }));
  if (problems.length > 0) return answerOnly(invalidTerms(problems, treeUnit));
  const fresh = {
    no,
    path,
    parentNo: parent?.def.no,
    owner: command.owner,
    unit: treeUnit ?? command.unit ?? UNIT_DEFAULT,
  };
  const def = newDef(fresh, command, context.nowMs, context.calendar);
  return changed(state, command, context, 'BudgetCreated', def, { replaceLabels: true, openChildren: 1 });
}

// `stated`: undefined where the call names none. A tree that is there counts in what it counts in.
function unitProblems(treeUnit: string | undefined, stated: string | undefined): FieldProblem[] {
  if (stated === undefined || stated === treeUnit) return [];
  const description = treeUnit === undefined ? newUnitProblem(stated) : `the unit of this tree is ${treeUnit}`;
  return description === undefined ? [] : [{ field: 'budget.unit', description }];
}

// What is wrong with a floor is said in amounts.
function invalidTerms(problems: readonly FieldProblem[], unit: string | undefined): Refusal {
  const hasAmounts = problems.some(({ field }) => field === 'budget.floor_micros');
  return { ...invalidFields(problems), ...(hasAmounts && unit !== undefined ? { unit } : {}) };
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
  const isCapped = chain.slice(0, -1).some(({ def }) => def.limits.length > 0);
  // An edit of something else is not refused for a limit that was taken away above (docs/semantics.md, "Limits").
  const namesCap =
    command.uncapped !== undefined || command.limits !== undefined || command.childTemplate !== undefined;
  const childTemplate = command.childTemplate === undefined ? before.childTemplate : command.childTemplate.to;
  const limits = command.limits ?? before.limits;
  const floorMicros = command.floorMicros ?? before.floorMicros;
  const sharePercent = command.sharePercent === undefined ? before.sharePercent : command.sharePercent.to;
  const problems = [
    ...(namesCap ? cappingProblems(isCapped, { uncapped, limits, childTemplate }, 'budget') : []),
    ...shareProblems(chain.at(-2)?.def, before, { no: before.no, floorMicros, sharePercent }),
  ];
  if (problems.length > 0) return answerOnly(invalidTerms(problems, before.unit));
  const needs = editNeeds(state, budget, command, context.nowMs, context.calendar);
  invariant(
    fitsEdit(command.history, needs, state.position.seq),
    'the past of a new window is summed up to the last entry',
  );
  const def: BudgetDef = {
    ...before,
    ...(command.limits && countedAfter(before, command.limits, context)),
    ...(command.rates && ratesAfter(before, command.rates)),
    kind: command.budgetKind ?? before.kind,
    owner: command.owner ?? before.owner,
    uncapped,
    shape: edited(before.shape, command.shape),
    onExpiry: command.onExpiry ?? before.onExpiry,
    overrun: command.overrun ?? before.overrun,
    enforcement: edited(before.enforcement, command.enforcement),
    alertAt: command.alertAt ?? before.alertAt,
    weight: command.weight ?? before.weight,
    floorMicros,
    sharePercent,
    models: modelsAfter(before.models, command.models),
    childTemplate,
    revision: before.revision + 1,
    updateMs: context.nowMs,
  };
  return changed(state, command, context, 'BudgetUpdated', def, {
    replaceLabels: command.replaceLabels,
    opening: openingCounters(state, before, def, command.history),
    history: command.history,
    rateMoves: editedRates(budget, def, context.nowMs),
  });
}

// Where nothing of it changes it stays the object that it is: for those who wait it says that they need not be judged by it again.
function edited<T extends object>(before: T, edit: Partial<T>): T {
  const isSame = (Object.keys(edit) as (keyof T)[]).every((name) => before[name] === edit[name]);
  return isSame ? before : { ...before, ...edit };
}

function countedAfter(before: BudgetDef, limits: readonly LimitInput[], { nowMs, calendar }: DecideContext) {
  const counted = limitsAfter(before, limits, nowMs, calendar);
  return { ...counted, ...childWindows({ ...counted, childShares: before.childShares }, nowMs, calendar) };
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
  if (command.expectedRevision !== undefined && command.expectedRevision !== before.revision) {
    return answerOnly(etagMismatch(before));
  }
  const { type, set } = SWITCHES[command.kind];
  const after = { ...before, ...set };
  const same = after.suspended === before.suspended && after.closed === before.closed;
  const def = same ? before : { ...after, revision: before.revision + 1, updateMs: context.nowMs };
  const openChildren = def.closed && !before.closed ? -1 : 0;
  return changed(state, command, context, type, def, { reason: command.reason, openChildren });
}

/** Decides a CloseIdle: closes what has had no live hold and no movement for long enough, and is not waited for; nothing else. */
export function decideCloseIdle(state: TreeState, command: CloseIdle, context: DecideContext): Decision {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return answerOnly(budgetNotFound(command.budget));
  const { def: before, activeCount, movedMs } = budget;
  const { closeAfterMs } = before.shape;
  const isWaitedFor = (state.queue?.countAt(before.path) ?? 0) > 0;
  const isIdle = activeCount === 0 && !isWaitedFor;
  const isDue = closeAfterMs !== undefined && isIdle && movedMs + closeAfterMs <= context.nowMs;
  if (before.closed || !isDue) return answerOnly(readBudget(state, budget, context, false));
  const def = { ...before, closed: true, revision: before.revision + 1, updateMs: context.nowMs };
  const reason = `idle for ${closeAfterMs / 1_000} s`;
  return changed(state, command, context, 'BudgetClosed', def, { reason, openChildren: -1 });
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
  const raised = toppedUp(before, limit, command.addMicros, context);
  if ('field' in raised) return answerOnly(invalidFields([raised]));
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
  const names = def.limits.map((limit) => limit.name).join(', ');
  if (name === undefined) {
    if (second === undefined) return first;
    return { field: 'limit', description: `${def.path} has several limits, name one of ${names}` };
  }
  const named = def.limits.find((limit) => limit.name === name);
  return named ?? { field: 'limit', description: `${def.path} has no limit ${name} (there are: ${names})` };
}

// A calendar limit is topped up for its current period alone; a rolling one has none that could be.
function toppedUp(
  def: BudgetDef,
  limit: LimitDef,
  addMicros: bigint,
  { nowMs, calendar }: DecideContext,
): LimitDef | FieldProblem {
  const rule = def.windows.find(({ no }) => no === limit.windowNo)?.rule;
  if (rule?.kind === 'rolling') return { field: 'limit', description: 'a rolling limit has no period to top up' };
  const periodMs = rule?.kind === 'calendar' ? calendar.period(rule, nowMs).startMs : undefined;
  const inPeriodMicros = limit.topUp?.periodMs === periodMs ? (limit.topUp?.addMicros ?? 0n) : 0n;
  if (addMicros > MICROS_MAX - limit.amountMicros - inPeriodMicros) {
    return { field: 'add_micros', description: 'the amount would pass 2^63-1' };
  }
  if (periodMs === undefined) return { ...limit, amountMicros: limit.amountMicros + addMicros };
  return { ...limit, topUp: { periodMs, addMicros: inPeriodMicros + addMicros } };
}

type Capping = Pick<BudgetTerms, 'uncapped' | 'childTemplate'> & { readonly limits: readonly unknown[] };

// A budget with no limit on itself or above must say so, or a forgotten limit would mean unlimited spend. That one above
// says so is not enough: it spoke for itself. The same goes for what a template will make.
function cappingProblems(isCappedAbove: boolean, terms: Capping, field: string): FieldProblem[] {
  const isCapped = isCappedAbove || terms.limits.length > 0;
  const below =
    terms.childTemplate === undefined ? [] : cappingProblems(isCapped, terms.childTemplate, `${field}.child_template`);
  if (isCapped || terms.uncapped) return below;
  const description = 'must be true where neither the budget nor any above has a limit';
  return [{ field: `${field}.uncapped`, description }, ...below];
}

// A level is reckoned from the last use on. Where the count or the burst is edited, what filled until then is settled by the
// old ones: the new ones would mint it, or take it away, from before they were.
function editedRates(
  { def: before, rateLevels }: BudgetState,
  { no: budgetNo, rates }: BudgetDef,
  nowMs: number,
): RateMove[] {
  return rates.flatMap((rate) => {
    const old = before.rates.find(({ no }) => no === rate.no);
    if (old === undefined || (old.count === rate.count && old.burst === rate.burst)) return [];
    const level = minMicros(levelAt(old, rateLevels, nowMs), BigInt(rate.burst) * BigInt(rate.perMs));
    return [{ budgetNo, rateNo: rate.no, level }];
  });
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
  readonly opening?: readonly Counter[];
  readonly history?: EditHistory | undefined;
  readonly rateMoves?: readonly RateMove[];
  readonly openChildren?: BudgetChange['openChildren'];
}

function changed(
  state: TreeState,
  command: CreateBudget | UpdateBudget | SwitchBudget | CloseIdle | TopUp,
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
    opening: details.opening ?? [],
    rateMoves: details.rateMoves ?? [],
    openChildren: def.parentNo === undefined ? 0 : (details.openChildren ?? 0),
  };
  const before = state.budget(def.no);
  const after = budgetAfter(before, entry);
  const above = aboveChange(state, command.actor, before?.def, def, details.history, context);
  return { answer: readBudget(state, after, context, false), entries: [entry, ...above] };
}
