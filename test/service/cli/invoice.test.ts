// `invoice compare` and `invoice estimates` over a real journal in a real database.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { readEstimateShares, readMonths } from '../../../src/app/journal-spend.ts';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import { appendTo, NO_HEAD } from '../../store/sample-entries.ts';
import { KernelDriver } from '../../support/kernel-driver.ts';
import { createDatabase, type TestDatabase } from '../../support/postgres.ts';
import { callOf, usageOf } from '../../support/test-prices.ts';
import { type Result, runCli } from './run-cli.ts';

const DAY_MS = 86_400_000;

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'budgetd-invoice-'));
  const store = await createPostgresStore({ url: database.url });
  try {
    const { epoch } = await store.holdWriterLease('test', '', undefined, 3_600_000);
    for (const driver of [acme(), other()]) {
      let expected = NO_HEAD;
      for (const entry of driver.journal) {
        expected = await appendTo(store, epoch, { treeId: driver.state.treeId, expected, entries: [entry] });
      }
    }
  } finally {
    await store.close();
  }
});
afterAll(async () => {
  await database?.drop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** 7 USD of gpt-4o in February and 3.5 in March, some mini that was estimated too high, and what belongs to no model. */
function acme(): KernelDriver {
  const driver = new KernelDriver('acme');
  driver.nowMs = Date.UTC(2026, 1, 10);
  driver.run(driver.make.create('acme', { limits: 1_000_000_000 }));
  const settle = (name: string, prompt: number, completion: number) => {
    const call = callOf(name, { inputTokens: 1_000_000, outputTokensMax: 100_000 });
    const id = driver.hold('acme', 0, { call });
    driver.run(driver.make.settle(id, undefined, { usage: usageOf(prompt, completion) }));
  };
  settle('openai/gpt-4o', 1_000_000, 100_000);
  settle('openai/gpt-4o', 1_000_000, 100_000);
  settle('openai/gpt-4o-mini', 1_000, 100);
  driver.run(driver.make.settle(driver.hold('acme', 250_000), 250_000));
  driver.nowMs = Date.UTC(2026, 2, 1, 9);
  settle('openai/gpt-4o', 1_000_000, 100_000);
  settle('anthropic/claude-sonnet-4', 1_000_000, 160_000);
  driver.run(driver.make.settle(driver.hold('acme', 40_000), undefined));
  return driver;
}

function other(): KernelDriver {
  const driver = new KernelDriver('other');
  driver.nowMs = Date.UTC(2026, 2, 1, 9);
  driver.run(driver.make.create('other', { limits: 1_000, unit: 'credits' }));
  driver.run(driver.make.settle(driver.hold('other', 100), 70));
  return driver;
}

const spend: CliContext['spend'] = { readMonths, readEstimateShares };
const run = (...words: readonly string[]): Promise<Result> =>
  runCli({ address: '127.0.0.1:1' }, ['invoice', ...words, '--database-url', database.url], { spend });

async function file(...lines: readonly string[]): Promise<string> {
  const path = join(folder, 'costs.csv');
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

const HEADER = 'date,model,input_tokens,output_tokens,cost';

describe('invoice compare', () => {
  it('agrees within a dollar or five per cent, and shows apart what no invoice can be held against', async () => {
    const path = await file(
      HEADER,
      '2026-02-10,gpt-4o,1000000,100000,3.5',
      '2026-02-11,gpt-4o,1000000,100000,3.7000000000001',
      '2026-03-01T09:00:00Z,gpt-4o,1000000,100000,3.50',
    );
    const { exitCode, stdout, stderr } = await run('compare', path, '--provider', 'openai');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(
      stdout,
    ).toBe(`MONTH    PROVIDER  MODEL         INVOICE  JOURNAL  DIFFERENCE  SAYS          TOKENS INVOICED  SETTLED
───────  ────────  ───────────  ────────  ───────  ──────────  ────────────  ───────────────  ───────
2026-02  openai    gpt-4o       7.200001  7          0.200001  agrees                2200000  2200000
2026-02  openai    gpt-4o-mini  -         0.00021   -0.00021   journal only                -     1100
2026-03  openai    gpt-4o       3.5       3.5        0         agrees                1100000  1100000

Invoice 10.700001 USD, journal 10.50021 USD.
Settled by amount, of no model: 0.25 USD (1).
Estimated, of no model: 0.04 USD (1).
Settled by amount, of no model: 0.00007 credits (1).
Of anthropic, which the invoice does not name: 5.4 USD.

✓ no difference above 1 USD and above 5 %
`);
  });

  it('ends with 2 where there is a gap, and names it first', async () => {
    const path = await file(
      'date,provider,model,cost',
      '2026-03-01,openai,gpt-4o,3.5',
      '2026-03-01,anthropic,Claude Sonnet 4,6.500000',
      '2026-03-02,openai,o3,1.00',
      '2026-02-01,openai,gpt-4o,7',
    );
    const alias = 'anthropic/Claude Sonnet 4=anthropic/claude-sonnet-4';
    const { exitCode, stdout } = await run('compare', path, '--month', '2026-03', '--tree', 'acme', '--alias', alias);
    expect(exitCode).toBe(2);
    expect(stdout).toBe(`MONTH    PROVIDER   MODEL            INVOICE  JOURNAL  DIFFERENCE  SAYS
───────  ─────────  ───────────────  ───────  ───────  ──────────  ────────────
2026-03  anthropic  claude-sonnet-4      6.5      5.4         1.1  gap
2026-03  openai     gpt-4o               3.5      3.5         0    agrees
2026-03  openai     o3                   1        -           1    invoice only

Invoice 11 USD, journal 8.9 USD.
Estimated, of no model: 0.04 USD (1).
Lines of other months, left out: 1.

✗ 1 above 1 USD and above 5 %
`);
  });

  it('prints JSON for programs', async () => {
    const path = await file(HEADER, '2026-02-10,gpt-4o,1,,9', '2026-02-10,gpt-4o-mini,,,0');
    const { exitCode, stdout } = await run('compare', path, '--provider', 'openai', '--json');
    expect(exitCode).toBe(2);
    const [first] = JSON.parse(stdout).models;
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ unit: 'USD', gapCount: 1, invoiceMicros: '9000000', journalMicros: '7000210', lineCount: 2 },
      apart: [{ unit: 'USD', kind: 'amount', count: '1', micros: '250000' }],
      otherProviders: [],
    });
    expect(first).toEqual({
      ...{ month: '2026-02', provider: 'openai', model: 'gpt-4o', differenceMicros: '2000000', isGap: true },
      invoice: { micros: '9000000', inputTokens: '1', outputTokens: null, count: '1' },
      journal: { micros: '7000000', inputTokens: '2000000', outputTokens: '200000', count: '2' },
    });
  });

  it('tells every bad line, and compares nothing', async () => {
    const path = await file(HEADER, '2026-02-10,gpt-4o,1,1,9', '2026-02-10,,1,1,9', '2026-02-10,x,1,1,€9');
    expect(await run('compare', path, '--provider', 'openai')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `${path}:3: model "" must name a model
${path}:4: cost "€9" must be a plain decimal in USD such as 12.34
error: ${path} has 2 problems; nothing was compared
`,
    });
  });

  it.each([
    [['--provider', 'Open AI'], 'error: "Open AI" is not the id of a provider, such as openai'],
    [['--month', '2026-13'], 'error: "2026-13" is not a month, such as 2026-11'],
    [['--month', '2026-12', '--provider', 'openai'], 'has no line of 2026-12 that bills anything'],
    [['--alias', 'gpt-4o=x'], '"gpt-4o=x" is not provider/model=provider/model'],
    [['--alias', 'p/a=p/b', '--alias', 'p/a=p/c'], 'p/a is given twice'],
    [['--tree', 'nobody', '--provider', 'openai'], 'error: the journal has no tree nobody'],
    [['--odd'], "error: unknown option '--odd'"],
  ])('%j ends with 1, never as a gap', async (words, message) => {
    const { exitCode, stdout, stderr } = await run('compare', await file(HEADER, '2026-02-10,gpt-4o,,,7'), ...words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('ends with 1 where there is no file, or no database of this kind', async () => {
    const missing = await run('compare', join(folder, 'none.csv'));
    expect(missing).toMatchObject({ exitCode: 1, stdout: '' });
    expect(missing.stderr).toContain('ENOENT');
    const path = await file(HEADER, '2026-02-10,gpt-4o,,,7');
    const empty = await createDatabase({ empty: true });
    try {
      const words = ['invoice', 'compare', path, '--provider', 'openai', '--database-url', empty.url];
      const { exitCode, stderr } = await runCli({ address: '127.0.0.1:1' }, words, { spend });
      expect([exitCode, stderr]).toEqual([1, 'error: this database has no schema of budgetd: is it the right one?\n']);
    } finally {
      await empty.drop();
    }
  });
});

describe('invoice estimates', () => {
  it('shows passed estimates first, then wide ones, and ends with 2', async () => {
    const { exitCode, stdout } = await run('estimates', '--since', '2026-02-01', '--until', '2026-04-01');
    expect(exitCode).toBe(2);
    expect(
      stdout,
    ).toBe(`PROVIDER   MODEL            COUNT  ESTIMATED      COST  UNIT      P50      P95      P99  OVERRUN  SAYS
─────────  ───────────────  ─────  ─────────  ────────  ────  ───────  ───────  ───────  ───────  ─────────────────────────────────
anthropic  claude-sonnet-4      1       5.25   5.4      USD   102.9 %  102.9 %  102.9 %        0  too low in 1 of 1
openai     gpt-4o-mini          1       0.21   0.00021  USD     0.1 %    0.1 %    0.1 %        0  above 10 times the cost in 1 of 1
openai     gpt-4o               3      10.5   10.5      USD   100.0 %  100.0 %  100.0 %        0  fits

Settled from 2026-02-01 00:00:00Z to 2026-04-01 00:00:00Z. P50, P95 and P99 are the cost as a share of the estimate: of so many per cent of the calls it was no more.
`);
  });

  it('ends with 0 where all fit, for a time ago and as JSON', async () => {
    // The clock of the tests is at 2 March, 9:00.
    const { exitCode, stdout } = await run('estimates', '--since', '30d', '--until', '20d', '--json');
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      from: new Date(Date.UTC(2026, 2, 2, 9) - 30 * DAY_MS).toISOString(),
      until: new Date(Date.UTC(2026, 2, 2, 9) - 20 * DAY_MS).toISOString(),
      models: [
        { model: 'gpt-4o-mini', verdict: 'wide', permille: { p50: '1', p95: '1', p99: '1' } },
        { model: 'gpt-4o', verdict: 'fits', count: '2' },
      ],
    });
    const none = await run('estimates', '--since', '1h');
    expect(none).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('No model call was settled by usage from'),
    });
  });

  it.each([
    [['--since', 'soon'], '"soon"'],
    [['--since', '2026-02-31'], 'error: "2026-02-31" is not a time'],
    [['--since', '2026-02-01', '--until', '2026-02-20T24:00Z'], 'error: "2026-02-20T24:00Z" is not a time'],
    [['--since', '1h', '--until', '2h'], 'error: --since must be before --until'],
  ])('%j ends with 1', async (words, message) => {
    const { exitCode, stderr } = await run('estimates', ...words);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
  });
});
