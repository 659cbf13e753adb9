// PriceService through a real client: what is added is checked field by field and once only, who may add, who wins, pages, and quotes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Token } from '../../src/api/auth/authenticator.ts';
import { CostSource } from '../../src/gen/budgetd/v1/model_call_pb.ts';
import { PriceMark, PriceOrigin, type PriceRow, PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { FAKE_NOW_MS, path } from '../support/fake-coordinator.ts';
import { at, gptCall as call, done, fieldsOf, gpt } from '../support/price-calls.ts';

const {
  addPrice,
  addPriceAlias,
  addUnitPrice,
  getCatalogue,
  listPriceAliases,
  listPrices,
  listUnitPrices,
  quote,
  retirePrice,
} = PriceService.method;

const tokens: readonly Token[] = [
  { name: 'root', role: 'admin', secret: { plaintext: 'admin-secret' } },
  { name: 'narrow', role: 'admin', subtree: path('acme'), secret: { plaintext: 'narrow-secret' } },
  { name: 'bot', role: 'agent', secret: { plaintext: 'agent-secret' } },
  { name: 'finance', role: 'auditor', secret: { plaintext: 'auditor-secret' } },
];

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: ApiClient;
const clients: ApiClient[] = [];

function connect(token: string): ApiClient {
  const opened = new ApiClient(servers.grpc.port, token);
  clients.push(opened);
  return opened;
}

beforeEach(async () => {
  servers = await startApiServers({ tokens });
  client = connect('admin-secret');
});
afterEach(async () => {
  for (const opened of clients.splice(0)) opened.close();
  await servers.stop();
});

async function add(more: object = {}): Promise<PriceRow> {
  const { row } = done(await client.call(addPrice, { row: { ...gpt, ...more } }));
  if (row === undefined) throw new Error('no row');
  return row;
}

describe('AddPrice', () => {
  it('adds a row from now on, signed by the token, and the same again is the same row', async () => {
    const row = await add();
    expect(row).toMatchObject({
      provider: 'openai',
      model: 'gpt-4o',
      rates: gpt.rates,
      mark: PriceMark.PRICED,
      origin: PriceOrigin.OPERATOR,
      addedBy: 'root',
      effectiveFromTime: at(FAKE_NOW_MS),
    });
    expect(row.rowHash).toMatch(/^[\w-]{43}$/);
    expect(await add()).toEqual(row);
    expect(await add({ effectiveFromTime: row.effectiveFromTime })).toEqual(row);
    expect((await add({ source: 'another contract' })).rowHash).not.toBe(row.rowHash);
    expect(done(await client.call(listPrices, {})).rows).toHaveLength(2);
  });

  it('the later of two for one time counts, and a price that comes back is added again', async () => {
    const rates = (input: bigint) => ({ rates: { input, output: 1_000n } });
    const inForce = async () =>
      done(await client.call(listPrices, { atTime: at(FAKE_NOW_MS) })).rows.map((row) => row.rates?.input);
    await add(rates(1_000n));
    await add(rates(2_000n));
    expect(await inForce()).toEqual([2_000n]);
    const time = { effectiveFromTime: at(FAKE_NOW_MS - 5_000) };
    await add({ ...rates(3_000n), ...time });
    expect(await inForce()).toEqual([2_000n]);
  });

  it.each([
    [{}, ['row']],
    [{ row: {} }, ['row.rates.input', 'row.provider', 'row.model', 'row.mark', 'row.source']],
    [{ row: { ...gpt, provider: 'OpenAI' } }, ['row.provider']],
    [{ row: { ...gpt, model: 'gpt 4o' } }, ['row.model']],
    [{ row: { ...gpt, rates: { input: 0n } } }, ['row.mark']],
    [{ row: { ...gpt, mark: PriceMark.FREE } }, ['row.mark']],
    [{ row: { ...gpt, mark: 9 as PriceMark } }, ['row.mark']],
    [{ row: { ...gpt, rates: { input: 5n, cacheWrite5m: -1n } } }, ['row.rates.input', 'row.rates.cache_write_5m']],
    [{ row: { ...gpt, fees: { webSearch: 100_000_001n } } }, ['row.fees.web_search']],
    [{ row: { ...gpt, band: { start: { seconds: 5n } } } }, ['row.band.end']],
    [{ row: { ...gpt, band: { start: { seconds: 86_400n }, end: { seconds: 5n } } } }, ['row.band.start']],
    [{ row: { ...gpt, aboveInputTokens: -1n } }, ['row.above_input_tokens']],
    [{ row: { ...gpt, effectiveUntilTime: at(FAKE_NOW_MS) } }, ['row.effective_until_time']],
    [{ row: { ...gpt, effectiveFromTime: { seconds: -1n } } }, ['row.effective_from_time']],
    [{ row: { ...gpt, source: 'x'.repeat(501) } }, ['row.source']],
    [{ row: { ...gpt, source: 'bell \u0007' } }, ['row.source']],
    [
      { row: { ...gpt, rowHash: 'x', origin: PriceOrigin.OPERATOR, addedBy: 'me' } },
      ['row.row_hash', 'row.origin', 'row.added_by'],
    ],
  ])('names each invalid field, case %#', async (request, fields) => {
    const reply = await client.call(addPrice, request as never);
    expect(reply).toMatchObject({ code: 3, reason: 'INVALID_FIELD' });
    expect(fieldsOf(reply)).toEqual(fields);
    // Fields come before permission.
    expect(await connect('auditor-secret').call(addPrice, request as never)).toMatchObject({ code: 3 });
    expect(done(await client.call(listPrices, {})).rows).toEqual([]);
  });

  it.each(['agent-secret', 'auditor-secret', 'narrow-secret'])('is not for %s, and reading is', async (token) => {
    const other = connect(token);
    const row = await add();
    const requests = [
      other.call(addPrice, { row: gpt }),
      other.call(addPriceAlias, { alias: { provider: 'openai', alias: 'a', model: 'gpt-4o' } }),
      other.call(addUnitPrice, { unitPrice: { unit: 'INR', unitMicros: 85n, usdMicros: 1n, source: 's' } }),
      other.call(retirePrice, { rowHash: row.rowHash }),
    ];
    for (const reply of await Promise.all(requests)) expect(reply).toMatchObject({ code: 7, reason: 'FORBIDDEN' });
    expect(done(await other.call(listPrices, {})).rows).toEqual([row]);
    expect(done(await other.call(quote, { modelCall: call })).maxMicros).toBe(3_500n);
  });
});

describe('names, units and ends', () => {
  it('a name stands for its model, the newest first, and comes back when it is said again', async () => {
    await add();
    await add({ model: 'gpt-5', rates: { input: 1_000_000n, output: 1_000_000n } });
    const name = async (model: string) =>
      done(
        await client.call(addPriceAlias, {
          alias: { provider: 'azure', alias: 'chat', model, targetProvider: 'openai' },
        }),
      ).alias;
    const first = await name('gpt-4o');
    expect(first).toMatchObject({ alias: 'chat', targetProvider: 'openai', addedBy: 'root' });
    expect(await name('gpt-4o')).toEqual(first);
    const priceOf = async () => {
      const candidates = [{ provider: 'azure', model: 'chat' }];
      return done(await client.call(quote, { modelCall: { ...call, candidates } })).maxMicros;
    };
    expect(await priceOf()).toBe(3_500n);
    await name('gpt-5');
    expect(await priceOf()).toBe(1_100n);
    await name('gpt-4o');
    expect(await priceOf()).toBe(3_500n);
    expect(done(await client.call(listPriceAliases, { provider: 'azure' })).aliases).toHaveLength(3);
    expect(done(await client.call(listPriceAliases, { provider: 'openai' })).aliases).toEqual([]);
    // A filter by a name finds the rows of its model.
    const { rows } = done(await client.call(listPrices, { provider: 'azure', model: 'chat' }));
    expect(rows.map(({ provider, model }) => `${provider}/${model}`)).toEqual(['openai/gpt-4o']);
  });

  it.each([
    [{}, ['alias']],
    [{ alias: { provider: '', alias: '', model: '' } }, ['alias.provider', 'alias.alias', 'alias.model']],
    [{ alias: { provider: 'openai', alias: 'b', model: 'ghost' } }, ['alias.model']],
    [{ alias: { provider: 'openai', alias: 'b', model: 'a' } }, ['alias.model']],
    [{ alias: { provider: 'openai', alias: 'gpt-4o', model: 'gpt-4o' } }, ['alias.alias']],
    [{ alias: { provider: 'openai', alias: 'b', model: 'gpt-4o', form: 9 } }, ['alias.form']],
  ])('a name that can stand for nothing is refused, case %#', async (request, fields) => {
    await add();
    done(await client.call(addPriceAlias, { alias: { provider: 'openai', alias: 'a', model: 'gpt-4o' } }));
    const reply = await client.call(addPriceAlias, request as never);
    expect(fieldsOf(reply)).toEqual(fields);
  });

  it('a unit has prices once somebody says what it is worth', async () => {
    await add();
    const inRupees = () => client.call(quote, { modelCall: call, unit: 'INR' });
    expect(await inRupees()).toMatchObject({ code: 9, reason: 'PRICE_UNKNOWN', metadata: { unit: 'INR' } });
    const unitPrice = { unit: 'INR', unitMicros: 84_123_400n, usdMicros: 1_000_000n, source: 'bank' };
    const first = done(await client.call(addUnitPrice, { unitPrice })).unitPrice;
    expect(first).toMatchObject({ ...unitPrice, addedBy: 'root' });
    expect(done(await client.call(addUnitPrice, { unitPrice })).unitPrice).toEqual(first);
    expect(done(await inRupees())).toMatchObject({
      maxMicros: 294_432n,
      unit: 'INR',
      price: { pins: { unitRowHash: first?.rowHash } },
    });
    expect(done(await client.call(listUnitPrices, {})).unitPrices).toEqual([first]);
    for (const wrong of [
      ...['USD', 'usd', 'inr', 'R$'].map((unit) => ({ unit })),
      { unitMicros: 0n },
      { usdMicros: 10n ** 18n + 1n },
      { source: '' },
    ]) {
      const [field] = Object.keys(wrong).map((name) => name.replace('Micros', '_micros'));
      const reply = await client.call(addUnitPrice, { unitPrice: { ...unitPrice, ...wrong } });
      expect(fieldsOf(reply)).toEqual([`unit_price.${field}`]);
    }
  });

  it('a row ends when it is retired, the earliest end counts, and what it replaced stays replaced', async () => {
    const old = await add({ effectiveFromTime: at(FAKE_NOW_MS - 1_000) });
    const row = await add({ rates: { input: 1_000n, output: 1_000n } });
    const ended = done(
      await client.call(retirePrice, { rowHash: row.rowHash, fromTime: at(FAKE_NOW_MS + 60_000) }),
    ).row;
    expect(ended).toMatchObject({ retireTime: at(FAKE_NOW_MS + 60_000), retiredBy: 'root' });
    expect(done(await client.call(quote, { modelCall: call })).price?.pins?.rowHashes).toEqual([row.rowHash]);
    expect(
      done(await client.call(retirePrice, { rowHash: row.rowHash, fromTime: at(FAKE_NOW_MS + 90_000) })).row,
    ).toEqual(ended);
    const now = done(await client.call(retirePrice, { rowHash: row.rowHash })).row;
    expect(now).toMatchObject({ retireTime: at(FAKE_NOW_MS) });
    expect(await client.call(quote, { modelCall: call })).toMatchObject({
      code: 9,
      reason: 'PRICE_UNKNOWN',
      metadata: { provider: 'openai', model: 'gpt-4o', why: 'no_row' },
    });
    const { rows } = done(await client.call(listPrices, {}));
    expect(rows.map(({ rowHash, retiredBy }) => [rowHash, retiredBy])).toEqual([
      [old.rowHash, ''],
      [row.rowHash, 'root'],
    ]);
    // Said again from now on it is a row of its own once the one before is over.
    const again = await add({ rates: { input: 1_000n, output: 1_000n } });
    expect(again.rowHash).not.toBe(row.rowHash);
    expect(again.retireTime).toBeUndefined();
    expect(fieldsOf(await client.call(retirePrice, {}))).toEqual(['row_hash']);
    expect(fieldsOf(await client.call(retirePrice, { rowHash: 'ghost' }))).toEqual(['row_hash']);
  });
});

describe('lists', () => {
  it('come in order, page by page, and a token is good for its own list alone', async () => {
    for (const model of ['c', 'a', 'b']) await add({ model });
    await add({ provider: 'anthropic', model: 'z' });
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = done(await client.call(listPrices, { pageSize: 3, pageToken }));
      seen.push(...page.rows.map(({ provider, model }) => `${provider}/${model}`));
      pageToken = page.nextPageToken;
      if (pageToken !== '')
        expect(fieldsOf(await client.call(listPrices, { provider: 'openai', pageToken }))).toEqual(['page_token']);
    } while (pageToken !== '');
    expect(seen).toEqual(['anthropic/z', 'openai/a', 'openai/b', 'openai/c']);
    const { rows } = done(await client.call(listPrices, { provider: 'openai', model: 'a' }));
    expect(rows).toHaveLength(1);
    expect(done(await client.call(listPrices, { atTime: at(FAKE_NOW_MS - 1) })).rows).toEqual([]);
    expect(fieldsOf(await client.call(listPrices, { model: 'a' }))).toEqual(['provider']);
    expect(fieldsOf(await client.call(listPrices, { pageSize: 1_001 }))).toEqual(['page_size']);
  });

  it('GetCatalogue and GetServerInfo say how the book stands', async () => {
    await add();
    const { status, leftOut } = done(await client.call(getCatalogue, {}));
    expect(status).toMatchObject({ catalogue: '', stale: false, rowCount: 1n, unknownPriceCount: 0n });
    expect(leftOut).toEqual([]);
    for (const budget of ['acme', 'other']) {
      const unpriced = { provider: 'openai', model: 'gpt-9', why: 'no_output_rate' };
      servers.coordinator.prices.noteRefusal({
        kind: 'refusal',
        reason: 'PRICE_UNKNOWN',
        message: '',
        budget,
        unpriced,
      });
    }
    const infoOf = async (token: string) =>
      done(await connect(token).call(ServerInfoService.method.getServerInfo, {})).prices;
    expect(await infoOf('admin-secret')).toMatchObject({
      unknownPriceCount: 2n,
      unknownPrices: [
        { budget: 'other', count: 1n, lastTime: at(FAKE_NOW_MS) },
        { budget: 'acme', model: { model: 'gpt-9' }, why: 'no_output_rate' },
      ],
    });
    expect((await infoOf('narrow-secret'))?.unknownPrices.map(({ budget }) => budget)).toEqual(['acme']);
  });

  it('are refused where this process does not lead', async () => {
    const row = await add();
    servers.coordinator.prices.lose();
    const replies = await Promise.all([
      client.call(listPrices, {}),
      client.call(listPriceAliases, {}),
      client.call(listUnitPrices, {}),
      client.call(getCatalogue, {}),
      client.call(quote, { modelCall: call }),
      client.call(addPrice, { row: gpt }),
      client.call(retirePrice, { rowHash: row.rowHash }),
    ]);
    for (const reply of replies) {
      expect(reply).toMatchObject({ code: 14, reason: 'NOT_LEADER', metadata: { leader_address: 'there:1' } });
    }
    expect(done(await client.call(ServerInfoService.method.getServerInfo, {})).prices).toMatchObject({ rowCount: 0n });
  });
});

describe('Quote', () => {
  const raw = (json: object) => ({
    report: { case: 'raw' as const, value: { kind: 'openai_chat', json: JSON.stringify(json) } },
  });
  const usage = raw({ prompt_tokens: 800, completion_tokens: 50, total_tokens: 850 });

  it('says what a call can cost at the most, and by which rows', async () => {
    const row = await add();
    const { maxMicros, price, priced, unit } = done(await client.call(quote, { modelCall: call }));
    expect([maxMicros, unit, priced]).toEqual([3_500n, 'USD', undefined]);
    expect(price).toMatchObject({
      maxInputTokens: 1_000n,
      maxOutputTokens: 100n,
      outputIsDefault: false,
      choices: 1,
      pins: { rowHashes: [row.rowHash] },
    });
    const { maxOutputTokens: _, ...open } = call;
    expect(done(await client.call(quote, { modelCall: open })).price).toMatchObject({
      maxOutputTokens: 4_096n,
      outputIsDefault: true,
    });
  });

  it('says what usage costs, alone and within a call', async () => {
    const row = await add();
    const priced = {
      micros: 2_500n,
      rowHash: row.rowHash,
      source: CostSource.ROW,
      served: { provider: 'openai', model: 'gpt-4o' },
    };
    expect(done(await client.call(quote, { usage: { ...usage, served: gpt } }))).toMatchObject({ priced, unit: 'USD' });
    expect(done(await client.call(quote, { usage, modelCall: call }))).toMatchObject({ priced, maxMicros: 3_500n });
  });

  it('prices by the book of an instant', async () => {
    await add({ effectiveFromTime: at(FAKE_NOW_MS - 10_000) });
    await add({ rates: { input: 1_000_000n, output: 1_000_000n } });
    const then = { atTime: at(FAKE_NOW_MS - 1) };
    expect(done(await client.call(quote, { modelCall: call, ...then })).maxMicros).toBe(3_500n);
    expect(done(await client.call(quote, { modelCall: call })).maxMicros).toBe(1_100n);
    expect(done(await client.call(quote, { usage: { ...usage, served: gpt }, ...then })).priced?.micros).toBe(2_500n);
  });

  it.each([
    [{}, ['model_call']],
    [{ usage }, ['usage.served']],
    [{ modelCall: { candidates: [gpt] } }, ['model_call.size']],
    [{ modelCall: call, unit: 'R$', atTime: { seconds: -1n } }, ['unit', 'at_time']],
  ])('names each invalid field, case %#', async (request, fields) => {
    expect(fieldsOf(await client.call(quote, request as never))).toEqual(fields);
  });

  it('refuses what has no price, and reports that contradict themselves', async () => {
    expect(await client.call(quote, { usage: { ...usage, served: gpt } })).toMatchObject({ reason: 'PRICE_UNKNOWN' });
    await add();
    const wrong = raw({ prompt_tokens: 800, completion_tokens: 50, total_tokens: 1 });
    expect(await client.call(quote, { usage: { ...wrong, served: gpt } })).toMatchObject({
      code: 3,
      reason: 'USAGE_INVALID',
    });
  });
});

it('JSON over HTTP serves the same', async () => {
  await add();
  const headers = { 'content-type': 'application/json', authorization: 'Bearer auditor-secret' };
  const body = JSON.stringify({
    modelCall: { candidates: [{ provider: 'openai', model: 'gpt-4o' }], inputTokens: '1000', maxOutputTokens: '100' },
  });
  const reply = await fetch(`http://127.0.0.1:${servers.connect.port}/budgetd.v1.PriceService/Quote`, {
    method: 'POST',
    headers,
    body,
  });
  expect(await reply.json()).toMatchObject({ maxMicros: '3500', unit: 'USD' });
});
