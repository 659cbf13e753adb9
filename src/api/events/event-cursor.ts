// Cursors of watches: opaque to callers, a place in one journal or in all of them to us. What a cursor says can be resumed by
// any replica, since it names nothing but the journal.
import { type BudgetPath, parsePath, type TreeId, treeOf } from '../../kernel/names.ts';

/** A place in a tree's journal: everything through `seq` has been told, and `told` events of the entry after it. */
export interface Position {
  readonly seq: number;
  readonly told: number;
}

/** A place in the journal of one tree. */
export interface TreePlace {
  readonly kind: 'tree';
  readonly treeId: TreeId;
  readonly position: Position;
}

/**
 * A place in the journals of all trees. A tree that is listed stands at its position. Any other has been told up to the last
 * entry that is no later than `fromMs`, or than `throughMs` where its id is not above `through`.
 */
export interface AllPlace {
  readonly kind: 'all';
  readonly fromMs: number;
  /** Empty: no tree. */
  readonly through: TreeId | '';
  readonly throughMs: number;
  readonly listed: ReadonlyMap<TreeId, Position>;
}

/** Where a watch stands. */
export type Place = TreePlace | AllPlace;

/** The cursor of a place. */
export function encodeCursor(place: Place): string {
  const { kind } = place;
  const parts =
    kind === 'tree'
      ? ['t', place.treeId, place.position.seq, place.position.told]
      : [
          'a',
          place.fromMs,
          place.through,
          place.throughMs,
          ...[...place.listed].flatMap(([id, { seq, told }]) => [id, seq, told]),
        ];
  // No tree has a comma in its id.
  return Buffer.from(parts.join(',')).toString('base64url');
}

/** The place that a cursor stands for; undefined for a text that never was a cursor. */
export function decodeCursor(cursor: string): Place | undefined {
  const [kind, ...parts] = Buffer.from(cursor, 'base64url').toString().split(',');
  const place = kind === 't' ? treePlace(parts) : kind === 'a' ? allPlace(parts) : undefined;
  return place !== undefined && encodeCursor(place) === cursor ? place : undefined;
}

function treePlace([id, seq, told, ...more]: readonly string[]): TreePlace | undefined {
  const treeId = treeIdOf(id);
  const position = positionOf(seq, told);
  if (treeId === undefined || position === undefined || more.length > 0) return undefined;
  return { kind: 'tree', treeId, position };
}

function allPlace([from, through, throughAt, ...rest]: readonly string[]): AllPlace | undefined {
  const fromMs = countOf(from);
  const throughMs = countOf(throughAt);
  const throughTree = through === '' ? '' : treeIdOf(through);
  if (fromMs === undefined || throughMs === undefined || throughTree === undefined) return undefined;
  const listed = new Map<TreeId, Position>();
  for (let at = 0; at < rest.length; at += 3) {
    const treeId = treeIdOf(rest[at]);
    const position = positionOf(rest[at + 1], rest[at + 2]);
    if (treeId === undefined || position === undefined) return undefined;
    listed.set(treeId, position);
  }
  return { kind: 'all', fromMs, through: throughTree, throughMs, listed };
}

function positionOf(seqText: string | undefined, toldText: string | undefined): Position | undefined {
  const seq = countOf(seqText);
  const told = countOf(toldText);
  return seq === undefined || told === undefined ? undefined : { seq, told };
}

function countOf(text: string | undefined): number | undefined {
  const count = text !== undefined && /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(count) ? count : undefined;
}

// A tree's id is the path of its root.
function treeIdOf(text: string | undefined): TreeId | undefined {
  const path: BudgetPath | { readonly problem: string } = parsePath(text ?? '');
  return typeof path === 'string' && !path.includes('/') ? treeOf(path) : undefined;
}
