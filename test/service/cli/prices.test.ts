// `prices` and `quote` against the real PriceService: what is typed is in the book, and what comes back is what people read.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GPT, good, run, servers, usePriceServers } from './price-cli.ts';

let folder: string;

usePriceServers();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'budgetd-prices-'));
});
afterEach(() => rm(folder, { recursive: true }));

function rows() {
  const read = servers.coordinator.prices.read();
  if ('kind' in read) throw new TypeError('refused');
  return read.book.rows;
}

describe('prices retire', () => {
  it('takes a row by its hash, whatever that begins with', async () => {
    await good('prices', 'add', 'local/llama', '--free', '--source', 'base');
    // One hash in 64 begins with a dash, and one in 4096 with two.
    for (let no = 0; !rows().some(({ hash }) => hash.startsWith('-')); no += 1) {
      await good(...GPT.slice(0, 3), '--input', `${no + 1}`, '--source', `try ${no}`);
    }
    const hash = rows().find((row) => row.hash.startsWith('-'))?.hash ?? '';
    expect(await good('prices', 'retire', hash, '--from', '2027-01-01')).toContain('2027-01-01');
    expect(await good('prices', 'retire', '--from', '2027-01-01', hash.slice(0, 12))).toContain('2027-01-01');
  });
});

describe('prices retire of the last row', () => {
  it('warns that the model has no price from then on', async () => {
    await good(...GPT);
    await good(...GPT, '--above', '200000');
    await good('prices', 'add', 'local/llama', '--free', '--source', 'base');
    const hashOf = (model: string, above = 0) =>
      rows().find((row) => row.model === model && row.aboveInputTokens === above)?.hash ?? '';
    const stderrOf = async (...words: readonly string[]) => (await run('prices', 'retire', ...words)).stderr;
    const noPrice = (name: string) =>
      `warning: ${name} has no price from 2100-01-01 00:00:00Z on, until a row counts again: calls of it are refused (budgetctl prices add)\n`;
    expect(await stderrOf(hashOf('gpt-4o', 200_000), '--from', '2100-01-01')).toBe('');
    expect(await stderrOf(hashOf('gpt-4o'), '--from', '2100-01-01')).toBe(noPrice('openai/gpt-4o'));
    expect(await stderrOf('--json', hashOf('llama'), '--from', '2100-01-01')).toBe(noPrice('local/llama'));
    expect(await stderrOf(hashOf('llama'))).toContain('local/llama has no price from ');
  });
});

describe('prices add', () => {
  it('names what the row before it had and it has not, and that it has no rate for output', async () => {
    const fees = ['--cache-read', '1.25', '--web-search-fee', '0.01', '--file-search-fee', '0.0025'];
    const leavesOut = 'and this one has not: add it again with what still counts\n';
    const stderrOf = async (...words: readonly string[]) => (await run(...words)).stderr;
    expect(await stderrOf(...GPT, ...fees)).toBe('');
    expect(await stderrOf(...GPT, '--above', '200000')).toBe('');
    expect(await stderrOf(...GPT, '--web-search-fee', '0.02')).toBe(
      `warning: the row before it had --cache-read 1.25, --file-search-fee 0.0025, ${leavesOut}`,
    );
    expect(await stderrOf(...GPT, '--web-search-fee', '0.02')).toBe('');
    expect(await stderrOf('prices', 'add', 'openai/gpt-4o', '--input', '2', '--source', 's')).toBe(
      `warning: the row before it had --web-search-fee 0.02, ${leavesOut}warning: it has no --output: a call that may give output has no price\n`,
    );
    expect(await stderrOf('prices', 'add', 'openai/gpt-4o', '--free', '--source', 's')).toBe('');
  });

  it('says which rates of cache writes come on top of input, also of what was there already', async () => {
    const added = async (input: string, ...writes: readonly string[]) =>
      (await run(...GPT.slice(0, 3), '--input', input, '--output', '9', ...writes, '--source', 's')).stderr;
    const onTop = (name: string) => `warning: ${name} is below input, so it counts as what storing costs: `;
    for (const _ of ['the first time', 'again']) {
      const told = await added('2', '--cache-write-5m', '1.99', '--cache-write-1h', '0.375');
      expect(told).toContain(onTop('cache_write_5m'));
      expect(told).toContain(onTop('cache_write_1h'));
    }
    expect(await added('2', '--cache-write-5m', '2', '--cache-write-1h', '0')).toBe('');
    expect(await added('2', '--cache-write-5m', '2.5', '--cache-write-1h', '1.99')).toContain(onTop('cache_write_1h'));
  });

  it('adds what is typed, once, and shows it', async () => {
    const more = ['--cache-read', '1.25', '--cache-write-5m', '3', '--cache-write-1h', '5', '--audio-input', '40'];
    const audio = [
      '--audio-cache-read',
      '2.5',
      '--audio-output',
      '80',
      '--request-fee',
      '0.001',
      '--web-search-fee',
      '0.01',
    ];
    await good('prices', 'add', 'openai/gpt-4o', '--input', '3', '--source', 'by day');
    const shown = await good(...GPT, ...more, ...audio, '--file-search-fee', '0.0025', '--band', '16:30..00:30');
    expect(rows()).toMatchObject([
      { source: 'by day' },
      {
        provider: 'openai',
        model: 'gpt-4o',
        rates: {
          input: 2_500_000n,
          output: 10_000_000n,
          cacheRead: 1_250_000n,
          cacheWrite5m: 3_000_000n,
          cacheWrite1h: 5_000_000n,
          audioInput: 40_000_000n,
          audioCacheRead: 2_500_000n,
          audioOutput: 80_000_000n,
        },
        fees: { request: 1_000n, webSearch: 10_000n, fileSearch: 2_500n },
        band: { startMs: 59_400_000, endMs: 1_800_000 },
        source: 'contract 4711',
      },
    ]);
    for (const line of [
      'input           2.5 USD per million tokens',
      'web search      0.01 USD each',
      'band            16:30..00:30 UTC',
    ]) {
      expect(shown).toContain(`${line}\n`);
    }
    expect(await good(...GPT)).toBe(await good(...GPT));
    expect(rows()).toHaveLength(3);
  });

  it.each([
    [['--free'], 'free', undefined],
    [
      ['--seat', '--above', '200000', '--from', '2027-01-01', '--until', '2027-02-01T00:00:00Z'],
      'seat',
      1_798_761_600_000,
    ],
  ])('takes %s', async (words, mark, fromMs) => {
    if (fromMs !== undefined) await good('prices', 'add', 'local/llama/8b', '--free', '--source', 'base');
    expect(await good('prices', 'add', 'local/llama/8b', '--source', 'own machines', ...words)).toContain(
      `mark    ${mark}`,
    );
    const row = rows().at(-1);
    expect(row).toMatchObject({ provider: 'local', model: 'llama/8b', mark, rates: { input: 0n, output: 0n } });
    if (fromMs !== undefined) expect(row).toMatchObject({ effectiveFromMs: fromMs, aboveInputTokens: 200_000 });
  });

  it.each([
    [['prices', 'add', 'gpt-4o', '--input', '1', '--source', 's'], 'not provider/model: write the provider too'],
    [['prices', 'add', 'openai/gpt-4o', '--source', 's'], 'say what input costs'],
    [['prices', 'add', 'openai/gpt-4o', '--input', '1'], '--source'],
    [[...GPT, '--cache-read', '1 EUR'], 'prices are in USD'],
    [[...GPT, '--free', '--seat'], 'one of them'],
    [[...GPT, '--band', '7..9'], 'hh:mm..hh:mm'],
    [[...GPT, '--band', '08:75..10:00'], 'each from 00:00 to 23:59'],
    [[...GPT, '--band', '08:00..24:00'], 'each from 00:00 to 23:59'],
    [[...GPT, '--band', '08:00..10:00..12:00'], 'is not hh:mm..hh:mm'],
    [[...GPT, '--from', 'tomorrow'], 'is not a time'],
    [[...GPT, '--from', '2026-02-30'], '"2026-02-30" is not a time'],
    [[...GPT, '--until', '2026-04-31T09:00:00Z'], '"2026-04-31T09:00:00Z" is not a time'],
    [['prices', 'retire', 'x', '--from', '2027-02-29'], 'is not a time'],
    [['prices', 'unit', 'INR', '--source', 's', '--usd', '1', '--from', '2026-11-31'], 'is not a time'],
    [['prices', 'list', '--at', '2026-06-31'], 'is not a time'],
    [['quote', '--model', 'a/b', '--bytes', '1', '--at', '2026-09-31'], 'is not a time'],
    [['prices', 'unit', 'INR', '--source', 's'], 'say what it is worth'],
    [['prices', 'unit', 'INR', '--source', 's', '--usd', '1', '--per-usd', '1'], 'say what it is worth'],
    [['prices', 'list', '--all', '--at', '2026-01-01'], 'one of them'],
    [['quote'], 'give a call'],
    [['quote', '--model', 'openai/gpt-4o'], '--bytes or --input-tokens'],
  ])('refuses %j', async (words, text) => {
    const { exitCode, stderr } = await run(...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(text);
    expect(rows()).toEqual([]);
  });

  it.each([
    [['--above', '200000'], '--above: needs a row'],
    [['--band', '16:30..00:30'], '--band: needs a row'],
  ])('refuses %j alone, which would take the price of the model away', async (words, text) => {
    const { exitCode, stderr } = await run(...GPT, ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(text);
    expect(rows()).toEqual([]);
  });

  it.each([
    [[...GPT, '--cache-read', '20000'], '--cache-read: must be 0 or 0.0001 to 10000 USD per million tokens'],
    [[...GPT, '--audio-input', '0.00005 USD'], '--audio-input: must be 0 or 0.0001 to 10000 USD per'],
    [[...GPT, '--web-search-fee', '100.5'], '--web-search-fee: must be 0 to 100 USD'],
    [[...GPT, '--band', '07:00..07:00'], '--band: must be two different times of day, each 00:00 to 23:59'],
    [
      ['prices', 'unit', 'INR', '--per-usd', '0', '--source', 's'],
      '--per-usd: must be 0.000001 to 1000000000000 (1 to 1000000000000000000 micros)',
    ],
  ])('refuses %j in what was typed', async (words, text) => {
    const { exitCode, stderr } = await run(...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`  field          ${text}`);
    expect(rows()).toEqual([]);
  });

  it('leaves to programs what the service says', async () => {
    const { stderr } = await run(...GPT, '--request-fee', '101', '--json');
    expect(JSON.parse(stderr)).toMatchObject({
      error: { fields: [{ field: 'row.fees.request', description: 'must be 0 to 100000000 micros' }] },
    });
  });

  it('tells what the service finds wrong', async () => {
    const { exitCode, stderr } = await run('prices', 'add', 'OpenAI/gpt-4o', '--input', '0', '--source', 's');
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('  field          provider: ');
    expect(stderr).toContain('  field          --free, --seat: ');
  });
});

it('prices lists what counts, all that there was, and one row whole', async () => {
  expect(await good('prices')).toContain('No prices. Add one: budgetctl prices add');
  await good(...GPT, '--cache-read', '1.25');
  await good('prices', 'add', 'openai/gpt-4o', '--input', '3', '--source', 'new', '--from', '2020-01-01');
  await good(
    'prices',
    'add',
    'openai/gpt-4o',
    '--above',
    '128000',
    '--input',
    '5',
    '--output',
    '20',
    '--source',
    'long',
  );
  await good('prices', 'add', 'local/llama', '--free', '--source', 'own');
  const [listed, ...more] = (await good('prices')).split('\n\n');
  expect(more).toEqual(['USD per million tokens\n']);
  const lines = (listed ?? '').split('\n').slice(2);
  expect(lines.map((line) => line.replace(/ +/g, ' ').split(' 2026-')[0])).toEqual([
    'local/llama 0 0 free',
    'openai/gpt-4o 2.5 10 1.25',
    'openai/gpt-4o 128000 5 20',
  ]);
  expect((await good('prices', 'list', 'openai/gpt-4o', '--all')).split('\n')).toHaveLength(8);
  expect(await good('prices', 'list', 'openai', '--at', '2021-01-01')).toContain('input   3 USD per million tokens\n');
  expect(JSON.parse(await good('prices', 'local/llama', '--json'))).toMatchObject({
    rows: [{ mark: 'PRICE_MARK_FREE' }],
  });
  const { stderr } = await run('prices', '--max-rows', '1');
  expect(stderr).toContain('There are more than the 1 shown');
});

it('prices retire ends a row by the beginning of its hash', async () => {
  await good(...GPT);
  const [row] = rows();
  const shown = await good('prices', 'retire', row?.hash.slice(0, 12) ?? '', '--from', '2027-01-01');
  expect(shown).toContain('retired  2027-01-01 00:00:00Z by anonymous\n');
  expect(servers.coordinator.prices.status().retirementCount).toBe(1);
});

it('prices alias, unit and their lists', async () => {
  await good(...GPT);
  expect(await good('prices', 'aliases')).toContain('No other names.');
  expect(await good('prices', 'alias', 'azure/chat', 'openai/gpt-4o', '--form', 'dated')).toContain(
    'azure/chat-YYYY-MM-DD  openai/gpt-4o',
  );
  expect(await good('prices', 'aliases', 'azure')).toContain('azure/chat-YYYY-MM-DD');
  expect(await good('prices', 'alias', 'azure/chat', 'none', '--form', 'dated')).toContain(
    'azure/chat-YYYY-MM-DD  (withdrawn)',
  );
  expect(await good('prices', 'aliases', 'azure')).toMatch(/openai\/gpt-4o .*\n.*\(withdrawn\)/);
  expect(await good('prices', 'units')).toContain('only trees in USD have prices');
  expect(await good('prices', 'unit', 'INR', '--per-usd', '84.1234', '--source', 'bank')).toContain(
    '84.1234 INR = 1 USD',
  );
  expect(await good('prices', 'unit', 'credits', '--usd', '0.01', '--source', 'own')).toContain('1 credits = 0.01 USD');
  expect(await good('prices', 'units')).toMatch(/INR.*\n.*credits/);
});

it('prices catalogue and status say how the book stands', async () => {
  const unpriced = { provider: 'openai', model: 'gpt-9', why: 'no_row' };
  servers.coordinator.prices.noteRefusal({
    kind: 'refusal',
    reason: 'PRICE_UNKNOWN',
    message: '',
    budget: 'acme',
    unpriced,
  });
  await good(...GPT);
  const shown = await good('prices', 'catalogue');
  expect(shown).toContain('catalogue    none was imported\n');
  expect(shown).toContain('rows         1, 0 retired\n');
  expect(shown).toContain('openai/gpt-9 for acme (no_row), once, last 20');
  const { stdout } = await run('status');
  expect(stdout).toContain('1 rows, no catalogue');
  expect(stdout).toContain(
    'refused since the start, for want of a price then: openai/gpt-9 for acme (no_row), once, last 20',
  );
});

it('quote says what a call can cost and what usage did cost', async () => {
  await good(...GPT);
  const shown = await good('quote', '--model', 'openai/gpt-4o', '--input-tokens', '1000', '--max-output', '100');
  expect(shown).toContain('at most   0.0035 USD\n');
  expect(shown).toContain('pays for  1000 tokens in, 100 out\n');
  expect(shown).toContain(`rows      ${rows()[0]?.hash.slice(0, 12)}`);
  const file = join(folder, 'usage.json');
  writeFileSync(file, '{"prompt_tokens": 800, "completion_tokens": 50, "total_tokens": 850}');
  const usage = ['--usage-file', file, '--kind', 'openai_chat', '--served', 'openai/gpt-4o'];
  expect(await good('quote', ...usage)).toContain('charged  0.0025 USD for openai/gpt-4o, by row');
  const { exitCode, stderr } = await run('quote', '--model', 'openai/gpt-5', '--bytes', '1');
  expect(exitCode).toBe(5);
  expect(stderr).toContain('PRICE_UNKNOWN');
  expect(stderr).toContain('budgetctl prices add');
});

it.each([['prices'], ['prices', 'add'], ['quote']])('%s has examples in its help', async (...words) => {
  expect((await run(...words, '--help')).stdout).toContain(`$ budgetctl ${words.join(' ')}`);
});
