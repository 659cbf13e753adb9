// Model calls and usage on the command line: what was typed on the wire, what came back as people read it, and what can't be meant.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CostSource } from '../../../src/gen/budgetd/v1/model_call_pb.ts';
import { PriceService } from '../../../src/gen/budgetd/v1/price_pb.ts';
import {
  ExtendRequestSchema,
  ReservationService,
  ReserveRequestSchema,
  SettleRequestSchema,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type FakeCoordinator, Refuse, startFakeCoordinator } from './fake-coordinator.ts';
import { availability, ID, reservation, runCli } from './run-cli.ts';

const { reserve, extend, settle } = ReservationService.method;
const HASH = '0123456789abcdef0123456789abcdef';
const PRICE = { pins: { rowHashes: [HASH] }, maxInputTokens: 12_256n, maxOutputTokens: 4_096n, choices: 1 };

let fake: FakeCoordinator;
let folder: string;

beforeEach(async () => {
  fake = await startFakeCoordinator();
  folder = await mkdtemp(join(tmpdir(), 'budgetd-usage-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
  fake.stop();
});

const run = (words: readonly string[]) => runCli(fake, words);

describe('a model call', () => {
  it('is reserved for with everything that was typed, and what it pays for is shown', async () => {
    const price = { ...PRICE, outputIsDefault: true };
    fake.answer(reserve, () => ({ reservation: reservation({ price }), availability }));
    const call = ['--model', 'openai/gpt-4o', '--model', 'openrouter/google/gemini', '--bytes', '12000'];
    const media = ['--media', 'image=900', '--media', 'audio=5', '--server-tool', 'web_search=3,4000', '--has-tools'];
    const words = ['--cache-ttl', '1h', '--service-tier', 'flex', '--inference-geo', 'us', '--choices', '2'];
    const more = ['--alternative', 'small=openai/gpt-4o-mini', '--alternative', 'tiny=0.01', '--key', 'k'];
    const { stdout, exitCode } = await run(['reserve', 'acme/triage', ...call, ...media, ...words, ...more]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('pays for     12256 tokens in, 4096 out\n');
    expect(stdout).toContain('to send      a maximum of 4096 output tokens\n');
    const shared = {
      requestBytes: '12000',
      media: [
        { kind: 'MEDIA_KIND_IMAGE', maxInputTokens: '900' },
        { kind: 'MEDIA_KIND_AUDIO', maxInputTokens: '5' },
      ],
      serverTools: [{ kind: 'SERVER_TOOL_KIND_WEB_SEARCH', maxUses: '3', maxInputTokens: '4000' }],
      hasTools: true,
      choices: 2,
      cacheTtl: '1h',
      serviceTier: 'flex',
      inferenceGeo: 'us',
    };
    expect(toJson(ReserveRequestSchema, fake.requestOf(reserve))).toEqual({
      budget: 'acme/triage',
      idempotencyKey: 'k',
      modelCall: {
        candidates: [
          { provider: 'openai', model: 'gpt-4o' },
          { provider: 'openrouter', model: 'google/gemini' },
        ],
        ...shared,
      },
      alternatives: [
        { label: 'small', modelCall: { candidates: [{ provider: 'openai', model: 'gpt-4o-mini' }], ...shared } },
        { label: 'tiny', maxMicros: '10000' },
      ],
    });
  });

  it('extends a hold', async () => {
    fake.answer(extend, () => ({ reservation: reservation({ price: { ...PRICE, choices: 3 } }), availability }));
    const call = ['--model', 'openai/gpt-4o', '--input-tokens', '900', '--max-output', '0', '--audio-output'];
    const { stdout } = await run(['extend', ID, ...call, '--key', 'k']);
    expect(stdout).toContain('pays for     12256 tokens in, 4096 out of each of 3 choices\n');
    expect(stdout).not.toContain('to send');
    expect(toJson(ExtendRequestSchema, fake.requestOf(extend))).toEqual({
      reservationId: ID,
      idempotencyKey: 'k',
      modelCall: {
        candidates: [{ provider: 'openai', model: 'gpt-4o' }],
        inputTokens: '900',
        maxOutputTokens: '0',
        audioOutput: true,
      },
    });
  });

  it.each([
    [['reserve', 'acme'], 'give an amount, or --model'],
    [['reserve', 'acme', '1', '--model', 'a/b', '--bytes', '1'], 'give either an amount or --model'],
    [['reserve', 'acme', '1', '--max-output', '5'], '--max-output goes with --model'],
    [['reserve', 'acme', '--model', 'a/b'], '--model goes with --bytes or --input-tokens'],
    [['reserve', 'acme', '--model', 'a/b', '--bytes', '1', '--input-tokens', '1'], 'goes with --bytes or --input-to'],
    [['reserve', 'acme', '--model', 'gpt-4o', '--bytes', '1'], '"gpt-4o" is not provider/model'],
    [['reserve', 'acme', '--model', 'a/b', '--bytes', '-1'], '"-1" is not a whole number from 0 to 9007199254740991'],
    [['reserve', 'acme', '--model', 'a/b', '--bytes', '1', '--media', 'image'], '"image" is not kind=tokens'],
    [['reserve', 'acme', '--model', 'a/b', '--bytes', '1', '--media', 'smell=1'], '"smell" is none of image, audio'],
    [
      ['reserve', 'acme', '--model', 'a/b', '--bytes', '1', '--server-tool', 'x=1,2'],
      '"x" is none of web_search, file_search, other',
    ],
    [['reserve', 'acme', '--model', 'a/b', '--bytes', '1', '--media', 'image=5=6'], '"image=5=6" is not kind=tokens'],
    ...['web_search=1,2,3', 'web_search=1=2', 'web_search,1,2', 'web_search=1'].map((tool): [string[], string] => [
      ['reserve', 'acme', '--model', 'a/b', '--bytes', '1', '--server-tool', tool],
      `"${tool}" is not kind=uses,tokens`,
    ]),
    [['reserve', 'acme', '1', '--alternative', 'a=b/c'], 'the alternative a names a model: it goes with --model'],
    [['settle', ID], 'give either the actual cost, --usage-file, --count or --unknown'],
    [['settle', ID, '1', '--usage-file', 'x', '--kind', 'gemini'], 'give either the actual cost'],
    [['settle', ID, '--unknown', '--kind', 'gemini'], '--kind goes with --usage-file'],
    [['settle', ID, '--usage-file', '/nowhere/at/all', '--kind', 'gemini'], "/nowhere/at/all can't be read"],
    [['settle', ID, '--usage-file', 'x'], '--usage-file goes with --kind'],
    [['settle', ID, '--usage-file', 'x', '--kind', 'gemini', '--count', 'output=1'], 'either --usage-file or --count'],
    [['settle', ID, '--count', 'output=1', '--kind', 'gemini'], '--kind goes with --usage-file'],
    [['settle', ID, '--unknown', '--served', 'a/b'], '--served goes with --usage-file or --count'],
    [['settle', ID, '--count', 'searches=1'], '"searches" is none of uncached_input, cache_read'],
    [['settle', ID, '--count', 'output=1=2'], '"output=1=2" is not name=n'],
    [['settle', ID, '--count', 'output=few'], '"few" is not a whole number from 0 to 9007199254740991'],
    [['settle', ID, '--count', 'output=1', '--count', 'output=2'], 'output is given twice'],
  ])('%j can not be meant', async (words, message) => {
    const { exitCode, stderr } = await run(words);
    expect([exitCode, fake.received.length]).toEqual([2, 0]);
    expect(stderr).toContain(message);
  });
});

describe('usage', () => {
  const json = '{"prompt_tokens": 900, "completion_tokens": 50}\n';

  it('is sent as the file has it, and the charge is shown', async () => {
    const served = { provider: 'openai', model: 'gpt-4o' };
    const priced = { served, rowHash: HASH, source: CostSource.ROW, micros: 2_750n };
    fake.answer(settle, () => ({ reservation: reservation({ price: PRICE, priced }), availability }));
    const file = join(folder, 'usage.json');
    writeFileSync(file, json);
    const words = [
      '--usage-file',
      file,
      '--kind',
      'ai_sdk_v6',
      '--served',
      'openai/gpt-4o',
      '--served-tier',
      'default',
    ];
    const { stdout } = await run(['settle', ID, ...words, '--library', 'openai.chat', '--key', 'k']);
    expect(stdout).toContain('charged      0.00275 USD for openai/gpt-4o, by row 0123456789ab\n');
    expect(toJson(SettleRequestSchema, fake.requestOf(settle))).toEqual({
      reservationId: ID,
      idempotencyKey: 'k',
      usage: { raw: { kind: 'ai_sdk_v6', json }, served, serviceTier: 'default', libraryProvider: 'openai.chat' },
    });
  });

  it('is sent in counts that were typed, searches among them', async () => {
    fake.answer(settle, () => ({ reservation: reservation({ price: PRICE }), availability }));
    const names = ['uncached_input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'audio_input'];
    const more = ['audio_cache_read', 'output', 'audio_output', 'web_searches', 'file_searches'];
    const words = [...names, ...more].flatMap((name, at) => ['--count', `${name}=${at + 1}`]);
    const beside = ['--served', 'openai/gpt-4o', '--served-tier', 'flex', '--key', 'k'];
    expect(await run(['settle', ID, ...words, ...beside])).toMatchObject({ exitCode: 0 });
    const counts = {
      uncachedInput: '1',
      cacheRead: '2',
      cacheWrite5m: '3',
      cacheWrite1h: '4',
      audioInput: '5',
      audioCacheRead: '6',
      output: '7',
      audioOutput: '8',
      webSearches: '9',
      fileSearches: '10',
    };
    expect(toJson(SettleRequestSchema, fake.requestOf(settle))).toEqual({
      reservationId: ID,
      idempotencyKey: 'k',
      usage: { counts, served: { provider: 'openai', model: 'gpt-4o' }, serviceTier: 'flex' },
    });
  });

  it('that is refused is told once, with what there is on the command line', async () => {
    const field = 'usage.counts.web_searches';
    const description = `${field} must be said; if it can't be reported otherwise, settle with usage_unknown`;
    fake.answer(settle, () => {
      const metadata = { why: 'usage_incomplete', field };
      throw new Refuse(status.INVALID_ARGUMENT, 'USAGE_INVALID', description, {
        metadata,
        fields: [{ field, description }],
      });
    });
    const { stderr } = await run(['settle', ID, '--count', 'output=1', '--key', 'k']);
    expect(stderr.split('\n').filter((line) => line.includes('field  '))).toEqual([
      "  field          --count web_searches: must be said; if it can't be reported otherwise, settle with --unknown",
    ]);
    expect(stderr).toContain('how many searches ran among them (--count web_searches=…)');
    expect(stderr).not.toContain('usage_unknown');
  });

  it('that carries its own cost says so', async () => {
    const priced = { served: { provider: 'openrouter', model: 'x/y' }, source: CostSource.REPORTED, micros: 1n };
    fake.answer(settle, () => ({ reservation: reservation({ priced }), availability }));
    expect((await run(['settle', ID, '1'])).stdout).toContain(
      '0.000001 USD for openrouter/x/y, as the provider says\n',
    );
  });
});

describe('a call without a price', () => {
  const { listPrices, listPriceAliases, listUnitPrices } = PriceService.method;
  const refused = (metadata: Record<string, string>, message = 'the message'): void =>
    fake.answer(reserve, () => {
      throw new Refuse(status.FAILED_PRECONDITION, 'PRICE_UNKNOWN', message, { metadata });
    });
  const told = async (...more: string[]) =>
    (await run(['reserve', 'acme', '--model', 'a/b', '--bytes', '5', ...more])).stderr;

  beforeEach(() => {
    fake.answer(listPrices, ({ model }) => ({
      rows: [{ provider: 'openai', model: 'gpt-4o' }, ...(model === '' ? [{ provider: 'openai', model: 'o3' }] : [])],
    }));
    fake.answer(listPriceAliases, () => ({ aliases: [{ provider: 'acmecorp', alias: 'chat', model: 'gpt-4o' }] }));
    fake.answer(listUnitPrices, () => ({ unitPrices: [{ unit: 'EUR' }, { unit: 'INR' }] }));
  });

  it('is told the name that was most likely meant, in each part of it, and that a name can stand for another', async () => {
    refused({ provider: 'opanai', model: 'gpt-4o', why: 'no_row', more: '0' });
    const stderr = await told();
    expect(stderr).toContain('what opanai/gpt-4o costs (did you mean openai/gpt-4o?): add its price');
    expect(stderr).toContain('(budgetctl prices alias)');
    expect(stderr).not.toContain('  more ');
    refused({ provider: 'acmecorp', model: 'chta', why: 'no_row', more: '1' });
    expect(await told()).toMatch(/ {2}more +1\n.*did you mean acmecorp\/chat\?/s);
    refused({ provider: 'anthropic', model: 'claude-sonnet-4-20250514', why: 'no_row' });
    expect(await told()).toMatch(/claude-sonnet-4-20250514 costs: add its price .*budgetctl prices alias/);
  });

  it('names the model whose row lacks something, where an alias was asked for', async () => {
    refused({ provider: 'acmecorp', model: 'chat', why: 'no_output_rate' });
    expect(await told()).toContain('The row of openai/gpt-4o has no rate for output');
  });

  it('names the unit with a row that differs by case alone', async () => {
    refused({ unit: 'inr' }, 'nobody has said what inr is worth');
    const stderr = await told();
    expect(stderr).toMatch(/^PRICE_UNKNOWN: nobody has said what inr is worth\n/);
    expect(stderr).toContain('INR has a row and differs from inr by case alone, so that inr can get none');
    expect(stderr).not.toContain('budgetctl prices unit');
    refused({ unit: 'credits' });
    expect(await told()).toContain('Say what credits is worth in USD (budgetctl prices unit)');
  });

  it('is told to programs without a look at the book', async () => {
    refused({ provider: 'opanai', model: 'gpt-4o', why: 'no_row' });
    const { error, repeatOptions } = JSON.parse(await told('--json'));
    expect(error.metadata).toEqual({ provider: 'opanai', model: 'gpt-4o', why: 'no_row' });
    expect(repeatOptions).toEqual([]);
    expect(fake.received.map(({ method }) => method)).toEqual(['Reserve']);
  });
});

it.each([
  ['RESOURCE_EXHAUSTED', 'BUDGET_EXHAUSTED', {}],
  ['RESOURCE_EXHAUSTED', 'CAPACITY_HELD', {}],
  ['FAILED_PRECONDITION', 'EXCEEDS_LIMIT', { largest: '5' }],
  ['FAILED_PRECONDITION', 'MAX_RESERVATION_EXCEEDED', {}],
] as const)('%s %s of a model call advises what a model call can do', async (code, reason, metadata) => {
  const refuse = (): never => {
    throw new Refuse(status[code], reason, 'the message', { metadata: { ...metadata } });
  };
  fake.answer(reserve, refuse);
  fake.answer(extend, refuse);
  const call = ['--model', 'openai/gpt-4o', '--bytes', '5'];
  expect((await run(['reserve', 'acme', ...call])).stderr).toContain('--max-output');
  expect((await run(['reserve', 'acme', ...call])).stderr).not.toContain('--min');
  expect((await run(['extend', ID, ...call])).stderr).not.toContain('--min');
  expect((await run(['reserve', 'acme', '1'])).stderr).toContain('--min');
});

it.each([
  ['reserve', 'PRICE_UNKNOWN', { provider: 'openai', model: 'gpt-9' }, 'Nobody has said what openai/gpt-9 costs'],
  ['reserve', 'PRICE_UNKNOWN', { unit: 'INR' }, 'Say what INR is worth in USD'],
  ['settle', 'PRICE_UNKNOWN', {}, 'settle the actual cost, or --unknown.'],
  ['settle', 'PRICE_UNKNOWN', { why: 'unknown_price', field: 'usage.served' }, 'is a model that was reserved for'],
  ['settle', 'PRICE_UNKNOWN', { why: 'book_unreadable' }, 'Nothing has a price now: use an amount.'],
  ['settle', 'USAGE_INVALID', {}, 'The report is refused and the hold stays'],
  ['reserve', 'MODEL_NOT_ALLOWED', { provider: 'a', model: 'b' }, 'update --models, --max-tier.'],
])('%s that is refused as %s %j is told what to do', async (command, reason, metadata, advice) => {
  const refuse = (): never => {
    throw new Refuse(status.FAILED_PRECONDITION, reason, 'the message', { metadata: { ...metadata } });
  };
  fake.answer(reserve, refuse);
  fake.answer(settle, refuse);
  const words = command === 'reserve' ? ['reserve', 'acme', '1'] : ['settle', ID, '1'];
  expect((await run([...words, '--key', 'k'])).stderr).toContain(advice);
});
