// `budgetctl verify`: rebuilds everything from the journal and compares. Reads in one snapshot, so that it can run beside a
// working service.
import type { TreeId } from '../kernel/names.ts';
import type { Log } from '../lane/log.ts';
import type { Audit } from '../store/audit.ts';
import { withSnapshot } from '../store/snapshot.ts';
import { withOperatorDatabase } from './operator-database.ts';
import { OperatorError } from './operator-error.ts';
import { verifyTree } from './verify-tree.ts';

/** What to verify. */
export interface VerifyOptions {
  /** Default: DATABASE_URL; without one the embedded PostgreSQL, which is started if nothing runs it. */
  readonly databaseUrl?: string | undefined;
  /** Only this tree. Default: all. */
  readonly tree?: string | undefined;
  readonly log: Log;
}

/** What was found. */
export interface VerifyReport {
  readonly ok: boolean;
  /** What is wrong, in words, one thing each. */
  readonly differences: readonly string[];
  readonly trees: number;
  readonly entries: number;
}

/** Verifies. Throws StoreUnavailableError where the database can't be reached, OperatorError where there is nothing to verify. */
export async function runVerify(options: VerifyOptions): Promise<VerifyReport> {
  return withOperatorDatabase(options.databaseUrl, options.log, (url) => verifyAt(url, options));
}

async function verifyAt(url: string, options: VerifyOptions): Promise<VerifyReport> {
  return withSnapshot(url, async (audit) => {
    const { tree } = options;
    if (tree !== undefined && !(await hasTree(audit, tree as TreeId))) {
      throw new OperatorError(`the journal has no tree ${tree}`);
    }
    const differences: string[] = [];
    let trees = 0;
    let entries = 0;
    for await (const treeId of tree === undefined ? audit.treeIds() : only(tree as TreeId)) {
      const report = await verifyTree(audit, treeId);
      trees += 1;
      entries += report.entries;
      for (const difference of report.differences) {
        differences.push(`${treeId}: ${difference}`);
        options.log('error', 'the journal and the store differ', { treeId, difference });
      }
    }
    return { ok: differences.length === 0, differences, trees, entries };
  });
}

async function hasTree(audit: Audit, treeId: TreeId): Promise<boolean> {
  if ((await audit.readStanding(treeId)) !== undefined) return true;
  // A tree whose head was taken away is there all the same.
  for await (const _row of audit.readRows(treeId, 0)) return true;
  return false;
}

async function* only(treeId: TreeId): AsyncGenerator<TreeId> {
  yield treeId;
}
