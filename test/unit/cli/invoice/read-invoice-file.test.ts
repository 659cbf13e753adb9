// What is wrong in an invoice's file is told with the line where it begins, all at once, as far as the file can be read at all.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readInvoice, readInvoiceFile } from '../../../../src/app/cli/invoice/read-invoice-file.ts';

const read = (text: string, month?: string) =>
  readInvoice(Readable.from([Buffer.from(text)]), { provider: 'openai', month });

const problemsOf = async (text: string) => {
  const { problems } = await read(text);
  return problems.map((problem) => `${problem.line}: ${problem.text}`);
};

test('every bad line is told, by where it begins', async () => {
  const text = [
    ...['date,model,cost', '2026-11-01,good,1', '2026-11-31,x,1', ''],
    ...['2026-11-01,"two\nlines",?', '2026-11-01,a"b,3', '1,2', '2026-11-01,good,1', '2026-11-01,,1'],
  ].join('\r\n');
  expect(await problemsOf(text)).toEqual([
    '3: date "2026-11-31" must be a date such as 2026-11-30, or an instant',
    '5: model "two\nlines" must name a model',
    '5: cost "?" must be a plain decimal in USD such as 12.34',
    '7: has a quote inside a field that is not quoted',
    '8: has 2 fields, where the first line has 3',
    '10: model "" must name a model',
  ]);
});

test.each([
  ['2026-11-01,"x"y,1\n2026-11-01,?,?', '3: has text behind the closing quote of a field; the rest was not read'],
  ['2026-11-01,"x,1\n2026-11-01,?,?', '3: has a quote that is never closed; the rest was not read'],
  [
    `2026-11-01,"x${'\n2026-11-01,y,1'.repeat(10_000)}`,
    '3: is longer than 65536 bytes: is a quote not closed?; the rest was not read',
  ],
  [
    `2026-11-01,${'x'.repeat(70_000)},1\n2026-11-01,?,?`,
    '3: is longer than 65536 bytes: is a quote not closed?; the rest was not read',
  ],
])('a file that can not be made out is read up to there', async (rest, problem) => {
  expect(await problemsOf(`date,model,cost\n2026-11-01,x,?\n${rest}\n`)).toEqual([
    '2: cost "?" must be a plain decimal in USD such as 12.34',
    problem,
  ]);
});

test.each([
  ['', '1: names no columns: it is empty'],
  ['\n\n', '1: names no columns: it is empty'],
  ['\ufeff\ndate,cost\n1,2', '2: there is no column model (or model_permaslug, line_item)'],
  ['date;model;cost\n1;2;3', '1: there is no column date (or usage_date_utc, start_time_iso, created_at)'],
])('%j says that its columns are not there', async (text, first) => {
  expect((await problemsOf(text))[0]).toBe(first);
});

test.each([[1], [7], [64], [10_000]])(
  'bytes that are no UTF-8 are told with their line, in parts of %i',
  async (size) => {
    const bytes = Buffer.concat([
      ...[Buffer.from('date,model,cost,note\n2026-11-01,café €😀,1,\n2026-11-01,caf'), Buffer.from([0xe9])],
      ...[Buffer.from(',1,\r\n2026-11-01,good,1,\r2026-11-01,good,?,'), Buffer.from([0xc3])],
      ...[Buffer.from('\n2026-11-01,good,1,"two\n'), Buffer.from([0xff]), Buffer.from('"\n2026-11-01,good,1,')],
      Buffer.from([0xe2, 0x82]),
    ]);
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, no) =>
      bytes.subarray(no * size, (no + 1) * size),
    );
    const { problems, problemCount } = await readInvoice(Readable.from(parts), {
      provider: 'openai',
      month: undefined,
    });
    expect(problems.map(({ line, text }) => `${line}: ${text}`).sort()).toEqual([
      '3: is not UTF-8',
      '5: cost "?" must be a plain decimal in USD such as 12.34',
      '5: is not UTF-8',
      '7: is not UTF-8',
      '8: is not UTF-8',
    ]);
    expect(problemCount).toBe(5);
  },
);

test('a file of another kind is told of a hundred times at the most, and counted', async () => {
  const { problems, problemCount } = await read(`date,model,cost${'\n1,2,3'.repeat(1_000)}`);
  expect([problems.length, problemCount, problems[99]?.line]).toEqual([100, 1_000, 101]);
});

test('lines of one model too many are no models', async () => {
  const lines = Array.from({ length: 10_002 }, (_, i) => `\n2026-11-01,m${i},1`);
  expect(await problemsOf(`date,model,cost${lines.join('')}`)).toEqual([
    '10002: is of one model more than 10000: does this column name models?',
  ]);
});

test('of a month only its lines count, and the others must be right all the same', async () => {
  const text = 'date,model,cost\n2026-10-31,x,1\n2026-11-01,x,2\n2026-12-01,x,4';
  expect(await read(text, '2026-11')).toMatchObject({
    sums: [{ month: '2026-11', micros: 2_000_000n }],
    lineCount: 1,
    otherMonthCount: 2,
    problemCount: 0,
  });
  expect((await read(`${text}\n2026-12-01,x,?`, '2026-11')).problemCount).toBe(1);
});

test('a file that is not there is an error of its own', async () => {
  await expect(readInvoiceFile('/no/such/file.csv', { provider: undefined, month: undefined })).rejects.toMatchObject({
    code: 'ENOENT',
  });
});
