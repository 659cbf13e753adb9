// The hot statements look rows up by index whatever the statistics say: on tables never analysed, analysed while they
// were empty, and analysed when all but a row had been deleted. Counted by the server's own statistics: no table is
// scanned, and no more rows are touched than the call concerns.
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/kernel/entry.ts';
import { rollingRule } from '../../src/kernel/window.ts';
import { appendBatch } from '../../src/store/append.ts';
import { budgetDefText } from '../../src/store/budget-def-codec.ts';
import { idleBudgets } from '../../src/store/idle-budgets.ts';
import { loadTree } from '../../src/store/load.ts';
import type { Loaded } from '../../src/store/port.ts';
import { projectBatch } from '../../src/store/project.ts';
import { readHistory } from '../../src/store/read-history.ts';
import { findKeys, readEntries, readEvents, treeHeads, unprojectedTrees } from '../../src/store/read-journal.ts';
import { LIST_SETTINGS, listBudgetPaths, listReservations, uncappedRoots } from '../../src/store/read-models.ts';
import { type Runs, SERVICE_ROLE, type Sql } from '../../src/store/sql-client.ts';
import { holdWriterLease } from '../../src/store/writer-lease.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import {
  alerted,
  definition,
  digest,
  enqueued,
  granted,
  held,
  leftQueue,
  NO_HEAD,
  path,
  renewed,
  rid,
  START_MS,
  settled,
  threeLevels,
  tree,
} from './sample-entries.ts';

const ROW_COUNT = 20_000;
// The calls below concern a dozen rows in each table; a scan would touch thousands.
const TOUCHED_MAX = 60;

const TABLES = [
  'tree_heads',
  'journal',
  'idempotency_keys',
  'personal',
  'projection_heads',
  'budgets',
  'counters',
  'rate_levels',
  'alerts',
  'reservations',
];

const FILL = `
  INSERT INTO budgetd.tree_heads SELECT 't' || i, 1, sha256(int4send(i)), 1, 0, sha256('') FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.journal SELECT 't' || i, 1, 1, now(), 1, sha256(''), sha256(int4send(i)), '[]' FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.idempotency_keys SELECT 't' || i % 10, substr(sha256(int4send(i)), 1, 16), 1, now() FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.personal SELECT 't' || i % 10, i, '', '', '{}' FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.projection_heads SELECT 't' || i, 1, 1, 1, i FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.budgets (tree, budget_no, parent_no, path, uncapped, close_after_ms, close_look_ms, def)
    SELECT 't' || i % 10, i, 1, 't' || i % 10 || '/' || i, false, 1, 1000000 + i, '{}' FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.counters SELECT 't' || i % 10, i, 0, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.rate_levels SELECT 't' || i % 10, i, 1, 0, 0 FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.alerts SELECT 't' || i % 10, i, 1, i, 80, 1, 1, 1 FROM generate_series(1, ${ROW_COUNT}) i;
  INSERT INTO budgetd.reservations SELECT 't' || i % 10, 'r' || i, i, '{1,0,0}', '{x}', 1, '', 1, NULL, 'ACTIVE',
    1, 1, 1, 0, 0, 0, 0, 0, i, i, 1, 0, NULL, false, false, false, NULL, '' FROM generate_series(1, ${ROW_COUNT}) i;`;
const OLD_DEF = budgetDefText(
  definition(1, 'zold', undefined, {
    windows: [
      { no: 0, rule: { kind: 'lifetime' }, firstPeriodMs: 0 },
      { no: 1, rule: { kind: 'calendar', unit: 'day', timeZone: 'UTC' }, firstPeriodMs: 0 },
      { no: 2, rule: { kind: 'rolling', durationMs: 10, stepMs: 1 }, firstPeriodMs: 0 },
    ],
  }),
);
// A tree with a long history and little that is live, at the end of every index.
const OLD_TREE = `
  INSERT INTO budgetd.budgets (tree, budget_no, parent_no, path, uncapped, def)
    SELECT 'zold', i, nullif(1, i), CASE i WHEN 1 THEN 'zold' ELSE 'zold/' || i END, i = 1, '${OLD_DEF}' FROM generate_series(1, 3) i;
  INSERT INTO budgetd.counters SELECT 'zold', 1, CASE i WHEN 0 THEN 0 ELSE 1 + i % 2 END, i, 0, 0, 0, 0, 0, 0 FROM generate_series(0, 10000) i;
  INSERT INTO budgetd.counters VALUES ('zold', 2, 0, 0, 0, 0, 0, 0, 0, 0);
  INSERT INTO budgetd.reservations SELECT 'zold', 'r' || i, 2 + i % 2, '{1,0,0}', NULL, i, '', 1, NULL,
    CASE WHEN i > ${ROW_COUNT} + 9990 THEN 'ACTIVE' ELSE 'SETTLED' END,
    1, 1, 1, 0, 0, 0, 0, 0, i, i, 1, 0, i, false, false, false, NULL, '' FROM generate_series(${ROW_COUNT}, ${ROW_COUNT} + 10000) i;
  INSERT INTO budgetd.reservations SELECT 'zold', CASE WHEN i > 5000 THEN 'w' || i - 5000 ELSE 'v' || i END, 2, '{1,0,0,2,0,0}', NULL, i, '', 1, NULL,
    CASE WHEN i > 5000 THEN 'QUEUED' ELSE 'RELEASED' END, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, false, false, false, NULL, '',
    NULL, NULL, NULL, json_build_object('path', CASE i WHEN 5001 THEN 'zold/2/new' ELSE 'zold/2' END, 'seq', 1, 'by', '', 'until', i,
      'min', 1, 'key', json_build_array('', ''), 'reason', 'CAPACITY_HELD', 'blockedBy', '', 'limit', '') FROM generate_series(1, 5002) i;
  INSERT INTO budgetd.reservations SELECT 'zwait', 'w' || i, 1, '{1,0,0}', CASE i WHEN 1 THEN '{zwait/also/run}'::text[] END, i, '', 1, NULL,
    'QUEUED', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, false, false, false, NULL, '',
    NULL, NULL, NULL, json_build_object('path', 'zwait/team-' || i || '/run', 'until', i) FROM generate_series(1, 3000) i;
  INSERT INTO budgetd.tree_heads VALUES ('zold', 2, sha256('zold'), 1, 0, sha256(''));
  INSERT INTO budgetd.projection_heads VALUES ('zold', 1, 9990, 3, 1);`;
const EMPTY = `
  ALTER TABLE budgetd.journal DISABLE TRIGGER journal_append_only;
  ${TABLES.map((table) => `DELETE FROM budgetd.${table} WHERE tree <> 't1';`).join('\n')}
  DELETE FROM budgetd.reservations WHERE id <> 'r1';
  DELETE FROM budgetd.budgets WHERE budget_no <> 1;
  DELETE FROM budgetd.counters WHERE budget_no <> 1;
  DELETE FROM budgetd.alerts WHERE budget_no <> 1;
  DELETE FROM budgetd.personal WHERE seq <> 1;
  ALTER TABLE budgetd.journal ENABLE TRIGGER journal_append_only;`;
const REFILL = FILL.replaceAll(/(FROM generate_series[^;]+);/g, '$1 ON CONFLICT DO NOTHING;');
const ANALYZE = TABLES.map((table) => `ANALYZE budgetd.${table};`).join('\n');

const STATISTICS: readonly (readonly [string, readonly string[]])[] = [
  ['never analysed', [FILL]],
  ['analysed while empty', [ANALYZE, FILL]],
  ['analysed when all but one row had been deleted', [FILL, EMPTY, ANALYZE, REFILL]],
  ['analysed as they are', [FILL, ANALYZE]],
];

// A call of a function in SQL costs more than what it does: what is called for each of those who wait is felt when a tree is loaded.
it('calls no function for each of thousands who wait on one path', async () => {
  const database = await createDatabase();
  const owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  try {
    await owner.unsafe(`INSERT INTO budgetd.reservations SELECT 'zline', 'w' || i, 1, '{1,0,0}', NULL, i, '', 1, NULL,
      'QUEUED', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, false, false, false, NULL, '',
      NULL, NULL, NULL, json_build_object('path', 'zline/run', 'until', i) FROM generate_series(1, 3000) i`);
    await owner.unsafe(`SET track_functions = 'all'`);
    const [row] = await owner.unsafe<[{ count: number }]>(`
      SELECT json_array_length(reservations) AS count FROM budgetd.load_tree('zline', '{}', '{}', '{}', 0, 0, 1000)`);
    expect(row.count).toBe(3_000);
    await owner.unsafe('SELECT pg_stat_force_next_flush()');
    const calls = await owner.unsafe<{ funcname: string; calls: string }[]>(
      `SELECT funcname, calls FROM pg_stat_user_functions WHERE schemaname = 'budgetd'`,
    );
    expect(calls.map(({ funcname }) => funcname)).toContain('load_tree');
    for (const each of calls) expect(Number(each.calls), each.funcname).toBeLessThan(10);
  } finally {
    await owner.end();
    await database.drop();
  }
});

describe.each(STATISTICS)('on tables %s', (_, steps) => {
  let database: TestDatabase;
  let sql: postgres.Sql;
  let treeCount = 0;
  let treeId = tree('');

  beforeAll(async () => {
    database = await createDatabase();
    const owner = postgres(database.url, { max: 1, onnotice: () => undefined });
    for (const table of [...TABLES, 'journal_default']) {
      if (table !== 'journal') await owner.unsafe(`ALTER TABLE budgetd.${table} SET (autovacuum_enabled = off)`);
    }
    await owner`SELECT budgetd.ensure_journal_partitions(3)`;
    for (const step of steps) await owner.unsafe(step).simple();
    await owner.unsafe(OLD_TREE).simple();
    await owner.end();
    sql = postgres(database.url, {
      max: 1,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { role: SERVICE_ROLE, default_transaction_isolation: 'serializable' } as object,
    });
    await holdWriterLease({ run: (work) => work(sql) }, 'test', '', undefined, 3_600_000);
  });
  afterAll(async () => {
    await sql?.end();
    await database?.drop();
  });
  beforeEach(() => {
    treeCount += 1;
    treeId = tree(`fresh-${treeCount}`);
  });

  /** Runs work in one transaction and tells what it did to each table: scans, and rows touched. */
  async function touched(work: (runs: Runs) => Promise<unknown>) {
    const counts = async (tx: postgres.TransactionSql) => {
      const rows = await tx<{ name: string; scans: number; rows: number }[]>`
        SELECT relname AS name, seq_scan::integer AS scans, (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer AS rows
        FROM pg_stat_xact_user_tables WHERE schemaname = 'budgetd'`;
      return new Map(rows.map((row) => [row.name, row]));
    };
    let scanned: string[] = [];
    let rowCountMax = 0;
    await sql.begin(async (tx) => {
      const before = await counts(tx);
      await work({ run: (query) => query(tx as unknown as Sql) });
      const after = [...(await counts(tx)).values()];
      scanned = after.filter(({ name, scans }) => scans > (before.get(name)?.scans ?? 0)).map(({ name }) => name);
      rowCountMax = Math.max(...after.map(({ name, rows }) => rows - (before.get(name)?.rows ?? 0)));
    });
    return { scanned, rowCountMax };
  }

  const onRun = () => ({ path: `${treeId}/team/run`, nos: [1, 2, 3] });
  const hold = held(1n, START_MS + 50_000);
  const life = () => [
    ...threeLevels(treeId),
    granted({ seq: 4, key: 'a', personal: { actingFor: 'x' } }, rid('a'), onRun(), hold),
    granted({ seq: 5, key: 'b' }, rid('b'), onRun(), hold),
  ];
  const later = () => [
    settled({ seq: 6, key: 'c' }, rid('a'), [1, 2, 3], hold),
    renewed({ seq: 7 }, [[rid('b'), hold, START_MS + 60_000]]),
    alerted({ seq: 8 }, [3, 1, 0, 80]),
  ];
  const few = { scanned: [], rowCountMax: expect.toSatisfy((count: number) => count <= TOUCHED_MAX) };

  it('append, load, key search, reading and projecting touch only their own rows', async () => {
    const entries = life();
    const appended = await touched((runs) => appendBatch(runs, 1, [{ treeId, expected: NO_HEAD, entries }]));
    expect(appended).toStrictEqual(few);
    const { head } = await loadTree(
      { run: (work) => work(sql) },
      { treeId, paths: [], reservationIds: [], leases: undefined, withTail: false },
    );
    expect(head.seq).toBe(5);
    expect(await touched((runs) => appendBatch(runs, 1, [{ treeId, expected: head, entries: later() }]))).toStrictEqual(
      few,
    );
    const request = {
      treeId,
      paths: [path(`${treeId}/team/run`)],
      reservationIds: [rid('a')],
      leases: { afterReclaimMs: 0, countMax: 5 },
      withTail: true,
    };
    expect(await touched((runs) => loadTree(runs, request))).toStrictEqual(few);
    expect(await touched((runs) => findKeys(runs, treeId, [digest('a'), digest('no')]))).toStrictEqual(few);
    expect(await touched((runs) => readEntries(runs, treeId, 2, 10))).toStrictEqual(few);
    expect(await touched((runs) => projectBatch(runs, [{ treeId, entries }]))).toStrictEqual(few);
    expect(await touched((runs) => projectBatch(runs, [{ treeId, entries: later() }]))).toStrictEqual(few);
    expect(await touched((runs) => loadTree(runs, { ...request, withTail: false }))).toStrictEqual(few);
  });

  it('a load brings few of the periods and steps that there are', async () => {
    const request = {
      treeId: tree('zold'),
      paths: [path('zold')],
      reservationIds: [],
      leases: undefined,
      withTail: false,
    };
    const periods = [{ budgetNo: 1, windowNo: 1, periodMs: 5_000 }];
    let loaded: Loaded | undefined;
    const seen = await touched(async (runs) => {
      loaded = await loadTree(runs, { ...request, periods });
    });
    expect(seen).toStrictEqual(few);
    const [budget] = loaded?.budgets ?? [];
    expect(budget?.counters.map(({ windowNo, periodMs }) => [windowNo, periodMs])).toStrictEqual([
      [0, 0],
      [1, 5_000],
      [1, 10_000],
    ]);
    expect(budget?.steps).toHaveLength(10);
  });

  it('an alert takes the place of those of earlier periods, and touches those of its limit alone', async () => {
    const rows = () => sql`SELECT a.limit_no AS limit, a.period_ms::integer AS period, a.used_micros::integer AS used
      FROM budgetd.alerts a WHERE a.tree = ${treeId} ORDER BY a.limit_no, a.period_ms`;
    const project = (entries: readonly Entry[]) => touched((runs) => projectBatch(runs, [{ treeId, entries }]));
    await project([...threeLevels(treeId), alerted({ seq: 4 }, [1, 1, 1, 80], [1, 1, 1, 100], [1, 2, 1, 80])]);
    expect(await project([alerted({ seq: 5 }, [1, 1, 2, 80])])).toStrictEqual(few);
    expect(await rows()).toEqual([
      { limit: 1, period: 2, used: 80 },
      { limit: 2, period: 1, used: 80 },
    ]);
    const again = alerted({ seq: 6 }, [1, 1, 2, 80]);
    const more = again.alerts.map((alert) => ({ ...alert, usedMicros: 95n }));
    expect(await project([{ ...again, alerts: more }])).toStrictEqual(few);
    expect((await rows())[0]).toEqual({ limit: 1, period: 2, used: 95 });
  });

  it('what waits is found, granted and given up by index', async () => {
    const until = START_MS + 9_000;
    const named = { path: `${treeId}/team/run/new`, nos: [1, 2, 3] };
    const waits = [
      ...threeLevels(treeId),
      enqueued({ seq: 4, personal: { actingFor: 'x' } }, rid('a'), onRun(), until),
      enqueued({ seq: 5 }, rid('b'), named, until),
      enqueued({ seq: 6 }, rid('c'), named, until),
    ];
    const ends = [granted({ seq: 7 }, rid('a'), { ...onRun(), enqueuedSeq: 4 }, hold), leftQueue({ seq: 8 }, rid('b'))];
    await appendBatch({ run: (work) => work(sql) }, 1, [{ treeId, expected: NO_HEAD, entries: [...waits, ...ends] }]);
    expect(await touched((runs) => projectBatch(runs, [{ treeId, entries: waits }]))).toStrictEqual(few);
    const request = { treeId, paths: [], reservationIds: [], leases: undefined, withTail: true };
    let loaded: Loaded | undefined;
    const load = await touched(async (runs) => {
      loaded = await loadTree(runs, request);
    });
    expect([load, loaded?.reservations.length]).toStrictEqual([few, 3]);
    expect(await touched((runs) => projectBatch(runs, [{ treeId, entries: ends }]))).toStrictEqual(few);
  });

  it('one that is granted touches none of the thousands that wait beside it', async () => {
    const waits = [...threeLevels(treeId), enqueued({ seq: 4 }, rid('a'), onRun(), START_MS + 9_000)];
    const ends = [granted({ seq: 5 }, rid('a'), { ...onRun(), enqueuedSeq: 4 }, hold)];
    await sql`
      INSERT INTO budgetd.reservations SELECT ${treeId}, 'w' || i, 3, '{1,0,0}', NULL, i, '', 4, NULL,
        'QUEUED', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, false, false, false, NULL, '',
        NULL, NULL, NULL, json_build_object('until', i) FROM generate_series(1, 3000) i`;
    await touched((runs) => projectBatch(runs, [{ treeId, entries: waits }]));
    expect(await touched((runs) => projectBatch(runs, [{ treeId, entries: ends }]))).toStrictEqual(few);
  });

  it('what waits in a tree with a long history touches what waits alone', async () => {
    const treeId = tree('zold');
    const request = { treeId, paths: [], reservationIds: [], leases: undefined, withTail: true };
    let loaded: Loaded | undefined;
    const load = await touched(async (runs) => {
      loaded = await loadTree(runs, request);
    });
    expect([load, loaded?.reservations.map(({ id }) => id).sort()]).toStrictEqual([few, ['w1', 'w2']]);
    const waited = await touched((runs) =>
      runs.run(async (tx) => {
        expect(await tx`SELECT budgetd.is_waited_for('zold/3')`).toEqual([{ is_waited_for: false }]);
        expect(await tx`SELECT budgetd.is_waited_for('zold/2')`).toEqual([{ is_waited_for: true }]);
      }),
    );
    expect(waited).toStrictEqual(few);
  });

  it('whether a budget is waited for touches those that wait on it alone, where many wait elsewhere', async () => {
    const paths = [
      ['zwait/team-7/run', true],
      ['zwait/team-7', true],
      ['zwait/team-7/run/step', false],
      ['zwait/team', false],
      ['zwait/also', true],
      ['zwait/also/run', true],
      ['zwait/none', false],
    ] as const;
    for (const [waitedPath, is] of paths) {
      const looked = await touched((runs) =>
        runs.run(async (tx) => {
          await tx`SELECT set_config('enable_bitmapscan', 'off', true)`;
          const [row] = await tx`SELECT budgetd.is_waited_for(${waitedPath}) AS is`;
          expect([waitedPath, row?.['is']]).toStrictEqual([waitedPath, is]);
        }),
      );
      expect(looked).toStrictEqual(few);
    }
  });

  it('sums over the past of a budget go by index', async () => {
    const fromMs = ROW_COUNT + 9_991;
    const needs = [
      { rule: { kind: 'range', startMs: fromMs, endMs: 9e12 } as const, fromMs },
      { rule: rollingRule(60_000), fromMs },
    ];
    let history: Awaited<ReturnType<typeof readHistory>> | undefined;
    const { scanned } = await touched(async (runs) => {
      history = await readHistory(runs, tree('zold'), 1, needs);
    });
    expect(scanned).toStrictEqual([]);
    expect(history?.sums[0]).toMatchObject({ heldMicros: 10n });
    const below = await touched(async (runs) => {
      history = await readHistory(runs, tree('zold'), 2, needs);
    });
    expect(below.scanned).toStrictEqual([]);
    expect(history?.sums[0]).toMatchObject({ heldMicros: 5n });
  });

  it('the look for idle budgets touches those that it looks at', async () => {
    const after = { lookMs: 1_000_000, treeId: tree(''), budgetNo: 0, path: path('x') };
    const idle = (runs: Runs) => idleBudgets(runs, 1_000_010, after, 5);
    let found: readonly unknown[] = [];
    const seen = await touched(async (runs) => {
      found = await idle(runs);
    });
    expect(found).toHaveLength(5);
    expect(seen).toStrictEqual(few);
  });

  it('events and heads of trees touch the rows of their page', async () => {
    await appendBatch({ run: (work) => work(sql) }, 1, [{ treeId, expected: NO_HEAD, entries: life() }]);
    let events: readonly unknown[] = [];
    let heads: readonly unknown[] = [];
    const seen = await touched(async (runs) => {
      for (const [name, value] of Object.entries(LIST_SETTINGS)) {
        await runs.run((tx) => tx`SELECT set_config(${name}, ${value}, true)`);
      }
      events = await readEvents(runs, treeId, 2, 2);
      heads = await treeHeads(runs, tree('t5'), 10);
    });
    expect(events).toHaveLength(2);
    expect(heads).toHaveLength(10);
    expect(seen).toStrictEqual(few);
  });

  it('lists touch the rows of their page', async () => {
    const settings = Object.entries(LIST_SETTINGS);
    const list = (work: (runs: Runs) => Promise<readonly unknown[]>, count: number) =>
      touched(async (runs) => {
        await runs.run(async (tx) => {
          for (const [name, value] of settings) await tx`SELECT set_config(${name}, ${value}, true)`;
        });
        expect(await work(runs)).toHaveLength(count);
      });
    const page = { treeId: tree('zold'), holder: undefined, after: undefined, countMax: 5 };
    const root = { ...page, budget: path('zold'), state: undefined };
    expect(await list((runs) => listReservations(runs, root), 5)).toStrictEqual(few);
    expect(await list((runs) => listReservations(runs, { ...root, budget: path('zold/2') }), 5)).toStrictEqual(few);
    const active = { ...root, state: 'ACTIVE' as const };
    expect(await list((runs) => listReservations(runs, active), 5)).toStrictEqual(few);
    expect(await list((runs) => listReservations(runs, { ...active, countMax: 50 }), 10)).toStrictEqual(few);
    expect(await list((runs) => listReservations(runs, { ...active, holder: 'nobody' }), 0)).toStrictEqual(few);
    const queued = { ...root, state: 'QUEUED' as const };
    expect(await list((runs) => listReservations(runs, queued), 2)).toStrictEqual(few);
    expect(await list((runs) => listReservations(runs, { ...queued, budget: path('zold/2/new') }), 1)).toStrictEqual(
      few,
    );
    const all = { parent: undefined, recursive: false, after: path('z'), countMax: 5 };
    expect(await list((runs) => listBudgetPaths(runs, all), 1)).toStrictEqual(few);
    expect(await list((runs) => listBudgetPaths(runs, { ...all, recursive: true }), 3)).toStrictEqual(few);
    expect(
      await list((runs) => listBudgetPaths(runs, { ...all, after: undefined, parent: path('t1') }), 0),
    ).toStrictEqual(few);
    expect(
      await list((runs) => listBudgetPaths(runs, { ...all, after: undefined, parent: path('zold') }), 3),
    ).toStrictEqual(few);
    expect(await list((runs) => uncappedRoots(runs, 5), 1)).toStrictEqual(few);
  });

  it('the look for trees that are behind goes over all heads by index, in steps, and asks nothing else', async () => {
    let found: unknown;
    const seen = await touched(async (runs) => {
      found = await unprojectedTrees(runs, 100, tree('t'));
    });
    expect(found).toStrictEqual([{ treeId: 'zold', projectedSeq: 1 }]);
    expect(seen.scanned).toStrictEqual([]);
  });

  it('and a scan would be seen', async () => {
    const seen = await touched((runs) =>
      runs.run((tx) => tx`SELECT count(*) FROM budgetd.reservations WHERE holder = 'x'`),
    );
    expect(seen.scanned).toStrictEqual(['reservations']);
    expect(seen.rowCountMax).toBeGreaterThan(TOUCHED_MAX);
  });
});
