// Changes to the price book through a real client that take a price away: which are refused because of what comes later, and which
// only undo what was said.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PriceAliasForm, PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { BadRequestSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { hashedRow } from '../../src/lane/price-records.ts';
import type { PriceRow } from '../../src/pricing/price-row.ts';
import { ApiClient, type FailedCall, findDetail, startApiServers } from '../support/api-servers.ts';
import { FAKE_NOW_MS } from '../support/fake-coordinator.ts';
import { at, gptCall as call, done, gpt } from '../support/price-calls.ts';
import { priceRow } from '../support/price-rows.ts';

const { addPrice, addPriceAlias, listPriceAliases, quote, retirePrice } = PriceService.method;

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: ApiClient;

beforeEach(async () => {
  servers = await startApiServers();
  client = new ApiClient(servers.grpc.port);
});
afterEach(async () => {
  client.close();
  await servers.stop();
});

function problemOf(reply: object): string {
  if (!('types' in reply)) throw new Error('it was not refused');
  const { status } = reply as FailedCall;
  const [problem] = findDetail(status, BadRequestSchema)?.fieldViolations ?? [];
  return `${problem?.field} ${problem?.description}`;
}

async function add(more: object = {}): Promise<string> {
  const { row } = done(await client.call(addPrice, { row: { ...gpt, ...more } }));
  return row?.rowHash ?? '';
}

describe('what would take the price of a model away later', () => {
  const DAY_MS = 86_400_000;
  const onDay = (day: number) => at(FAKE_NOW_MS + day * DAY_MS);
  const large = { aboveInputTokens: 200_000n };
  const whyOn = async (day: number) => {
    const reply = await client.call(quote, { modelCall: call, atTime: onDay(day) });
    return 'types' in reply ? reply.metadata['why'] : undefined;
  };

  it('is no price of some days, until its successor is there', async () => {
    await add();
    await add(large);
    const sale = { rates: { input: 1_000_000n, output: 1_000_000n } };
    const days = { effectiveFromTime: onDay(1), effectiveUntilTime: onDay(2) };
    const instant = new Date(FAKE_NOW_MS + 2 * DAY_MS).toISOString();
    expect(problemOf(await client.call(addPrice, { row: { ...gpt, ...sale, ...days } }))).toBe(
      `row.effective_until_time leaves the model without a price of the operator's from ${instant} on, since what the row replaces stays replaced: add first what counts then`,
    );
    await add({ effectiveFromTime: onDay(2) });
    await add({ ...sale, ...days });
    for (const day of [0, 1, 2]) expect(await whyOn(day)).toBeUndefined();
  });

  it('is no size that outlasts the row for all sizes', async () => {
    await add({ effectiveUntilTime: onDay(3) });
    const instant = new Date(FAKE_NOW_MS + 3 * DAY_MS).toISOString();
    expect(problemOf(await client.call(addPrice, { row: { ...gpt, ...large } }))).toMatch(
      `row.above_input_tokens needs a row of the operator's for all sizes (0) that counts at ${instant} too`,
    );
    await add({ ...large, effectiveUntilTime: onDay(3) });
    expect(await whyOn(3)).toBe('no_row');
  });

  it('is no end of a row that one which begins later needs', async () => {
    const rowHash = await add({ effectiveFromTime: onDay(-5) });
    await add({ ...large, effectiveFromTime: onDay(3) });
    const instant = new Date(FAKE_NOW_MS + 3 * DAY_MS).toISOString();
    for (const day of [-2, 1]) {
      expect(problemOf(await client.call(retirePrice, { rowHash, fromTime: onDay(day) }))).toMatch(
        `row_hash is of the row that others of the model need, for all sizes or all times of day: without it the model would have no price from ${instant} on`,
      );
    }
    expect(await whyOn(3)).toBeUndefined();
  });
});

describe('a name that an operator withdraws', () => {
  const chat = { provider: 'azure', alias: 'chat' };
  const whyOfChat = async () => {
    const candidates = [{ provider: 'azure', model: 'chat' }];
    const reply = await client.call(quote, { modelCall: { ...call, candidates } });
    return 'types' in reply ? reply.metadata['why'] : undefined;
  };

  it('stands for nothing, is there for people to see, and may be added again', async () => {
    await add();
    const alias = { ...chat, model: 'gpt-4o', targetProvider: 'openai' };
    done(await client.call(addPriceAlias, { alias }));
    expect(await whyOfChat()).toBeUndefined();
    const withdraw = async () => done(await client.call(addPriceAlias, { alias: { ...chat, withdrawn: true } })).alias;
    const withdrawn = await withdraw();
    expect(withdrawn).toMatchObject({ ...chat, model: '', targetProvider: '', withdrawn: true, addedBy: 'anonymous' });
    expect(await withdraw()).toEqual(withdrawn);
    expect(await whyOfChat()).toBe('no_row');
    const { aliases } = done(await client.call(listPriceAliases, {}));
    expect(aliases.map((each) => each.withdrawn)).toEqual([false, true]);
    done(await client.call(addPriceAlias, { alias }));
    expect(await whyOfChat()).toBeUndefined();
    expect(done(await client.call(listPriceAliases, {})).aliases).toHaveLength(3);
  });

  it('has been added by one before, and is withdrawn in favour of no other', async () => {
    await add();
    const refused = async (alias: object) =>
      problemOf(await client.call(addPriceAlias, { alias: { ...chat, withdrawn: true, ...alias } }));
    const nothing = 'alias.alias is no name that an operator has added in this form: there is nothing to withdraw';
    expect(await refused({})).toBe(nothing);
    done(await client.call(addPriceAlias, { alias: { ...chat, model: 'gpt-4o', targetProvider: 'openai' } }));
    expect(await refused({ form: PriceAliasForm.DATED })).toBe(nothing);
    expect(await refused({ model: 'gpt-4o' })).toBe('alias.model must be unset in a withdrawal');
    expect(await refused({ targetProvider: 'openai' })).toBe('alias.target_provider must be unset in a withdrawal');
    expect(await whyOfChat()).toBeUndefined();
  });
});

describe('a model with rows that price nothing', () => {
  it.each<[string, Partial<PriceRow>[]]>([
    ['no_base_tier', [{ aboveInputTokens: 200_000 }]],
    ['no_row_outside_bands', [{ band: { startMs: 0, endMs: 5 } }]],
    ['bands_overlap', [{}, { band: { startMs: 0, endMs: 5 } }, { band: { startMs: 4, endMs: 6 } }]],
  ])('is quoted %s for a call as for usage alone', async (why, changes) => {
    // The service would not add them: a book of before may hold them.
    const rows = changes.map((each) =>
      hashedRow(priceRow({ origin: 'operator', effectiveFromMs: FAKE_NOW_MS, ...each })),
    );
    await servers.coordinator.prices.change(() => ({ added: { rows }, answer: undefined }));
    const json = JSON.stringify({ prompt_tokens: 800, completion_tokens: 50, total_tokens: 850 });
    const usage = { report: { case: 'raw' as const, value: { kind: 'openai_chat', json } }, served: gpt };
    for (const request of [{ modelCall: call }, { usage }, { usage, modelCall: call }]) {
      expect(await client.call(quote, request)).toMatchObject({
        reason: 'PRICE_UNKNOWN',
        message: `no price for openai/gpt-4o (${why})`,
        metadata: { provider: 'openai', model: 'gpt-4o', why },
      });
    }
  });
});
