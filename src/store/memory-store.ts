// The store in memory, for tests of the rooms around it: the same promises as on PostgreSQL (one contract suite runs over
// both), and faults on demand that a real database shows only when it is pulled apart.
import { createHash } from 'node:crypto';
import type { Account, BudgetState, Counter } from '../kernel/budget.ts';
import { chainOf, type TreeId } from '../kernel/names.ts';
import { oldestStep } from '../kernel/window.ts';
import { headAfter, headsAfter } from './append.ts';
import type { Audit } from './audit.ts';
import { encodeEntries } from './entry-codec.ts';
import { MemoryDatabase } from './memory-database.ts';
import { historyOf, idleBudgets } from './memory-history.ts';
import { memoryPrices } from './memory-prices.ts';
import { memoryAudit, memoryReads } from './memory-reads.ts';
import {
  type AppendResult,
  type DueTree,
  type Head,
  type Loaded,
  type LoadRequest,
  type Store,
  StoreUnavailableError,
  TAIL_COUNT_MAX,
  type TreeAppend,
  type WriterLease,
} from './port.ts';
import type { ReadModels } from './reads.ts';

/** What can happen to an append. `lost_answer`: it commits, and the connection breaks before the answer. */
type AppendFault = 'lost_answer' | 'unavailable' | 'conflict';

/** Faults that a test switches on. */
interface MemoryFaults {
  /** What happens to the coming appends, first one first; undefined lets one pass. */
  readonly appends: (AppendFault | undefined)[];
  /** While true every method throws StoreUnavailableError. */
  isDown: boolean;
}

/** The store in memory. */
export interface MemoryStore extends Store, ReadModels, Audit {
  readonly database: MemoryDatabase;
  readonly faults: MemoryFaults;
}

/** Makes a store. `nowMs` is the database's clock. */
export function createMemoryStore(
  options: { readonly database?: MemoryDatabase; readonly nowMs?: () => number } = {},
): MemoryStore {
  const database = options.database ?? new MemoryDatabase();
  const nowMs = options.nowMs ?? Date.now;
  const faults: MemoryFaults = { appends: [], isDown: false };
  const up = () => {
    if (faults.isDown) throw new StoreUnavailableError('the store is unavailable (injected)');
  };
  return {
    database,
    faults,
    async load(request) {
      up();
      return load(database, request);
    },
    async append(epoch, batch) {
      up();
      const fault = faults.appends.shift();
      if (fault === 'unavailable') throw new StoreUnavailableError('the store is unavailable (injected)');
      if (fault === 'conflict') return { outcome: 'conflict' };
      const result = append(database, epoch, batch);
      if (fault === 'lost_answer') throw new StoreUnavailableError('the answer was lost (injected)');
      return result;
    },
    headsAfter,
    async findKeys(treeId, digests) {
      up();
      const tree = database.tree(treeId);
      const seqs = [...new Set(digests)].flatMap((digest) => tree.keys.get(digest) ?? []);
      return seqs.flatMap((seq) => tree.entriesAfter(seq - 1, 1).slice(0, 1));
    },
    async readEntries(treeId, afterSeq, countMax) {
      up();
      return database.tree(treeId).entriesAfter(afterSeq, countMax);
    },
    async project(batch) {
      up();
      const projected = new Map<TreeId, number>();
      for (const { treeId, entries } of batch) {
        const tree = database.tree(treeId);
        tree.project(entries);
        projected.set(treeId, tree.projectedSeq);
      }
      return projected;
    },
    async unprojectedTrees(countMax, after) {
      up();
      return [...database.trees.values()]
        .filter((tree) => tree.head.seq > tree.projectedSeq && tree.quarantine === undefined)
        .filter((tree) => after === undefined || tree.treeId > after)
        .sort((a, b) => (a.treeId < b.treeId ? -1 : 1))
        .slice(0, countMax)
        .map(({ treeId, projectedSeq }) => ({ treeId, projectedSeq }));
    },
    async dueTrees(atMs, after, countMax) {
      up();
      return dueTrees(database, atMs, after).slice(0, countMax);
    },
    async readHistory(treeId, budgetNo, needs) {
      up();
      return historyOf(database.tree(treeId), budgetNo, needs);
    },
    async idleBudgets(atMs, after, countMax) {
      up();
      return idleBudgets(database, atMs, after).slice(0, countMax);
    },
    async holdWriterLease(holder, address, epoch, ttlMs, graceMs = 0) {
      up();
      return holdLease(database, nowMs(), { holder, address, epoch, ttlMs, graceMs });
    },
    async releaseWriterLease(holder, epoch) {
      up();
      const { lease } = database;
      if (lease.holder === holder && lease.epoch === epoch)
        database.lease = { ...lease, expireMs: 0, renewedMs: nowMs() };
    },
    async quarantine(treeId, reason) {
      up();
      database.tree(treeId).quarantine ??= reason;
    },
    ...memoryPrices(database, up),
    ...memoryReads(database, up),
    ...memoryAudit(database),
  };
}

function load(database: MemoryDatabase, request: LoadRequest): Loaded {
  const tree = database.tree(request.treeId);
  const ids = new Set(request.reservationIds);
  let leasesThroughMs: number | undefined;
  if (request.leases !== undefined) {
    const leases = tree.leasesAfter(request.leases.afterReclaimMs);
    const last = leases[request.leases.countMax - 1];
    leasesThroughMs = last?.figures.reclaimMs ?? Number.MAX_SAFE_INTEGER;
    for (const lease of leases) if (lease.figures.reclaimMs <= leasesThroughMs) ids.add(lease.id);
  }
  if (request.withTail) for (const { id } of tree.waiting()) ids.add(id);
  // PostgreSQL brings them in no order that means anything.
  const reservations = mixed([...ids], (id) => id).flatMap((id) => tree.reservation(id) ?? []);
  const isTooLong = request.withTail && tree.head.seq - tree.projectedSeq > TAIL_COUNT_MAX;
  const named = request.withTail ? tree.waiting().flatMap(({ budget, also }) => [budget, ...also]) : [];
  const paths = new Set<string>([...request.paths, ...named].flatMap((path) => chainOf(path)));
  const accounts = [...reservations.flatMap((reservation) => reservation.accounts), ...(request.periods ?? [])];
  const nos = new Set(accounts.map((account) => account.budgetNo));
  return {
    head: tree.head,
    projectedSeq: tree.projectedSeq,
    budgetCount: tree.budgetCount,
    budgets: mixed(tree.budgets(), ({ def }) => def.path)
      .filter(({ def }) => paths.has(def.path) || nos.has(def.no))
      .map((budget) => withWanted(budget, accounts, tree.projectedMs)),
    reservations,
    leasesThroughMs,
    tail: request.withTail && !isTooLong ? tree.entriesAfter(tree.projectedSeq, Number.MAX_SAFE_INTEGER) : [],
    ...(isTooLong && { tailTooLong: true as const }),
    quarantine: tree.quarantine,
  };
}

// The same order each time, and none that anybody could rely on.
function mixed<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  const places = new Map(items.map((item) => [item, createHash('sha1').update(nameOf(item)).digest('hex')]));
  return items.toSorted((a, b) => ((places.get(a) as string) < (places.get(b) as string) ? -1 : 1));
}

// What PostgreSQL brings of a budget, and no more, so that what is not there is missed here too.
function withWanted(budget: BudgetState, accounts: readonly Account[], atMs: number): BudgetState {
  const { def, counters, steps } = budget;
  const ruleOf = (windowNo: number) => def.windows.find(({ no }) => no === windowNo)?.rule;
  const isWanted = ({ windowNo, periodMs }: Counter) =>
    periodMs === 0 ||
    accounts.some((each) => each.budgetNo === def.no && each.windowNo === windowNo && each.periodMs === periodMs) ||
    !counters.some((other) => other.windowNo === windowNo && other.periodMs > periodMs);
  return {
    ...budget,
    counters: counters.filter(isWanted),
    steps: steps.filter(({ windowNo, periodMs }) => {
      const rule = ruleOf(windowNo);
      return rule?.kind === 'rolling' && periodMs >= oldestStep(rule, atMs);
    }),
  };
}

function append(database: MemoryDatabase, epoch: number, batch: readonly TreeAppend[]): AppendResult {
  const parts = batch.map((part) => {
    const entriesText = encodeEntries(part.entries);
    const head = headAfter(part.treeId, part.expected, part.entries, entriesText);
    return { ...part, entriesText, head, tree: database.tree(part.treeId) };
  });
  const heads = parts.map((part) => part.head);
  // The same order as on PostgreSQL: a batch that had been committed is told by its heads, whoever rules now.
  const isDone = parts.length > 0 && parts.every(({ tree, head }) => sameHead(tree.head, head));
  if (isDone) return { outcome: 'committed', heads };
  if (database.lease.epoch !== epoch) return { outcome: 'fenced' };
  if (parts.some(({ tree, expected }) => !sameHead(tree.head, expected))) return { outcome: 'conflict' };
  const isKnown = parts.some(({ tree, entries }) =>
    entries.some((entry) => entry.key !== undefined && tree.keys.has(entry.key.digest)),
  );
  if (isKnown || hasKeyTwice(batch)) return { outcome: 'key_exists' };
  for (const { treeId, tree, expected, entries, entriesText, head } of parts) {
    const { seq: lastSeq, hash, atMs } = head;
    const row = {
      treeId,
      firstSeq: expected.seq + 1,
      lastSeq,
      atMs,
      epoch,
      prevHash: expected.hash,
      hash,
      entriesText,
    };
    tree.rows.push(row);
    tree.head = head;
    for (const { seq, key, personal } of entries) {
      if (key !== undefined) tree.keys.set(key.digest, seq);
      if (personal?.salt === undefined) continue;
      tree.personal.set(seq, { salt: personal.salt, actingFor: personal.actingFor, labels: personal.labels });
    }
  }
  return { outcome: 'committed', heads };
}

function hasKeyTwice(batch: readonly TreeAppend[]): boolean {
  return batch.some(({ entries }) => {
    const digests = entries.flatMap((entry) => entry.key?.digest ?? []);
    return new Set(digests).size < digests.length;
  });
}

function sameHead(a: Head, b: Head): boolean {
  return a.seq === b.seq && a.hash === b.hash;
}

function dueTrees(database: MemoryDatabase, atMs: number, after: DueTree | undefined): DueTree[] {
  const order = (a: DueTree, b: DueTree) => a.reclaimMs - b.reclaimMs || (a.treeId < b.treeId ? -1 : 1);
  return [...database.trees.values()]
    .flatMap((tree) => {
      const dueMs = tree.quarantine === undefined ? tree.dueMs : undefined;
      return dueMs === undefined ? [] : [{ treeId: tree.treeId, reclaimMs: dueMs }];
    })
    .filter((due) => due.reclaimMs <= atMs)
    .filter((due) => after === undefined || (due.treeId !== after.treeId && order(due, after) > 0))
    .sort(order);
}

interface Claim {
  readonly holder: string;
  readonly address: string;
  readonly epoch: number | undefined;
  readonly ttlMs: number;
  readonly graceMs: number;
}

function holdLease(database: MemoryDatabase, storeNowMs: number, claim: Claim): WriterLease {
  const { lease } = database;
  const { holder, address, ttlMs } = claim;
  const isOurs = lease.holder === holder && lease.epoch === claim.epoch;
  const held = isOurs || lease.expireMs <= storeNowMs;
  if (held) {
    const kept = { ...lease, address, expireMs: storeNowMs + ttlMs, renewedMs: storeNowMs };
    // A leader that did not last for a grace gave none: the gap before it goes on.
    const gapFromMs = lease.renewedMs < lease.ledMs + claim.graceMs ? lease.gapFromMs : lease.renewedMs;
    database.lease = isOurs ? kept : { ...kept, holder, epoch: lease.epoch + 1, ledMs: storeNowMs, gapFromMs };
  }
  const now = database.lease;
  const gapMs = Number.isFinite(now.ledMs) ? now.ledMs - now.gapFromMs : 0;
  return { epoch: now.epoch, address: now.address, held, storeNowMs, expireMs: now.expireMs, gapMs };
}
