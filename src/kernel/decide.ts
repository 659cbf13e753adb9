// The kernel's one entrance: a command becomes an answer and journal entries. Pure: the same state, command and context
// give the same decision, and nothing is changed by deciding.

import type { Answer } from './answer.ts';
import type { Command } from './command.ts';
import { decideApplyBudgets } from './decide-apply-budgets.ts';
import { decideCloseIdle, decideCreate, decideSwitch, decideTopUp, decideUpdate } from './decide-budget.ts';
import { decideExtend } from './decide-extend.ts';
import { decideExpire, decideRenew } from './decide-lease.ts';
import { decideReserve } from './decide-reserve.ts';
import { decideRelease, decideSettle } from './decide-settle.ts';
import { decideLeaveQueue, decideReleaseWaiting, joinQueue, readQueue, readWaiting } from './decide-waiting.ts';
import { answerOnly, type DecideContext, type Decision } from './decision.ts';
import { invariant } from './invariant.ts';
import { readBudget, readReservation } from './read.ts';
import { budgetNotFound, reservationNotFound } from './refuse-state.ts';
import { replay } from './replay.ts';
import type { TreeState } from './tree-state.ts';

/**
 * Decides. Lapses that are due at `context.nowMs` must have been recorded (an Expire command), and every record that the
 * command names must be loaded; `apply` the entries before the next command is decided.
 */
export function decide(state: TreeState, command: Command, context: DecideContext): Decision {
  invariant(command.treeId === state.treeId, 'a command goes to its own tree');
  invariant(context.nowMs >= state.position.atMs, 'time does not go back behind the last entry');
  const repeat = replay(state, command, context) ?? joins(state, command, context);
  return repeat === undefined ? decideFresh(state, command, context) : answerOnly(repeat);
}

function joins(state: TreeState, command: Command, context: DecideContext): Answer | undefined {
  return command.kind === 'Reserve' && state.queue !== undefined ? joinQueue(state, command, context) : undefined;
}

function decideFresh(state: TreeState, command: Command, context: DecideContext): Decision {
  switch (command.kind) {
    case 'Reserve':
      return decideReserve(state, command, context);
    case 'Extend':
      return decideExtend(state, command, context);
    case 'Settle':
      return decideSettle(state, command, context);
    case 'Release':
      return decideReleaseWaiting(state, command, context) ?? decideRelease(state, command, context);
    case 'LeaveQueue':
      return decideLeaveQueue(state, command, context);
    case 'Renew':
      return decideRenew(state, command, context);
    case 'Expire':
      return decideExpire(state, command, context);
    case 'CreateBudget':
      return decideCreate(state, command, context);
    case 'UpdateBudget':
      return decideUpdate(state, command, context);
    case 'SuspendBudget':
    case 'ResumeBudget':
    case 'CloseBudget':
      return decideSwitch(state, command, context);
    case 'ApplyBudgets':
      return decideApplyBudgets(state, command, context);
    case 'TopUp':
      return decideTopUp(state, command, context);
    case 'CloseIdle':
      return decideCloseIdle(state, command, context);
    case 'GetBudget': {
      const budget = state.budgetAt(command.budget);
      return answerOnly(
        budget === undefined ? budgetNotFound(command.budget) : readBudget(state, budget, context, false),
      );
    }
    case 'GetQueue':
      return answerOnly(readQueue(state, command, context));
    case 'GetReservation': {
      const reservation = state.reservation(command.id);
      const waiting = state.queue?.byId(command.id);
      if (reservation === undefined) return answerOnly(reservationNotFound(state, command.id));
      return answerOnly(
        waiting === undefined
          ? readReservation(state, reservation, context, false)
          : readWaiting(state, waiting, context),
      );
    }
  }
}
