// An edit that brings a window to a budget counts from what the journal says since the window's start. What that comes to is
// summed up by the store, and is true at one position of the journal alone: so the tree's other commands wait while it is read,
// and the edit is decided first. Here it is said which edits need it, and whether what was read still fits.
import type { ApplyBudgets, Command, UpdateBudget } from '../kernel/command.ts';
import type { DecideContext } from '../kernel/decision.ts';
import type { Entry, Expired } from '../kernel/entry.ts';
import { historyAfterLapses } from '../kernel/history-after-lapses.ts';
import { isRepeatKnown } from '../kernel/replay.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import { fitsHistory, type HistoryNeed, neededHistory, type WindowHistory } from '../kernel/window-history.ts';

/**
 * How often the past is read for one edit. A calendar window that turns, or more lapses than one batch records, come between
 * once; more means that somebody else writes to the tree or that its projection stands still.
 */
const READ_COUNT_MAX = 5;

/** Sums of the past of budgets, by their numbers. */
export type Histories = ReadonlyMap<number, WindowHistory>;

/** What was read for an edit. */
export interface PastRead {
  /** By the number of the budget; undefined where it could not be read at the end of the journal. */
  readonly histories: Histories | undefined;
  readonly readCount: number;
}

/** What has to be read of one budget. */
interface BudgetNeed {
  readonly budgetNo: number;
  readonly needs: readonly HistoryNeed[];
}

/** What has to be read for an edit, one for each budget that it brings windows to. */
export interface PastNeed {
  readonly budgets: readonly BudgetNeed[];
}

/** What an edit is decided with: by the path of the budget. */
export type Past = ReadonlyMap<string, WindowHistory>;

/** Of what needs no past. */
export const NO_PAST: Past = new Map();

/** A command that may bring windows to budgets. */
export type Edit = UpdateBudget | ApplyBudgets;

/** Whether a command is one. */
export function isEdit(command: Command): command is Edit {
  return command.kind === 'UpdateBudget' || command.kind === 'ApplyBudgets';
}

/** An edit with the past that it is decided with. */
export function withPast(command: Command, past: Past): Command {
  if (past.size === 0) return command;
  if (command.kind === 'ApplyBudgets') return { ...command, changes: command.changes.map((each) => given(each, past)) };
  return given(command, past);
}

function given<C extends Command>(command: C, past: Past): C {
  const history = command.kind === 'UpdateBudget' ? past.get(command.budget) : undefined;
  return history === undefined ? command : { ...command, history };
}

/**
 * What an edit whose records are loaded is decided with, or what has to be read for it; 'contended': it was read too often in
 * vain. `entries`: of the batch that is being decided, before the edit.
 */
export function pastOf(
  state: TreeState,
  command: Edit,
  read: PastRead | undefined,
  entries: readonly Entry[],
  context: DecideContext,
): Past | PastNeed | 'contended' {
  // A repeat is answered from memory.
  if (isRepeatKnown(state, command)) return NO_PAST;
  const past = new Map<string, WindowHistory>();
  const budgets: BudgetNeed[] = [];
  let isMissing = false;
  for (const update of command.kind === 'ApplyBudgets' ? command.changes : [command]) {
    const need = update.kind === 'UpdateBudget' ? needOf(state, update, context) : undefined;
    if (need === undefined) continue;
    budgets.push(need);
    const known = read?.histories?.get(need.budgetNo);
    const history = known && broughtForward(state, known, need.budgetNo, entries);
    if (history !== undefined && fitsHistory(history, need.needs, state.position.seq)) past.set(update.budget, history);
    else isMissing = true;
  }
  if (!isMissing) return past;
  return (read?.readCount ?? 0) >= READ_COUNT_MAX ? 'contended' : { budgets };
}

function needOf(state: TreeState, update: UpdateBudget, { nowMs, calendar }: DecideContext): BudgetNeed | undefined {
  const budget = state.budgetAt(update.budget);
  if (budget === undefined || update.limits === undefined) return undefined;
  const { revision, no } = budget.def;
  // One of an older revision is refused.
  if (update.expectedRevision !== undefined && update.expectedRevision !== revision) return undefined;
  const needs = neededHistory(budget, update.limits, nowMs, calendar);
  return needs.length === 0 ? undefined : { budgetNo: no, needs };
}

// Lapses come right behind what was read, in the batch that begins with the edit. Anything else that came between is not in
// the sums.
function broughtForward(
  state: TreeState,
  history: WindowHistory,
  budgetNo: number,
  entries: readonly Entry[],
): WindowHistory {
  const lapses = entries.filter((entry): entry is Expired => entry.type === 'Expired');
  if (lapses.length !== entries.length || entries[0]?.seq !== history.seq + 1) return history;
  return historyAfterLapses(state, history, budgetNo, lapses);
}
