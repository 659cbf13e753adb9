// The audit finds what it is there to find: each case tells one lie, in the history or in the journal, and is caught.
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { audit } from './audit.ts';
import { FaultWorld } from './fault-world.ts';
import { History, type Operation, type Told } from './history.ts';
import { Random } from './random.ts';
import { type StoredRow, TreeBook } from './tree-book.ts';

let rows: StoredRow[] = [];
let operations: readonly Operation[] = [];
let databaseUrl = '';
let leave: () => void = () => undefined;
let world: Promise<void>;

beforeAll(async () => {
  const ready = Promise.withResolvers<void>();
  const gate = new Promise<void>((resolve) => {
    leave = resolve;
  });
  world = FaultWorld.with({ random: new Random(7), trees: 1 }, async (each) => {
    await each.makeTrees();
    await each.underLoad(() => Promise.resolve(), 4);
    databaseUrl = each.databaseUrl;
    operations = each.history.operations;
    rows = await readRows(databaseUrl);
    ready.resolve();
    await gate;
  });
  world.catch(ready.reject);
  await ready.promise;
});
afterAll(async () => {
  leave();
  await world;
});

async function readRows(url: string): Promise<StoredRow[]> {
  const sql = postgres(url, { max: 1 });
  const found = await sql<{ first_seq: string; last_seq: string; epoch: string; entries: string }[]>`
    SELECT first_seq, last_seq, epoch, entries FROM budgetd.journal ORDER BY last_seq`;
  await sql.end();
  return found.map((row) => ({
    tree: 't0',
    firstSeq: Number(row.first_seq),
    lastSeq: Number(row.last_seq),
    epoch: Number(row.epoch),
    entriesText: row.entries,
  }));
}

function historyOf(change: (operation: Operation) => Operation | undefined): History {
  const history = new History();
  for (const operation of operations) {
    const changed = change(operation);
    if (changed !== undefined) history.operations.push(changed);
  }
  return history;
}

const isGrant = ({ method, told }: Operation): boolean => method === 'Reserve' && told[0]?.kind === 'ok';

/** The history with another last word about the first grant. */
function retold(told: (before: Told) => Told): History {
  const first = operations.find(isGrant);
  return historyOf((each) => (each === first ? { ...each, told: [told(each.told[0] as Told)] } : each));
}

it('finds nothing in what happened', async () => {
  expect(
    (
      await audit(
        databaseUrl,
        historyOf((each) => each),
      )
    ).problems,
  ).toEqual([]);
});

const refused = {
  kind: 'refused',
  status: 'RESOURCE_EXHAUSTED',
  retryAfterMs: undefined,
  leaderAddress: undefined,
} as const;

it.each<[string, () => History, RegExp]>([
  [
    'another amount was told',
    () =>
      retold((told) =>
        told.kind === 'ok' && told.reservation !== undefined
          ? { ...told, reservation: { ...told.reservation, granted: told.reservation.granted + 1n } }
          : told,
      ),
    /told .* entry/,
  ],
  [
    'an effect was told as a refusal',
    () => retold(() => ({ ...refused, reason: 'BUDGET_EXHAUSTED' })),
    /was told, and/,
  ],
  ['a reason is not in the contract', () => retold(() => ({ ...refused, reason: 'NOPE' })), /not in the contract/],
  ['a refusal has no reason', () => retold(() => ({ kind: 'untyped', text: 'INTERNAL' })), /without a reason/],
  [
    'what was acknowledged is not there',
    () => historyOf((each) => (isGrant(each) ? { ...each, key: `${each.key}-x` } : each)),
    /acknowledged, and not in the journal/,
  ],
  [
    'an effect is there that nobody asked for',
    () => historyOf((each) => (isGrant(each) ? undefined : each)),
    /nobody sent/,
  ],
])('%s', async (_, history, found) => {
  expect((await audit(databaseUrl, history())).problems.join('\n')).toMatch(found);
});

const book = (change: (text: string) => string): string => {
  const each = new TreeBook('t0');
  for (const row of rows) each.add({ ...row, entriesText: change(row.entriesText) });
  each.close();
  return each.problems.join('\n');
};

it.each<[string, (text: string) => string, RegExp]>([
  [
    'more was granted than was free',
    (text) => text.replaceAll(/"amount":\d+/g, '"amount":1'),
    /where .* was free|past 1 of/,
  ],
  ['a sequence is missing', (text) => text.replaceAll('"seq":9,', '"seq":10,'), /does not follow/],
  [
    'an effect is not that of the figures',
    (text) => text.replaceAll(/"fx":\[\[(\d)/g, '"fx":[[1$1'),
    /its reservations have|was free/,
  ],
])('the journal says that %s', (_, change, found) => {
  expect(book((text) => text)).toBe('');
  expect(book(change)).toMatch(found);
});
