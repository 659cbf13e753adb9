// A WatchEvents as what is watched and where it begins.
import { EventKind, EventKindSchema, type WatchEventsRequest } from '../../gen/budgetd/v1/event_pb.ts';
import { type BudgetPath, treeOf } from '../../kernel/names.ts';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { decodeCursor, type Place } from '../events/event-cursor.ts';
import { checkPath, type Problems } from './problems.ts';

/** What a watch was asked for. */
export interface WatchRequest {
  /** Undefined: all trees. */
  readonly budget: BudgetPath | undefined;
  /** Undefined: all. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
  readonly start: 'now' | 'beginning' | Place;
}

const KNOWN_KINDS: ReadonlySet<number> = new Set(
  EventKindSchema.values.map(({ number }) => number).filter((kind) => kind !== EventKind.UNSPECIFIED),
);

function checkKinds(problems: Problems, field: string, kinds: readonly EventKind[]): WatchRequest['kinds'] {
  for (const [index, kind] of kinds.entries()) {
    if (!KNOWN_KINDS.has(kind)) problems.push({ field: `${field}[${index}]`, description: `has no value ${kind}` });
  }
  return kinds.length === 0 ? undefined : new Set(kinds);
}

function checkCursor(problems: Problems, cursor: string, budget: BudgetPath | undefined): WatchRequest['start'] {
  const place = decodeCursor(cursor);
  const problem = (description: string): 'now' => {
    problems.push({ field: 'cursor', description });
    return 'now';
  };
  if (place === undefined) return problem('must be a cursor that WatchEvents returned');
  if (budget === undefined) return place.kind === 'all' ? place : problem('is of a watch of one budget');
  if (place.kind === 'tree' && place.treeId === treeOf(budget)) return place;
  return problem('is of a watch of other trees');
}

/** Checks the fields. */
export function checkWatch(request: WatchEventsRequest): WatchRequest | ApiRefusal {
  const problems: Problems = [];
  const budget = request.budget === '' ? undefined : checkPath(problems, 'budget', request.budget);
  const kinds = checkKinds(problems, 'kinds', request.kinds);
  const { case: chosen, value } = request.start;
  // Of a path that is none there is no tree to compare with.
  const hasTree = problems.every(({ field }) => field !== 'budget');
  let start: WatchRequest['start'] = 'now';
  if (chosen === 'cursor' && hasTree) start = checkCursor(problems, value, budget);
  else if (chosen === 'fromBeginning' && value) start = 'beginning';
  return problems.length > 0 ? invalidFields(problems) : { budget, kinds, start };
}
