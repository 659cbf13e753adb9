// Classes of urgency by their words in the format. A word that is none is sent as a number that is none: the service says so.
import { Priority } from '../../../src/gen/budgetd/v1/terms_pb.ts';

const PRIORITIES: Readonly<Record<string, Priority>> = {
  background: Priority.BACKGROUND,
  normal: Priority.NORMAL,
  interactive: Priority.INTERACTIVE,
  critical: Priority.CRITICAL,
};

const NO_PRIORITY = 99 as Priority;

/** The class of a word. */
export function priorityOf(word: string): Priority {
  return PRIORITIES[word] ?? NO_PRIORITY;
}
