// What a verifier reads: every tree, its stored rows as they are, and its projection, in pages, so that a tree of a million
// reservations is checked in a bounded amount of memory. Judges nothing; see journal-reader and app/verify.
import type { BudgetState } from '../kernel/budget.ts';
import type { ReservationId, TreeId } from '../kernel/names.ts';
import type { Reservation } from '../kernel/reservation.ts';
import type { Head } from './port.ts';
import { budgetStateOf, reservationsOf } from './projected-rows.ts';
import type { Runs } from './sql-client.ts';

// A row of a full batch is about 400 kB: 16 MB a page, so that round trips don't count and the memory does not either.
const ROW_PAGE_COUNT_MAX = 40;
// A reader that takes a step and goes away should not have read a page for nothing.
const ROW_PAGE_COUNT_FIRST = 2;
const PROJECTED_PAGE_COUNT = 1_000;

/** A row of the journal as stored. */
export interface JournalRow {
  readonly treeId: TreeId;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly atMs: number;
  readonly epoch: number;
  /** In hex. */
  readonly prevHash: string;
  /** In hex. */
  readonly hash: string;
  readonly entriesText: string;
}

/** A remembered key as stored. */
interface KeyRow {
  /** 16 bytes in base64url. */
  readonly digest: string;
  readonly seq: number;
}

/** Where a tree's journal and its projection stand, in one snapshot. */
interface TreeStanding {
  /** As the guard says. */
  readonly head: Head;
  readonly projectedSeq: number;
  readonly budgetCount: number;
  readonly quarantine: string | undefined;
}

/** Everything that a verifier reads. Nothing here writes; pages are snapshots each, so writers may go on. */
export interface Audit {
  /** Every tree that has a head or a journal row, in order. */
  treeIds(): AsyncIterable<TreeId>;
  /** Undefined where the tree has no head. */
  readStanding(treeId: TreeId): Promise<TreeStanding | undefined>;
  /** Stored rows with entries after a sequence, in order. */
  readRows(treeId: TreeId, afterSeq: number): AsyncIterable<JournalRow>;
  /** Projected budgets with all their counters, by number. */
  readBudgets(treeId: TreeId): AsyncIterable<BudgetState>;
  /** Projected reservations, by id. */
  readReservations(treeId: TreeId): AsyncIterable<Reservation>;
  /** Remembered keys, by digest. */
  readKeys(treeId: TreeId): AsyncIterable<KeyRow>;
}

/** The audit's reads on PostgreSQL. */
export function postgresAudit(client: Runs): Audit {
  return {
    treeIds: () => treeIds(client),
    readStanding: (treeId) => readStanding(client, treeId),
    readRows: (treeId, afterSeq) => readRows(client, treeId, afterSeq),
    readBudgets: (treeId) => readBudgets(client, treeId),
    readReservations: (treeId) => readReservations(client, treeId),
    readKeys: (treeId) => readKeys(client, treeId),
  };
}

async function* treeIds(client: Runs): AsyncGenerator<TreeId> {
  for (let after = ''; ; ) {
    const page = await client.run(
      (sql) => sql<{ tree: TreeId }[]>`
        SELECT tree FROM (
          (SELECT h.tree FROM budgetd.tree_heads h WHERE h.tree > ${after} ORDER BY h.tree LIMIT ${PROJECTED_PAGE_COUNT})
          UNION
          -- Rows of a tree whose head is gone: somebody took the head away.
          (SELECT j.tree FROM budgetd.journal j
            WHERE j.tree > ${after} AND j.first_seq = 1
              AND NOT EXISTS (SELECT FROM budgetd.tree_heads h WHERE h.tree = j.tree)
            ORDER BY j.tree LIMIT ${PROJECTED_PAGE_COUNT})
        ) AS t ORDER BY tree LIMIT ${PROJECTED_PAGE_COUNT}`,
    );
    for (const row of page) yield row.tree;
    const last = page.at(-1);
    if (last === undefined || page.length < PROJECTED_PAGE_COUNT) return;
    after = last.tree;
  }
}

async function readStanding(client: Runs, treeId: TreeId): Promise<TreeStanding | undefined> {
  const [row] = await client.run(
    (sql) => sql<
      {
        seq: string;
        hash: Buffer;
        at_ms: string;
        projected_seq: string;
        budget_count: number;
        quarantine: string | null;
      }[]
    >`
      SELECT h.seq, h.hash, h.at_ms, coalesce(p.seq, 0) AS projected_seq, coalesce(p.budget_count, 0) AS budget_count,
        (SELECT q.reason FROM budgetd.quarantine q WHERE q.tree = h.tree) AS quarantine
      FROM budgetd.tree_heads h LEFT JOIN budgetd.projection_heads p ON p.tree = h.tree WHERE h.tree = ${treeId}`,
  );
  return (
    row && {
      head: { seq: Number(row.seq), hash: row.hash.toString('hex'), atMs: Number(row.at_ms) },
      projectedSeq: Number(row.projected_seq),
      budgetCount: row.budget_count,
      quarantine: row.quarantine ?? undefined,
    }
  );
}

async function* readRows(client: Runs, treeId: TreeId, afterSeq: number): AsyncGenerator<JournalRow> {
  let pageCount = ROW_PAGE_COUNT_FIRST;
  // By both ends of a row: a row that somebody put in beside another must show up, not be skipped.
  for (let after: { lastSeq: number; hash: Buffer } = { lastSeq: afterSeq, hash: Buffer.alloc(0) }; ; ) {
    const count = pageCount;
    const page = await client.run(
      (sql) => sql<
        {
          first_seq: string;
          last_seq: string;
          at_ms: string;
          epoch: string;
          prev_hash: Buffer;
          hash: Buffer;
          entries: string;
        }[]
      >`
        SELECT j.first_seq, j.last_seq, budgetd.ms_of_at(j.at) AS at_ms, j.epoch, j.prev_hash, j.hash, j.entries
        FROM budgetd.journal j
        WHERE j.tree = ${treeId} AND j.last_seq >= ${after.lastSeq} AND (j.last_seq, j.hash) > (${after.lastSeq}, ${after.hash})
          AND j.last_seq > ${afterSeq}
        ORDER BY j.last_seq, j.hash LIMIT ${count}`,
    );
    for (const row of page) {
      yield {
        treeId,
        firstSeq: Number(row.first_seq),
        lastSeq: Number(row.last_seq),
        atMs: Number(row.at_ms),
        epoch: Number(row.epoch),
        prevHash: row.prev_hash.toString('hex'),
        hash: row.hash.toString('hex'),
        entriesText: row.entries,
      };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < count) return;
    pageCount = Math.min(pageCount * 4, ROW_PAGE_COUNT_MAX);
    after = { lastSeq: Number(last.last_seq), hash: last.hash };
  }
}

async function* readBudgets(client: Runs, treeId: TreeId): AsyncGenerator<BudgetState> {
  for (let afterNo = 0; ; ) {
    const page = await client.run(
      (sql) => sql<{ no: number; row: unknown }[]>`
        SELECT b.budget_no AS no, budgetd.budget_json(b, (
          SELECT array_agg(ARRAY[c.window_no, c.period_ms]) FROM budgetd.counters c
          WHERE c.tree = b.tree AND c.budget_no = b.budget_no), NULL) AS row
        FROM budgetd.budgets b WHERE b.tree = ${treeId} AND b.budget_no > ${afterNo}
        ORDER BY b.budget_no LIMIT ${PROJECTED_PAGE_COUNT}`,
    );
    for (const { row } of page) yield budgetStateOf(row);
    const last = page.at(-1);
    if (last === undefined || page.length < PROJECTED_PAGE_COUNT) return;
    afterNo = last.no;
  }
}

async function* readReservations(client: Runs, treeId: TreeId): AsyncGenerator<Reservation> {
  for (let afterId = '' as ReservationId; ; ) {
    const page = await client.run(
      (sql) => sql<{ row: unknown }[]>`
        SELECT budgetd.reservation_json(r) AS row FROM budgetd.reservations r
        WHERE r.tree = ${treeId} AND r.id > ${afterId} ORDER BY r.id LIMIT ${PROJECTED_PAGE_COUNT}`,
    );
    const reservations = reservationsOf(page.map(({ row }) => row));
    yield* reservations;
    const last = reservations.at(-1);
    if (last === undefined || reservations.length < PROJECTED_PAGE_COUNT) return;
    afterId = last.id;
  }
}

async function* readKeys(client: Runs, treeId: TreeId): AsyncGenerator<KeyRow> {
  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const page = await client.run(
      (sql) => sql<{ digest: Buffer; seq: string }[]>`
        SELECT k.digest, k.seq FROM budgetd.idempotency_keys k
        WHERE k.tree = ${treeId} AND k.digest > ${after} ORDER BY k.digest LIMIT ${PROJECTED_PAGE_COUNT}`,
    );
    for (const row of page) yield { digest: row.digest.toString('base64url'), seq: Number(row.seq) };
    const last = page.at(-1);
    if (last === undefined || page.length < PROJECTED_PAGE_COUNT) return;
    after = last.digest;
  }
}
