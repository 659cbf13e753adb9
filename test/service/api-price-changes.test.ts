// Changes to the price book through a real client that would take a price away, at once or later: which are refused, and why.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { BadRequestSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { ApiClient, type FailedCall, findDetail, startApiServers } from '../support/api-servers.ts';
import { FAKE_NOW_MS } from '../support/fake-coordinator.ts';

const { addPrice, quote, retirePrice } = PriceService.method;

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

const at = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 });
const gpt = {
  provider: 'openai',
  model: 'gpt-4o',
  rates: { input: 2_500_000n, output: 10_000_000n },
  source: 'contract',
};
const call = { candidates: [gpt], size: { case: 'inputTokens' as const, value: 1_000n }, maxOutputTokens: 100n };

function done<T extends object>(reply: T | FailedCall): T {
  if ('types' in reply) throw new Error(`${reply.code} ${reply.reason}: ${reply.message}`);
  return reply;
}

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
      `row.effective_until_time leaves the model without a price from ${instant} on, since what the row replaces stays replaced: add first what counts then`,
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
