// Wrong command lines, help, and budgetctl as a process of its own.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { ACME_DRAWN, acme, ID, type Result, runCli } from './run-cli.ts';

let fake: FakeCoordinator;

beforeEach(async () => {
  fake = await startFakeCoordinator();
});

afterEach(() => fake.stop());

const run = (words: readonly string[], change: Partial<CliContext> = {}): Promise<Result> =>
  runCli(fake, words, change);

describe('usage', () => {
  it.each([
    [['nonsense'], "error: unknown command 'nonsense'"],
    [['get'], "error: missing required argument 'budget-or-reservation'"],
    [['reserve', 'acme', '0.0000001'], 'error: "0.0000001" has more than 6 decimals'],
    [['reserve', 'acme', '1', '--min', '1,5'], "error: option '--min <amount>' argument '1,5' is invalid."],
    [['reserve', 'acme', '1', '--ttl', '60'], "error: option '--ttl <time>' argument '60' is invalid."],
    [['reserve', 'acme', '1', '--label', 'nokey'], `error: option '--label <key=value>' argument 'nokey' is invalid.`],
    [['settle', ID], 'error: give either the actual cost, --usage-file, --count or --unknown'],
    [['settle', ID, '1', '--unknown'], 'error: give either the actual cost, --usage-file, --count or --unknown'],
    [['settle', ID, '1', '--retain', '1'], 'error: --retain goes with --keep-open'],
    [['tree', '--depth', '0'], "error: option '--depth <n>' argument '0' is invalid."],
    [['reservations', 'acme', '--state', 'odd'], "error: option '--state <state>' argument 'odd' is invalid."],
  ])('%j is refused before anything is sent', async (words, message) => {
    const { exitCode, stdout, stderr } = await run(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(fake.received).toEqual([]);
  });

  it.each([
    [['watch', '--kind', 'grantd'], 'granted'],
    [['settle', ID, '--usage-file', 'x.json', '--kind', 'openai_cht'], 'openai_chat'],
    [['settle', ID, '--count', 'outpt=3'], 'output'],
    [['settle', ID, '1', '--outcome', 'suceeded'], 'succeeded'],
    [['reserve', 'acme', '1', '--priority', 'critcal'], 'critical'],
    [['reserve', 'acme', '--model', 'x/y', '--bytes', '1', '--media', 'imge=3'], 'image'],
    [['reserve', 'acme', '--model', 'x/y', '--bytes', '1', '--server-tool', 'websearch=1,1'], 'web_search'],
    [['create', 'acme', '--mode', 'enforc'], 'enforce'],
    [['create', 'acme', '--on-exhaustion', 'degarde'], 'degrade'],
    [['create', 'acme', '--on-expiry', 'chrage'], 'charge'],
    [['create', 'acme', '--overrun', 'rejct'], 'reject'],
    [['create', 'acme', '--max-tier', 'Standard'], 'standard'],
    [['create', 'acme', '--keep', 'critcal=3'], 'critical'],
    [['create', 'acme', '--rate', '60 request/1m'], 'requests'],
    [['create', 'acme', '--limit', '3/dya'], 'day'],
    [['create', 'acme', '--limit', '3/Day@Europe/Amsterdam'], 'day'],
    [['reservations', 'acme', '--state', 'actve'], 'active'],
    [['top', '--by', 'bugdet'], 'budget'],
    [['prices', 'alias', 'a/b', 'c/d', '--form', 'date'], 'dated'],
  ])('%j: tells the words that there are once, and the one that was most likely meant', async (words, meant) => {
    const { exitCode, stderr } = await run(words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`(did you mean ${meant}?)`);
    // In the list, in the suggestion, and of rates in the example.
    expect(stderr.match(new RegExp(`\\b${meant}\\b`, 'g'))?.length).toBeLessThanOrEqual(3);
    expect(fake.received).toEqual([]);
  });

  it.each([
    [['prices', 'unit', 'EUR', '--per-usd', '0,92', '--source', 's'], '"0,92" is not a rate: write how much'],
    [['prices', 'unit', 'EUR', '--per-usd', '0.92 INR', '--source', 's'], 'how much EUR is one USD, not how much INR'],
    [['prices', 'unit', 'EUR', '--usd', '1,08', '--source', 's'], '"1,08" is not a price in USD'],
    [['prices', 'add', 'a/b', '--input', '2,5', '--source', 's'], '"2,5" is not a price in USD: write 0.25'],
    [['prices', 'add', 'a/b', '--input', '1', '--request-fee', '0,1', '--source', 's'], '"0,1" is not a price in USD'],
    [['prices', 'add', 'a/b', '--above', '1e5', '--input', '1', '--source', 's'], 'whole number from 1 to 999999999'],
    [
      ['create', 'acme', '--share', '0,5'],
      '"0,5" is not a percentage: write a whole number from 1 to 100, such as 25%',
    ],
    [['create', 'acme', '--alert-at', '50,x'], '"x" is not a percentage: write a whole number from 1 to 1000'],
    [['create', 'acme', '--alert-at', '0'], '"0" is not a percentage'],
    [['create', 'acme', '--limit', '0,92'], '"0,92" is not an amount'],
    [['reserve', 'acme', '1', '--tokens', '9999999999999'], 'is not a whole number from 0 to 1000000000000'],
    [['tree', '--depth', '0'], '"0" is not a whole number from 1 to 999999999'],
    [['reserve', 'acme', '1', '--ttl', '60'], '"60" is not a length of time'],
  ])('%j: the hint is about what the option takes', async (words, hint) => {
    const { exitCode, stderr } = await run(words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(hint);
    expect(fake.received).toEqual([]);
  });

  it('suggests no word where that very word was typed', async () => {
    const { stderr } = await run(['create', 'acme', '--limit', '3/rolling']);
    expect(stderr).toContain('"rolling" is not a window');
    expect(stderr).not.toContain('did you mean');
  });

  it.each([
    ['get', '-acme', 'getBudget'],
    ['get', '-acme:06fk2xw8q4h1v0t7m3r9ca', 'getReservation'],
    ['tree', '-Vacme/x', 'listBudgets'],
    ['suspend', '--A', 'suspendBudget'],
    ['renew', '-acme:06fk2xw8q4h1v0t7m3r9ca', 'renew'],
  ])('%s takes the name %s', async (command, name, method) => {
    await run([command, name]);
    expect(fake.received).toMatchObject([{ method: expect.stringMatching(new RegExp(`^${method}$`, 'i')) }]);
    expect(JSON.stringify(fake.received, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value))).toContain(
      name,
    );
  });

  it('help explains the exit codes, and every command has an example', async () => {
    const { exitCode, stdout } = await run(['--help']);
    expect(exitCode).toBe(0);
    for (const code of ['0  done', '3  no room now', '6  unavailable']) expect(stdout).toContain(`\n  ${code}`);
    const listed = [...stdout.matchAll(/^ {2}([a-z-]+)(?:\|[a-z]+)? .*/gm)].map((match) => match[1] ?? '');
    const commands = listed.filter((name) => name !== 'help' && !name.startsWith('-'));
    expect(commands).toEqual([
      ...['create', 'get', 'top-up', 'update', 'set-limit', 'suspend', 'resume', 'close'],
      ...['reserve', 'extend', 'renew', 'settle', 'release'],
      ...['tree', 'top', 'reservations', 'queue', 'watch', 'prices', 'quote', 'advise'],
      ...['plan', 'apply', 'export', 'lint', 'status', 'verify', 'project', 'quarantine', 'invoice'],
    ]);
    for (const command of commands) {
      const help = await run([command, '--help']);
      expect(help.exitCode).toBe(0);
      expect(help.stdout).toMatch(new RegExp(`\\nExamples?:\\n  \\$ budgetctl (${command}|doctor)`));
    }
  });

  it('runs as a program, with plain text in a pipe and its exit code', async () => {
    fake.answer(BudgetService.method.getBudget, ({ budget }) => {
      if (budget !== 'acme') throw new Refuse(status.NOT_FOUND, 'BUDGET_NOT_FOUND', 'there is no such budget');
      return { budget: acme };
    });
    const main = fileURLToPath(new URL('../../../src/app/cli/main.ts', import.meta.url));
    const start = (path: string): Promise<Result> =>
      new Promise((resolve) => {
        const words = [main, 'get', path, '--server', fake.address];
        execFile(process.execPath, words, (error, stdout, stderr) =>
          resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
        );
      });
    expect(await start('acme')).toEqual({ exitCode: 0, stdout: ACME_DRAWN, stderr: '' });
    const missing = await start('other');
    expect(missing).toMatchObject({ exitCode: 5, stdout: '' });
    expect(missing.stderr).toMatch(/^BUDGET_NOT_FOUND: there is no such budget\n/);
  });
});
