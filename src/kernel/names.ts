// Names of trees, budgets and reservations, and the rules they obey. Stands alone because the kernel, the store and the
// api must agree on them to the letter.

/** Path of a budget, for example `acme/triage/run-42`. */
export type BudgetPath = string & { readonly __brand: 'BudgetPath' };

/** Id of a tree: the first segment of the paths in it. */
export type TreeId = string & { readonly __brand: 'TreeId' };

/** Id of a reservation within its tree; the public id is `<tree>:<local>`. */
export type ReservationId = string & { readonly __brand: 'ReservationId' };

/** Most segments that a path may have (DESIGN, "budget"). */
const PATH_DEPTH_MAX = 16;

const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$/;
const LOCAL_ID = /^[0-9A-Za-z_-]{10,40}$/;

/** Checks a path. Returns it branded, or a sentence that says what is wrong with it. */
export function parsePath(text: string): BudgetPath | { readonly problem: string } {
  if (text === '') return { problem: 'must not be empty' };
  const segments = text.split('/');
  if (segments.length > PATH_DEPTH_MAX) return { problem: `must have at most ${PATH_DEPTH_MAX} segments` };
  for (const segment of segments) {
    if (!SEGMENT.test(segment)) {
      return { problem: 'each segment must match [A-Za-z0-9_-][A-Za-z0-9._-]{0,62}' };
    }
  }
  return text as BudgetPath;
}

/** The tree that a path belongs to. */
export function treeOf(path: BudgetPath): TreeId {
  const slash = path.indexOf('/');
  return (slash === -1 ? path : path.slice(0, slash)) as string as TreeId;
}

/** The path one level up; undefined for a root. */
export function parentOf(path: BudgetPath): BudgetPath | undefined {
  const slash = path.lastIndexOf('/');
  return slash === -1 ? undefined : (path.slice(0, slash) as BudgetPath);
}

/** The path and all its ancestors, root first. */
export function chainOf(path: BudgetPath): BudgetPath[] {
  const chain: BudgetPath[] = [];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    chain.push(path.slice(0, slash) as BudgetPath);
  }
  chain.push(path);
  return chain;
}

/** How many segments a path has: 1 for a root. */
export function depthOf(path: BudgetPath): number {
  let depth = 1;
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) depth += 1;
  return depth;
}

/** The public id of a reservation: it names its tree, so that any replica and any shard map can route it. */
export function publicReservationId(treeId: TreeId, id: ReservationId): string {
  return `${treeId}:${id}`;
}

/** Takes a public id apart; undefined where it cannot be one. */
export function parseReservationId(text: string): { readonly treeId: TreeId; readonly id: ReservationId } | undefined {
  const colon = text.lastIndexOf(':');
  if (colon <= 0) return undefined;
  const tree = text.slice(0, colon);
  const local = text.slice(colon + 1);
  if (!SEGMENT.test(tree) || !LOCAL_ID.test(local)) return undefined;
  return { treeId: tree as TreeId, id: local as ReservationId };
}
