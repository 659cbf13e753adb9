// An edit that brings a window to a budget counts from what the journal says since the window's start. What that comes to is
// summed up by the store, and is true at one position of the journal alone: so the tree's other commands wait while it is read,
// and the edit is decided first. Here it is said which edits need it, and whether what was read still fits.
import type { UpdateBudget } from '../kernel/command.ts';
import type { DecideContext } from '../kernel/decision.ts';
import type { TreeState } from '../kernel/tree-state.ts';
import { fitsHistory, type HistoryNeed, neededHistory, type WindowHistory } from '../kernel/window-history.ts';

/**
 * How often the past is read for one edit. Lapses that are due, or a calendar window that turns, come between once; more means
 * that somebody else writes to the tree or that its projection stands still.
 */
const READ_COUNT_MAX = 5;

/** What was read for an edit. */
export interface PastRead {
  /** Undefined where it could not be read at the end of the journal. */
  readonly history: WindowHistory | undefined;
  readonly readCount: number;
}

/** What has to be read for an edit. */
export interface PastNeed {
  readonly budgetNo: number;
  readonly needs: readonly HistoryNeed[];
}

/** What an edit whose records are loaded needs; 'ready': nothing, or it is there; 'contended': it was read too often in vain. */
export function pastOf(
  state: TreeState,
  command: UpdateBudget,
  read: PastRead | undefined,
  { nowMs, calendar }: DecideContext,
): PastNeed | 'ready' | 'contended' {
  const budget = state.budgetAt(command.budget);
  if (budget === undefined || command.limits === undefined) return 'ready';
  // A repeat is answered from memory, and one of an older revision is refused.
  if (command.key !== undefined && state.remembered(command.key.digest) !== undefined) return 'ready';
  const { revision, no } = budget.def;
  if (command.expectedRevision !== undefined && command.expectedRevision !== revision) return 'ready';
  const needs = neededHistory(budget, command.limits, nowMs, calendar);
  if (needs.length === 0 || fitsHistory(read?.history, needs, state.position.seq)) return 'ready';
  return (read?.readCount ?? 0) >= READ_COUNT_MAX ? 'contended' : { budgetNo: no, needs };
}
