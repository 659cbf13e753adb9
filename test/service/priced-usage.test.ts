// Settlements by usage on the real service: reports of several kinds charged to the micro, and reports that are refused, which leave
// everything as it was.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CostSource } from '../../src/gen/budgetd/v1/model_call_pb.ts';
import { ReservationService, ReservationState } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import {
  BIG,
  CLAUDE,
  callOf,
  openai,
  PricedWorld,
  ROUTED,
  raw,
  refused,
  SMALL,
  type UsageInit,
} from '../support/priced-world.ts';

const { method } = ReservationService;

let world: PricedWorld;

beforeAll(async () => {
  world = await PricedWorld.start();
});

afterAll(async () => {
  expect(await world.stop()).toEqual([]);
});

beforeEach(() => world.plant());

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

describe('a Settle by usage', () => {
  it.each<[string, { provider: string; model: string }, UsageInit, bigint, object]>([
    ['OpenAI chat', BIG, openai(900, 50), 2_750n, { uncachedInput: 900n, output: 50n }],
    [
      'OpenAI chat, cached',
      BIG,
      raw('openai_chat', {
        prompt_tokens: 900,
        completion_tokens: 50,
        total_tokens: 950,
        prompt_tokens_details: { cached_tokens: 400 },
      }),
      2_250n,
      { uncachedInput: 500n, cacheRead: 400n },
    ],
    [
      'OpenAI responses, in its response',
      BIG,
      raw('openai_responses', { id: 'r', usage: { input_tokens: 10, output_tokens: 3, total_tokens: 13 } }),
      55n,
      { uncachedInput: 10n, output: 3n },
    ],
    [
      'Anthropic, a stream',
      CLAUDE,
      raw('anthropic_messages', {
        events: [
          {
            type: 'message_start',
            message: { usage: { input_tokens: 100, cache_creation_input_tokens: 40, output_tokens: 1 } },
          },
          { type: 'message_delta', usage: { output_tokens: 20 } },
        ],
      }),
      750n,
      { uncachedInput: 100n, cacheWrite5m: 40n, output: 20n },
    ],
    [
      'OpenRouter, by its own figure',
      ROUTED,
      raw('openrouter_chat', { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, cost: 0.0001234 }),
      124n,
      { uncachedInput: 9n, output: 1n },
    ],
    [
      'counts',
      BIG,
      { report: { case: 'counts', value: { uncachedInput: 1n, output: 1n } } },
      13n,
      { uncachedInput: 1n, output: 1n },
    ],
  ])('charges %s exactly', async (_name, candidate, usage, micros, counts) => {
    const { reservationId, price, grantedMicros } = await world.reserve(callOf({ candidates: [candidate] }));
    const settled = await world.settle(reservationId, { ...usage, served: candidate });
    expect(settled).toMatchObject({
      state: ReservationState.SETTLED,
      settledMicros: micros,
      releasedMicros: grantedMicros - micros,
      estimated: false,
      priced: { served: candidate, micros, rowHash: price?.pins?.rowHashes[0], counts },
    });
    expect(settled.priced?.source).toBe(candidate.provider === 'openrouter' ? CostSource.REPORTED : CostSource.ROW);
    expect(await world.get(reservationId)).toEqual(settled);
  });

  it('reads caches as the call asked for them', async () => {
    const call = callOf({ candidates: [CLAUDE], cacheTtl: '1h' });
    const { reservationId, grantedMicros } = await world.reserve(call);
    // Input at twice 3.
    expect(grantedMicros).toBe(7_500n);
    const usage = { input_tokens: 0, cache_creation_input_tokens: 1_000, cache_read_input_tokens: 0, output_tokens: 0 };
    expect(await world.settle(reservationId, raw('anthropic_messages', usage))).toMatchObject({
      settledMicros: 6_000n,
      priced: { counts: { cacheWrite1h: 1_000n, cacheWrite5m: 0n } },
    });
  });

  it('as another kind than it is keeps the hold, and the same key may say the kind that the refusal names', async () => {
    const report = { input_tokens: 100, cache_read_input_tokens: 40, output_tokens: 20 };
    const { reservationId } = await world.reserve(callOf({ candidates: [CLAUDE] }));
    const refusal = await refused(world.settle(reservationId, raw('openai_responses', report)));
    expect(refusal).toMatchObject({
      reason: 'USAGE_INVALID',
      metadata: { why: 'inconsistent_usage', field: 'usage.raw.json.cache_read_input_tokens' },
    });
    expect(refusal.message).toContain('this looks like an Anthropic message, kind anthropic_messages');
    expect(await world.settle(reservationId, raw('anthropic_messages', report))).toMatchObject({
      state: ReservationState.SETTLED,
      priced: { counts: { uncachedInput: 100n, cacheRead: 40n, output: 20n } },
    });
  });

  it.each<[string, string, UsageInit]>([
    ['usage_missing', 'usage.raw.json', raw('openai_chat', { usage: null })],
    ['inconsistent_usage', 'usage.raw.json.total_tokens', raw('openai_chat', { ...USAGE, total_tokens: 3 })],
    [
      'inconsistent_usage',
      'usage.raw.json.type',
      raw('openai_responses', { type: 'message', usage: { input_tokens: 9, output_tokens: 1 } }),
    ],
    ['usage_incomplete', 'usage.served', openai(1, 1)],
  ])('that is refused (%s) keeps the hold, and the same key may say that it is unknown', async (why, field, usage) => {
    const { reservationId } = await world.reserve(callOf({ candidates: [BIG, SMALL] }));
    const refusal = await refused(world.settle(reservationId, usage));
    expect(refusal).toMatchObject({
      status: 'INVALID_ARGUMENT',
      reason: 'USAGE_INVALID',
      metadata: { why, field },
    });
    expect(refusal.message).toContain('usage_unknown');
    expect(refusal.violations[0]).toMatch(new RegExp(`^${field.replaceAll('.', '\\.')}: `));
    expect(await world.get(reservationId)).toMatchObject({ state: ReservationState.ACTIVE, heldMicros: 3_500n });
    const request = { reservationId, idempotencyKey: 'settle', cost: { case: 'usageUnknown', value: {} } } as const;
    const { reservation } = await world.rpc.call(method.settle, request);
    expect(reservation).toMatchObject({ settledMicros: 3_500n, estimated: true });
    expect(reservation?.priced).toBeUndefined();
  });

  it('has no price for another model, or where an amount was reserved', async () => {
    const { reservationId } = await world.reserve(callOf());
    expect(await refused(world.settle(reservationId, { ...openai(1, 1), served: SMALL }))).toMatchObject({
      reason: 'PRICE_UNKNOWN',
      metadata: { why: 'unknown_price', reservation_id: reservationId },
    });
    const request = { budget: world.tree, idempotencyKey: 'amount', maxMicros: 5n };
    const byAmount = (await world.rpc.call(method.reserve, request)).reservation?.reservationId ?? '';
    expect((await refused(world.settle(byAmount, openai(1, 1)))).reason).toBe('PRICE_UNKNOWN');
    expect(await world.settle(reservationId, openai(1, 1))).toMatchObject({ settledMicros: 13n });
  });

  it('past the hold is recorded, as any cost is', async () => {
    await world.plant({}, { amountMicros: 3_500n });
    const { reservationId } = await world.reserve(callOf());
    expect(await world.settle(reservationId, openai(2_000, 0))).toMatchObject({
      settledMicros: 3_500n,
      overrunMicros: 1_500n,
    });
  });

  it('is answered again as it was, and refused to another request', async () => {
    const key = { idempotencyKey: 'r' };
    const granted = await world.reserve(callOf(), key);
    expect(await world.reserve(callOf(), key)).toEqual(granted);
    expect((await refused(world.reserve(callOf({ choices: 1 }), key))).reason).toBe('IDEMPOTENCY_KEY_REUSED');
    const settled = await world.settle(granted.reservationId, openai(900, 50));
    expect(await world.settle(granted.reservationId, openai(900, 50))).toEqual(settled);
    expect((await refused(world.settle(granted.reservationId, openai(900, 51)))).reason).toBe('IDEMPOTENCY_KEY_REUSED');
  });
});
