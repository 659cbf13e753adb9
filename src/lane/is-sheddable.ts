// Which commands may be sent away when there is too much work. Ending work makes room, and stopping it is what an operator does
// in a flood: both are kept as long as anything else can go.
import type { Command, CommandKind } from '../kernel/command.ts';

const KEPT: ReadonlySet<CommandKind> = new Set<CommandKind>([
  'Settle',
  'Release',
  'Renew',
  'Expire',
  'LeaveQueue',
  'SuspendBudget',
  'CloseBudget',
]);

/** Whether a command neither ends nor stops work, nor keeps a lease alive. */
export function isSheddable({ kind }: Command): boolean {
  return !KEPT.has(kind);
}

/** Whether a command takes a hold: one that its caller has given up would hold money for nobody. */
export function takesHold({ kind }: Command): boolean {
  return kind === 'Reserve' || kind === 'Extend';
}
