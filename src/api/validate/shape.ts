// Bounds on form as requests state them, whole or, in an edit, single ones.
import type { Shape as ShapeMessage } from '../../gen/budgetd/v1/terms_pb.ts';
import type { Shape } from '../../kernel/budget.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkDuration, frameDuration, IDLE_RANGE, SECOND_TO_DAY } from './durations.ts';
import { checkMicros, type Problems } from './problems.ts';

const INT32_MAX = 2_147_483_647;
/** Levels below a budget: a path has at most 16 segments. */
export const DEPTH_MAX = 15;

const NO_BOUNDS: ShapeMessage = { $typeName: 'budgetd.v1.Shape' };

type Check = (problems: Problems, field: string, shape: ShapeMessage) => Partial<Shape>;

function checkCount(problems: Problems, field: string, count: number | undefined, max: number): number | undefined {
  if (count === undefined || (count >= 0 && count <= max)) return count;
  problems.push({ field, description: `must be 0 to ${max}` });
  return undefined;
}

const CHECKS: Readonly<Record<string, Check>> = {
  max_reservation_micros: (problems, field, { maxReservationMicros: micros }) => ({
    maxReservationMicros: micros === undefined ? undefined : checkMicros(problems, field, micros),
  }),
  max_active: (problems, field, { maxActive }) => ({ maxActive: checkCount(problems, field, maxActive, INT32_MAX) }),
  max_children: (problems, field, { maxChildren }) => ({
    maxChildren: checkCount(problems, field, maxChildren, INT32_MAX),
  }),
  max_depth: (problems, field, { maxDepth }) => ({ maxDepth: checkCount(problems, field, maxDepth, DEPTH_MAX) }),
  max_lease: (problems, field, { maxLease }) => ({
    maxLeaseMs: maxLease === undefined ? undefined : checkDuration(problems, field, maxLease, SECOND_TO_DAY),
  }),
  max_renewals: (problems, field, { maxRenewals }) => ({
    maxRenewals: checkCount(problems, field, maxRenewals, INT32_MAX),
  }),
  close_after: (problems, field, { closeAfter }) => ({
    closeAfterMs: closeAfter === undefined ? undefined : checkDuration(problems, field, closeAfter, IDLE_RANGE),
  }),
};

/** Names of the shape's fields, as a mask names them behind "shape.". */
export const SHAPE_FIELDS: readonly string[] = Object.keys(CHECKS);

/** The named fields, each there, undefined where it is unset: no bound. */
export function checkShapeFields(
  problems: Problems,
  field: string,
  stated: ShapeMessage | undefined,
  names: readonly string[],
): Partial<Shape> {
  const shape = stated ?? NO_BOUNDS;
  const checked: Partial<Shape> = {};
  for (const name of names) {
    const check = CHECKS[name];
    if (check === undefined) throw new TypeError(`a shape has no field ${name}`);
    Object.assign(checked, check(problems, `${field}.${name}`, shape));
  }
  return checked;
}

const UNBOUNDED: Shape = {
  maxReservationMicros: undefined,
  maxActive: undefined,
  maxChildren: undefined,
  maxDepth: undefined,
  maxLeaseMs: undefined,
  maxRenewals: undefined,
  closeAfterMs: undefined,
};

/** A whole shape; without one there is no bound. */
export function checkShape(problems: Problems, field: string, shape: ShapeMessage | undefined): Shape {
  return shape === undefined ? UNBOUNDED : { ...UNBOUNDED, ...checkShapeFields(problems, field, shape, SHAPE_FIELDS) };
}

/** Frames a shape as the client set it: one without bounds is not unset. */
export function frameShape(shape: ShapeMessage | undefined): string {
  if (shape === undefined) return '';
  const framed =
    frameValue('reservation', shape.maxReservationMicros) +
    frameValue('active', shape.maxActive) +
    frameValue('children', shape.maxChildren) +
    frameValue('depth', shape.maxDepth) +
    frameDuration('lease', shape.maxLease) +
    frameValue('renewals', shape.maxRenewals) +
    frameDuration('idle', shape.closeAfter);
  return frameText('shape', `${framed}.`);
}
