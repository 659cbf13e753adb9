// Collects what is wrong with a request, so that all invalid fields are named at once. Each check takes the field's path
// in the request message and answers with the value in the kernel's words, or with a stand-in once a problem is noted.
import { MICROS_MAX } from '../../kernel/money.ts';
import { type BudgetPath, parsePath, parseReservationId, type ReservationId, type TreeId } from '../../kernel/names.ts';
import type { FieldProblem } from '../../kernel/refusal.ts';
import { FREE_TEXT_BYTES_MAX, KEY_BYTES_MAX, textProblem } from './text.ts';

/** What a request's fields have wrong. Empty: nothing. */
export type Problems = FieldProblem[];

const MICROS_RANGE = `must be 0 to ${MICROS_MAX}`;
const NO_PATH = '' as BudgetPath;
const NO_RESERVATION = { treeId: '' as TreeId, id: '' as ReservationId };

/** A path. */
export function checkPath(problems: Problems, field: string, text: string): BudgetPath {
  const path = parsePath(text);
  if (typeof path === 'string') return path;
  problems.push({ field, description: text === '' ? 'is required' : path.problem });
  return NO_PATH;
}

/** A reservation's public id. */
export function checkReservationId(
  problems: Problems,
  field: string,
  text: string,
): { readonly treeId: TreeId; readonly id: ReservationId } {
  const parsed = parseReservationId(text);
  if (parsed !== undefined) return parsed;
  problems.push({ field, description: text === '' ? 'is required' : 'must be an id that Reserve returned' });
  return NO_RESERVATION;
}

/** An idempotency key; with `required` false it may be empty. */
export function checkKey(problems: Problems, field: string, key: string, required: boolean): void {
  const description = textProblem(key, required ? 1 : 0, KEY_BYTES_MAX);
  if (description !== undefined) problems.push({ field, description });
}

/** Free text of up to 256 bytes, which may be empty. */
export function checkText(problems: Problems, field: string, text: string): string {
  if (text === '') return text;
  const description = textProblem(text, 0, FREE_TEXT_BYTES_MAX);
  if (description !== undefined) problems.push({ field, description });
  return text;
}

/** An amount in micro-units. */
export function checkMicros(problems: Problems, field: string, micros: bigint | undefined): bigint {
  if (micros === undefined) problems.push({ field, description: 'is required' });
  else if (micros < 0n || micros > MICROS_MAX) problems.push({ field, description: MICROS_RANGE });
  else return micros;
  return 0n;
}

/** The least that is of use: 0 to `maxMicros`, all of it where absent. */
export function checkMinMicros(
  problems: Problems,
  field: string,
  minMicros: bigint | undefined,
  maxField: string,
  maxMicros: bigint | undefined,
): bigint {
  if (minMicros === undefined) return maxMicros ?? 0n;
  if (minMicros < 0n || minMicros > MICROS_MAX) problems.push({ field, description: MICROS_RANGE });
  else if (maxMicros !== undefined && maxMicros >= 0n && minMicros > maxMicros) {
    problems.push({ field, description: `must not be above ${maxField}` });
  } else return minMicros;
  return 0n;
}
