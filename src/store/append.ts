// Commits a batch: one statement, one serializable transaction (sql/0004), on a connection of its own so that batches keep
// their order. Concludes what became of it, also where an earlier attempt's answer was lost.
import type { TreeId } from '../kernel/names.ts';
import { encodeEntries, rowHash } from './entry-codec.ts';
import { quote } from './json-text.ts';
import { labelsText } from './labels-codec.ts';
import { scalarArray, textArray } from './pg-array.ts';
import { type AppendResult, type Head, StoreUnavailableError, type TreeAppend } from './port.ts';
import type { Runs, Sql } from './sql-client.ts';
import { asksForRetry, codeOf, isUniqueViolation, SQLSTATE_FENCED, SQLSTATE_HEAD_MOVED } from './sql-errors.ts';

const HASH_BYTES = 32;
const DIGEST_BYTES = 16;
// Each time somebody else got something done; a look costs less than a millisecond.
const LOOK_COUNT_MAX = 10;

/** Appends a batch under an epoch. See Store.append. */
export async function appendBatch(client: Runs, epoch: number, batch: readonly TreeAppend[]): Promise<AppendResult> {
  const parameters = preparedParametersOf(batch);
  return client.run(async (sql) => {
    const failure = await callAppend(sql, epoch, parameters);
    if (failure === undefined) return { outcome: 'committed', heads: parameters.heads };
    if (failure === 'key_exists') return { outcome: 'key_exists' };
    // An earlier attempt of this very batch may have committed and its answer got lost, even while this one waited.
    const committed = batch.length > 0 && (await lookAtHeads(sql, parameters));
    return committed ? { outcome: 'committed', heads: parameters.heads } : { outcome: failure };
  });
}

/** See Store.headsAfter. */
export function headsAfter(batch: readonly TreeAppend[]): readonly Head[] {
  return preparedParametersOf(batch).heads;
}

// Batches that are decided before they can be appended, and those that are appended once more.
const prepared = new WeakMap<readonly TreeAppend[], AppendParameters>();

function preparedParametersOf(batch: readonly TreeAppend[]): AppendParameters {
  const known = prepared.get(batch);
  if (known !== undefined) return known;
  const parameters = parametersOf(batch);
  prepared.set(batch, parameters);
  return parameters;
}

type Failure = 'fenced' | 'conflict' | 'key_exists';

async function callAppend(sql: Sql, epoch: number, p: AppendParameters): Promise<Failure | undefined> {
  try {
    await sql`SELECT budgetd.append_batch(${epoch}, ${p.trees}, ${p.prevSeqs}, ${p.lastSeqs}, ${p.atMs}, ${p.hashes},
      ${p.entries}, ${p.keyTrees}, ${p.keySeqs}, ${p.keyDigests}, ${p.personal})`;
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    if (code === SQLSTATE_FENCED) return 'fenced';
    if (code === SQLSTATE_HEAD_MOVED || asksForRetry(error)) return 'conflict';
    if (isUniqueViolation(error, 'idempotency_keys_pkey')) return 'key_exists';
    if (isUniqueViolation(error)) return 'conflict';
    throw error;
  }
}

// Under SERIALIZABLE even this look may be asked to try again, and nothing is known before it has been answered. Who never gets
// an answer appends the same once more.
async function lookAtHeads(sql: Sql, p: AppendParameters): Promise<boolean> {
  for (let count = 1; ; count++) {
    try {
      return await headsAre(sql, p);
    } catch (error) {
      if (!asksForRetry(error)) throw error;
      if (count === LOOK_COUNT_MAX) {
        throw new StoreUnavailableError('the store does not say what became of an append', { cause: error });
      }
    }
  }
}

async function headsAre(sql: Sql, p: AppendParameters): Promise<boolean> {
  const rows = await sql<{ tree: string; seq: string; hash: Buffer }[]>`
    SELECT h.tree, h.seq, h.hash
    FROM unnest(${p.trees}::text[]) AS t(tree)
    CROSS JOIN LATERAL (
      SELECT x.tree, x.seq, x.hash FROM budgetd.tree_heads x WHERE x.tree = t.tree OFFSET 0
    ) AS h`;
  const found = new Map(rows.map((row) => [row.tree, row]));
  return p.treeIds.every((treeId, i) => {
    const head = found.get(treeId);
    const wanted = p.heads[i] as Head;
    return head !== undefined && Number(head.seq) === wanted.seq && head.hash.toString('hex') === wanted.hash;
  });
}

interface AppendParameters {
  readonly treeIds: readonly TreeId[];
  readonly heads: readonly Head[];
  readonly trees: string;
  readonly prevSeqs: string;
  readonly lastSeqs: string;
  readonly atMs: string;
  readonly hashes: Buffer;
  readonly entries: string;
  readonly keyTrees: string;
  readonly keySeqs: string;
  readonly keyDigests: Buffer;
  readonly personal: string | null;
}

function parametersOf(batch: readonly TreeAppend[]): AppendParameters {
  const heads: Head[] = [];
  const texts: string[] = [];
  const hashes = Buffer.alloc(batch.length * 2 * HASH_BYTES);
  const keyTrees: number[] = [];
  const keySeqs: number[] = [];
  const digests: string[] = [];
  const personal: string[] = [];
  batch.forEach(({ treeId, expected, entries }, i) => {
    const entriesText = encodeEntries(entries);
    const head = headAfter(treeId, expected, entries, entriesText);
    heads.push(head);
    texts.push(entriesText);
    hashes.write(expected.hash, i * 2 * HASH_BYTES, 'hex');
    hashes.write(head.hash, (i * 2 + 1) * HASH_BYTES, 'hex');
    for (const entry of entries) {
      if (entry.key !== undefined) {
        keyTrees.push(i + 1);
        keySeqs.push(entry.seq);
        digests.push(entry.key.digest);
      }
      if (entry.personal?.salt !== undefined) personal.push(personalText(i + 1, entry.seq, entry.personal));
    }
  });
  return {
    treeIds: batch.map((part) => part.treeId),
    heads,
    trees: textArray(batch.map((part) => part.treeId)),
    prevSeqs: scalarArray(batch.map((part) => part.expected.seq)),
    lastSeqs: scalarArray(heads.map((head) => head.seq)),
    atMs: scalarArray(heads.map((head) => head.atMs)),
    hashes,
    entries: texts.join('\n'),
    keyTrees: scalarArray(keyTrees),
    keySeqs: scalarArray(keySeqs),
    keyDigests: digestBytes(digests),
    personal: personal.length === 0 ? null : `[${personal.join(',')}]`,
  };
}

/** The head of a tree after these entries. They must follow `expected` without a gap. */
export function headAfter(treeId: TreeId, expected: Head, entries: TreeAppend['entries'], entriesText: string): Head {
  const last = entries.at(-1);
  const firstSeq = expected.seq + 1;
  const lastSeq = expected.seq + entries.length;
  if (last === undefined || entries[0]?.seq !== firstSeq || last.seq !== lastSeq) {
    throw new RangeError(`entries of ${treeId} do not follow sequence ${expected.seq}`);
  }
  const hash = rowHash(expected.hash, { treeId, firstSeq, lastSeq, atMs: last.atMs, entriesText });
  return { seq: lastSeq, hash, atMs: last.atMs };
}

/** Digests (base64url) side by side, 16 bytes each. */
export function digestBytes(digests: readonly string[]): Buffer {
  const bytes = Buffer.alloc(digests.length * DIGEST_BYTES);
  digests.forEach((digest, i) => {
    bytes.write(digest, i * DIGEST_BYTES, DIGEST_BYTES, 'base64url');
  });
  return bytes;
}

function personalText(
  treePlace: number,
  seq: number,
  personal: NonNullable<TreeAppend['entries'][number]['personal']>,
): string {
  return (
    `{"tree_place":${treePlace},"seq":${seq},"salt":${quote(personal.salt ?? '')},` +
    `"acting_for":${quote(personal.actingFor)},"labels":${labelsText(personal.labels)}}`
  );
}
