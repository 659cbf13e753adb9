// Lists and audit of the memory store, with the order and the filters of those on PostgreSQL.
import type { BudgetPath } from '../kernel/names.ts';
import type { Audit } from './audit.ts';
import type { MemoryDatabase } from './memory-database.ts';
import { pathKey } from './read-models.ts';
import type { ListBudgetsQuery, ListReservationsQuery, ReadModels } from './reads.ts';

/** Lists; `up` throws while the store is down. */
export function memoryReads(database: MemoryDatabase, up: () => void): ReadModels {
  const budgets = () => [...database.trees.values()].flatMap((tree) => tree.budgets().map(({ def }) => def));
  return {
    async listBudgetPaths(query: ListBudgetsQuery) {
      up();
      const { parent, recursive, after, countMax } = query;
      const fits = ({ path }: { readonly path: BudgetPath }) => {
        if (parent === undefined) return recursive || !path.includes('/');
        if (path === parent) return true;
        return path.startsWith(`${parent}/`) && (recursive || !path.slice(parent.length + 1).includes('/'));
      };
      return budgets()
        .filter((def) => fits(def) && (after === undefined || pathKey(def.path) > pathKey(after)))
        .map((def) => def.path)
        .sort((a, b) => (pathKey(a) < pathKey(b) ? -1 : 1))
        .slice(0, countMax);
    },
    async listReservations({ treeId, budget, state, holder, after, countMax }: ListReservationsQuery) {
      up();
      return database
        .tree(treeId)
        .reservations()
        .filter((r) => r.budget === budget || r.budget.startsWith(`${budget}/`))
        .filter((r) => state === undefined || r.figures.state === state)
        .filter((r) => holder === undefined || r.holder === holder)
        .filter((r) => after === undefined || r.id > after)
        .slice(0, countMax);
    },
    async readEvents(treeId, afterSeq, countMax) {
      up();
      return database.tree(treeId).entriesAfter(afterSeq, countMax).slice(0, countMax);
    },
    async treeHeads(after, countMax, movedAfterMs) {
      up();
      return [...database.trees.values()]
        .filter(({ treeId, head }) => head.seq > 0 && (after === undefined || treeId > after))
        .filter(({ head }) => movedAfterMs === undefined || head.atMs > movedAfterMs)
        .map(({ treeId, head: { seq, atMs } }) => ({ treeId, seq, atMs }))
        .sort((a, b) => (a.treeId < b.treeId ? -1 : 1))
        .slice(0, countMax);
    },
    async seqThrough(treeId, atMs) {
      up();
      const { head, rows } = database.tree(treeId);
      return atMs === undefined ? head.seq : (rows.findLast((row) => row.atMs <= atMs)?.lastSeq ?? 0);
    },
    async findReservations(treeId, ids) {
      up();
      const tree = database.tree(treeId);
      return ids.flatMap((id) => tree.reservation(id) ?? []);
    },
    async uncappedRoots(countMax: number) {
      up();
      const roots = budgets().filter((def) => def.parentNo === undefined && def.uncapped);
      return roots
        .map((def) => def.path)
        .sort()
        .slice(0, countMax);
    },
    async databaseInfo() {
      up();
      return { version: 'memory', schemaVersion: 0 };
    },
  };
}

/** Audit. */
export function memoryAudit(database: MemoryDatabase): Audit {
  return {
    async *treeIds() {
      yield* [...database.trees.values()]
        .filter((tree) => tree.head.seq > 0)
        .map((tree) => tree.treeId)
        .sort();
    },
    async readStanding(treeId) {
      const tree = database.tree(treeId);
      const { head, projectedSeq, budgetCount, quarantine } = tree;
      return head.seq === 0 ? undefined : { head, projectedSeq, budgetCount, quarantine };
    },
    async *readRows(treeId, afterSeq) {
      yield* database.tree(treeId).rows.filter((row) => row.lastSeq > afterSeq);
    },
    async *readBudgets(treeId) {
      yield* database.tree(treeId).budgets();
    },
    async *readReservations(treeId) {
      yield* database.tree(treeId).reservations();
    },
    async *readKeys(treeId) {
      const keys = [...database.tree(treeId).keys];
      yield* keys.map(([digest, seq]) => ({ digest, seq })).sort((a, b) => (a.digest < b.digest ? -1 : 1));
    },
  };
}
