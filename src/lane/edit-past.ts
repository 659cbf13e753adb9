// An edit that brings a window to a budget, or counts a child apart in one, counts from what the journal says since the window's
// start. What that comes to is summed up by the store, and is true at one position of the journal alone: so the tree's other commands wait while it is read,
// and the edit is decided first. Here it is said which edits need it, and whether what was read still fits.
import type { ApplyBudgets, Command, UpdateBudget } from '../kernel/command.ts';
import { applyNeeds } from '../kernel/decide-apply-budgets.ts';
import type { DecideContext } from '../kernel/decision.ts';
import { editNeeds, fitsEdit } from '../kernel/edit-history.ts';
import type { Entry, Expired } from '../kernel/entry.ts';
import { historyAfterLapses } from '../kernel/history-after-lapses.ts';
import { isRepeatKnown } from '../kernel/replay.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import type { BudgetNeeds, EditHistory } from '../kernel/window-history.ts';

/**
 * How often the past is read for one edit. A calendar window that turns, or more lapses than one batch records, come between
 * once; more means that somebody else writes to the tree or that its projection stands still.
 */
const READ_COUNT_MAX = 5;

/** What was read for an edit. */
export interface PastRead {
  /** Undefined where it could not be read at the end of the journal. */
  readonly history: EditHistory | undefined;
  readonly readCount: number;
}

/** What has to be read for an edit. */
export interface PastNeed {
  readonly needs: readonly BudgetNeeds[];
}

/** What an edit is decided with. */
export interface Past {
  readonly history: EditHistory | undefined;
}

/** Of what needs no past. */
export const NO_PAST: Past = { history: undefined };

/** A command that may bring windows to budgets. */
export type Edit = UpdateBudget | ApplyBudgets;

/** Whether a command is one. */
export function isEdit(command: Command): command is Edit {
  return command.kind === 'UpdateBudget' || command.kind === 'ApplyBudgets';
}

/** An edit with the past that it is decided with. */
export function withPast(command: Command, { history }: Past): Command {
  if (history === undefined) return command;
  if (command.kind === 'UpdateBudget') return { ...command, history };
  if (command.kind !== 'ApplyBudgets') return command;
  return {
    ...command,
    changes: command.changes.map((each) => (each.kind === 'UpdateBudget' ? { ...each, history } : each)),
  };
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
  const needs =
    command.kind === 'ApplyBudgets' ? applyNeeds(state, command, context) : updateNeeds(state, command, context);
  if (needs.length === 0) return NO_PAST;
  const history = read?.history && broughtForward(state, read.history, entries);
  if (fitsEdit(history, needs, state.position.seq)) return { history };
  return (read?.readCount ?? 0) >= READ_COUNT_MAX ? 'contended' : { needs };
}

function updateNeeds(state: TreeState, command: UpdateBudget, { nowMs, calendar }: DecideContext): BudgetNeeds[] {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return [];
  const { revision } = budget.def;
  // One of an older revision is refused.
  if (command.expectedRevision !== undefined && command.expectedRevision !== revision) return [];
  return editNeeds(state, budget, command, nowMs, calendar);
}

// Lapses come right behind what was read, in the batch that begins with the edit. Anything else that came between is not in
// the sums.
function broughtForward(state: TreeState, history: EditHistory, entries: readonly Entry[]): EditHistory {
  const lapses = entries.filter((entry): entry is Expired => entry.type === 'Expired');
  if (lapses.length !== entries.length || entries[0]?.seq !== history.seq + 1) return history;
  return historyAfterLapses(state, history, lapses);
}
