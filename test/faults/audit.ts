// Compares what clients were told with what the journal says: every acknowledged effect is there once, with the amounts that
// were told; nothing is there that nobody asked for; every refusal has a reason of the contract and left no effect.
import postgres from 'postgres';
import { runVerify } from '../../src/app/verify.ts';
import { isInContract } from './contract-reasons.ts';
import { digestOf, type History, isUndecided, type Operation, type ShownReservation, type Told } from './history.ts';
import { type KeyedEntry, TreeBook } from './tree-book.ts';

/** What an audit found. */
export interface AuditReport {
  readonly problems: readonly string[];
  readonly operations: number;
  readonly attempts: number;
  /** Operations of which an effect was acknowledged. */
  readonly acknowledged: number;
  readonly entries: number;
}

/** Problems shown of one run; the first few tell what happened. */
const PROBLEMS_MAX = 20;

/** Reasons that a key does not remember: nothing of them is in the journal under it. */
const NOT_REMEMBERED: ReadonlySet<string> = new Set([
  'INVALID_FIELD',
  'BUDGET_NOT_FOUND',
  'RESERVATION_NOT_FOUND',
  'BUDGET_EXISTS',
  'BUDGET_SUSPENDED',
  'ETAG_MISMATCH',
  'TREE_QUARANTINED',
]);

/** A repeat of an effect that can't be used any more is refused with one of these. */
const SPENT: ReadonlySet<string> = new Set([
  'LEASE_EXPIRED',
  'RESERVATION_SETTLED',
  'RESERVATION_RELEASED',
  'RESERVATION_EXPIRED',
]);

/** Audits a database against a history. `damaged`: trees that were spoiled on purpose and are left out. */
export async function audit(
  databaseUrl: string,
  history: History,
  damaged: ReadonlySet<string> = new Set(),
): Promise<AuditReport> {
  const books = await readBooks(databaseUrl, damaged);
  const problems = books.flatMap((book) => book.problems);
  const keyed = new Map(books.flatMap((book) => [...book.keyed]));
  const figures = new Map(books.flatMap((book) => [...book.figures].map(([id, all]) => [`${book.tree}:${id}`, all])));
  const asked = new Set<string>();
  let acknowledged = 0;
  let attempts = 0;
  for (const operation of history.operations) {
    const digest = digestOf(operation);
    asked.add(digest);
    attempts += operation.told.length;
    if (operation.told.some(({ kind }) => kind === 'ok')) acknowledged += 1;
    if (damaged.has(operation.resource.split(/[/:]/)[0] as string)) continue;
    const entries = operation.key === '' ? [] : (keyed.get(digest) ?? []);
    const about = `${operation.method} ${operation.resource} ${operation.key}`;
    for (const problem of judge(operation, entries)) problems.push(`${about}: ${problem}`);
    for (const shown of operation.told.flatMap((told) => (told.kind === 'ok' ? (told.reservation ?? []) : []))) {
      if (!figures.get(shown.id)?.some((each) => amounts(each) === amounts(shown))) {
        problems.push(`${about}: told ${amounts(shown)}, which no entry of ${shown.id} says`);
      }
    }
  }
  for (const [digest, entries] of keyed) {
    if (!asked.has(digest)) problems.push(`entry ${entries[0]?.seq} has a key that nobody sent`);
  }
  const verified = await runVerify({ databaseUrl, log: () => undefined });
  for (const difference of verified.differences) {
    if (!damaged.has(difference.split(':')[0] as string)) problems.push(`verify: ${difference}`);
  }
  return {
    problems: problems.slice(0, PROBLEMS_MAX),
    operations: history.operations.length,
    attempts,
    acknowledged,
    entries: books.reduce((sum, book) => sum + book.entryCount, 0),
  };
}

async function readBooks(databaseUrl: string, damaged: ReadonlySet<string>): Promise<TreeBook[]> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const rows = await sql<{ tree: string; first_seq: string; last_seq: string; epoch: string; entries: string }[]>`
      SELECT tree, first_seq, last_seq, epoch, entries FROM budgetd.journal ORDER BY tree, last_seq`;
    const books = new Map<string, TreeBook>();
    for (const row of rows) {
      if (damaged.has(row.tree)) continue;
      const book = books.get(row.tree) ?? new TreeBook(row.tree);
      books.set(row.tree, book);
      book.add({
        tree: row.tree,
        firstSeq: Number(row.first_seq),
        lastSeq: Number(row.last_seq),
        epoch: Number(row.epoch),
        entriesText: row.entries,
      });
    }
    for (const book of books.values()) book.close();
    return [...books.values()];
  } finally {
    await sql.end();
  }
}

function* judge(operation: Operation, entries: readonly KeyedEntry[]): Generator<string> {
  if (entries.length > 1) yield `its key is in the journal ${entries.length} times`;
  const [entry] = entries;
  const { told } = operation;
  for (const [at, each] of told.entries()) {
    if (each.kind === 'untyped') yield `told without a reason: ${each.text}`;
    if (each.kind === 'refused') yield* judgeRefusal(operation, each, told.slice(0, at), entry);
    if (each.kind === 'ok' && operation.key !== '') yield* judgeAnswer(each, entry);
  }
}

function* judgeAnswer(told: Extract<Told, { kind: 'ok' }>, entry: KeyedEntry | undefined): Generator<string> {
  if (entry === undefined) {
    yield 'acknowledged, and not in the journal';
    return;
  }
  if (entry.type === 'Refused') yield `acknowledged, and refused in entry ${entry.seq}`;
  const shown = told.reservation;
  if (shown !== undefined && entry.figures !== undefined) {
    if (shown.id !== entry.id) yield `told of ${shown.id}, entry ${entry.seq} is about ${entry.id}`;
    if (amounts(shown) !== amounts(entry.figures)) {
      yield `told ${amounts(shown)}, entry ${entry.seq} says ${amounts(entry.figures)}`;
    }
  }
  if (told.revision !== undefined && entry.revision !== undefined && told.revision !== entry.revision) {
    yield `told revision ${told.revision}, entry ${entry.seq} says ${entry.revision}`;
  }
}

function* judgeRefusal(
  operation: Operation,
  told: Extract<Told, { kind: 'refused' }>,
  before: readonly Told[],
  entry: KeyedEntry | undefined,
): Generator<string> {
  const { reason, status, retryAfterMs } = told;
  if (!isInContract(status, reason)) yield `${reason} under ${status} is not in the contract`;
  if (operation.key === '' || isUndecided(told)) return;
  const wasSent = before.some(({ kind }) => kind === 'ok' || kind === 'silence') || before.some(isUndecided);
  const isEffect = entry !== undefined && entry.type !== 'Refused';
  if (isEffect && wasSent && SPENT.has(reason)) return;
  if (NOT_REMEMBERED.has(reason) || retryAfterMs !== undefined) {
    // Nothing was decided then; a later attempt may have done it.
    const last = operation.told.at(-1) === told;
    if (entry !== undefined && last) yield `${reason} was told, and entry ${entry.seq} is ${entry.type}`;
    return;
  }
  if (isEffect) yield `${reason} was told, and entry ${entry.seq} is ${entry.type}`;
  else if (entry?.reason !== reason) yield `${reason} was told, the journal remembers ${entry?.reason ?? 'nothing'}`;
}

type Amounts = Pick<ShownReservation, 'state' | 'requested' | 'granted' | 'held' | 'settled' | 'released' | 'overrun'>;

function amounts(of: Amounts): string {
  return (
    `${of.state} requested ${of.requested} granted ${of.granted} held ${of.held} settled ${of.settled} ` +
    `released ${of.released} overrun ${of.overrun}`
  );
}
