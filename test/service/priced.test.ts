// Model calls on the real service, over every protocol: what is held before a call, what has no price, what is not allowed, and what
// becomes of all that while prices change and the service is killed.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { EventKind, EventService } from '../../src/gen/budgetd/v1/event_pb.ts';
import { PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { type Reservation, ReservationService, ReservationState } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { OnExhaustion, ServiceTierClass } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { ApiClient } from '../support/api-servers.ts';
import { BIG, callOf, openai, PricedWorld, refused, SMALL } from '../support/priced-world.ts';

const { method } = ReservationService;

let world: PricedWorld;

beforeAll(async () => {
  world = await PricedWorld.start();
});

afterAll(async () => {
  expect(await world.stop()).toEqual([]);
});

beforeEach(() => world.plant());

describe('a Reserve by a model call', () => {
  it('holds the most that it can cost, and says what that pays for', async () => {
    const reservation = await world.reserve(callOf());
    expect(reservation).toMatchObject({ requestedMicros: 3_500n, grantedMicros: 3_500n, heldMicros: 3_500n });
    expect(reservation.price).toMatchObject({
      maxInputTokens: 1_000n,
      maxOutputTokens: 100n,
      outputIsDefault: false,
      choices: 1,
      pins: { rowHashes: [expect.stringMatching(/^[\w-]{43}$/)] },
    });
    expect(await world.get(reservation.reservationId)).toEqual(reservation);
    const { reservations } = await world.rpc.call(method.listReservations, { budget: world.tree });
    expect(reservations).toEqual([reservation]);
  });

  it('without a maximum of output is held for the default, which the answer tells to send', async () => {
    const { maxOutputTokens: _, ...call } = callOf({ candidates: [SMALL], choices: 2 });
    // 1,000 at 0.15 and 2 x 4,096 at 0.60.
    const { grantedMicros, price } = await world.reserve(call, { validateOnly: true, idempotencyKey: '' });
    expect(grantedMicros).toBe(5_066n);
    expect(price).toMatchObject({ maxOutputTokens: 4_096n, outputIsDefault: true, choices: 2 });
  });

  it('by bytes has room for what providers add, and is paid for at the dearest candidate', async () => {
    const candidates = [SMALL, BIG];
    const call = callOf({ candidates, size: { case: 'requestBytes', value: 744n }, hasTools: true });
    // 744 + 256 + 1,024 tokens at 2.50, and 100 at 10.
    expect((await world.reserve(call)).grantedMicros).toBe(6_060n);
  });

  it('is refused where one candidate has no price, named, with how many more', async () => {
    const unknown = (model: string) => ({ provider: 'openai', model });
    const call = callOf({ candidates: [BIG, unknown('big-2'), unknown('big-3')] });
    const idempotencyKey = 'again';
    const refusal = await refused(world.reserve(call, { idempotencyKey }));
    expect(refusal).toMatchObject({
      status: 'FAILED_PRECONDITION',
      reason: 'PRICE_UNKNOWN',
      retryAfterMs: undefined,
      metadata: { budget: world.tree, provider: 'openai', model: 'big-2', more: '1', why: 'no_row' },
    });
    const { budget } = await world.rpc.call(BudgetService.method.getBudget, { budget: world.tree });
    expect(budget?.balances[0]).toMatchObject({ heldMicros: 0n });
    // Once both have a price the same request is granted.
    for (const model of ['big-2', 'big-3']) await world.addPrice(unknown(model), { input: 100n, output: 100n });
    expect((await world.reserve(call, { idempotencyKey })).grantedMicros).toBe(3_500n);
  });

  it('obeys what budgets say of models and tiers', async () => {
    const models = { allowedModels: { models: ['openai/small'] }, maxTier: ServiceTierClass.STANDARD };
    await world.plant({ models });
    expect((await world.reserve(callOf({ candidates: [SMALL] }))).grantedMicros).toBe(210n);
    expect(await refused(world.reserve(callOf({ candidates: [SMALL, BIG] })))).toMatchObject({
      status: 'FAILED_PRECONDITION',
      reason: 'MODEL_NOT_ALLOWED',
      metadata: { budget: world.tree, provider: 'openai', model: 'big', why: 'allowed_models' },
    });
    const dear = callOf({ candidates: [SMALL], serviceTier: 'priority' });
    expect((await refused(world.reserve(dear))).metadata).toMatchObject({ model: 'small', why: 'max_tier' });
    const flex = callOf({ candidates: [SMALL], serviceTier: 'flex' });
    expect((await world.reserve(flex)).grantedMicros).toBe(210n);
  });

  it('falls back to a cheaper model where the budget degrades', async () => {
    await world.plant({ enforcement: { onExhaustion: OnExhaustion.DEGRADE } }, { amountMicros: 400n });
    const unpriced = callOf({ candidates: [{ provider: 'openai', model: 'nobody-knows' }] });
    const alternatives = [
      { label: 'unpriced', modelCall: unpriced },
      { label: 'small', modelCall: callOf({ candidates: [SMALL] }) },
    ];
    const granted = await world.reserve(callOf(), { alternatives });
    expect(granted).toMatchObject({ alternative: 'small', requestedMicros: 210n, grantedMicros: 210n });
    expect(await world.settle(granted.reservationId, openai(1_000, 100))).toMatchObject({ settledMicros: 210n });
  });

  it('is extended by another call, and usage of either is priced', async () => {
    const key = { idempotencyKey: 'reserve' };
    const { reservationId, price } = await world.reserve(callOf(), key);
    const request = { reservationId, idempotencyKey: 'extend', modelCall: callOf({ candidates: [SMALL] }) };
    const { reservation } = await world.rpc.call(method.extend, request);
    expect(reservation).toMatchObject({ requestedMicros: 3_710n, grantedMicros: 3_710n });
    expect(reservation?.price?.pins?.rowHashes).toHaveLength(2);
    // A repeat is told what its own grant paid for.
    expect((await world.reserve(callOf(), key)).price).toEqual(price);
    const first = await world.settle(
      reservationId,
      { ...openai(1_000, 0), served: BIG },
      { keepOpen: true, idempotencyKey: '1' },
    );
    expect(first).toMatchObject({ state: ReservationState.ACTIVE, settledMicros: 2_500n, priced: { micros: 2_500n } });
    const second = await world.settle(reservationId, { ...openai(1_000, 100), served: SMALL });
    expect(second).toMatchObject({ settledMicros: 2_710n, priced: { micros: 210n, served: SMALL } });
    expect(price?.pins?.rowHashes).toHaveLength(1);
  });
});

describe('prices that change', () => {
  it('in flight change nothing for what was reserved, in this life or the next', async () => {
    const model = { provider: 'openai', model: `changing-${world.next()}` };
    const first = await world.addPrice(model, { input: 2_000_000n, output: 2_000_000n });
    const call = callOf({ candidates: [model] });
    const [before, across] = [await world.reserve(call), await world.reserve(call)];
    await world.service.moveClock(world.service.nowMs + 1_000);
    const second = await world.addPrice(model, { input: 9_000_000n, output: 9_000_000n });
    const after = await world.reserve(call);
    expect([before.grantedMicros, after.grantedMicros]).toEqual([2_200n, 9_900n]);
    const charge = async ({ reservationId }: Reservation) => (await world.settle(reservationId, openai(100, 0))).priced;
    expect(await charge(before)).toMatchObject({ micros: 200n, rowHash: first });
    await world.restart();
    expect(await world.get(across.reservationId)).toEqual(across);
    expect(await charge(across)).toMatchObject({ micros: 200n, rowHash: first });
    expect(await charge(after)).toMatchObject({ micros: 900n, rowHash: second });
  });

  it('a tree in rupees has prices once somebody says what they are worth, and keeps that too', async () => {
    await world.plant({}, { unit: 'INR', amountMicros: 10_000_000n });
    expect(await refused(world.reserve(callOf()))).toMatchObject({
      reason: 'PRICE_UNKNOWN',
      metadata: { unit: 'INR' },
    });
    const unitPrice = { unit: 'INR', unitMicros: 84_123_400n, usdMicros: 1_000_000n, source: 'a test' };
    await world.rpc.call(PriceService.method.addUnitPrice, { unitPrice });
    const { reservationId, grantedMicros, price } = await world.reserve(callOf());
    // 3,500 x 84.1234, up.
    expect(grantedMicros).toBe(294_432n);
    expect(price?.pins?.unitRowHash).toMatch(/^[\w-]{43}$/);
    await world.service.moveClock(world.service.nowMs + 1_000);
    await world.rpc.call(PriceService.method.addUnitPrice, { unitPrice: { ...unitPrice, unitMicros: 90_000_000n } });
    // 2,750 x 84.1234, up.
    expect(await world.settle(reservationId, openai(900, 50))).toMatchObject({ settledMicros: 231_340n });
  });
});

describe('beside unary gRPC', () => {
  it('Connect takes a call and a usage report as JSON', async () => {
    const post = async (name: string, body: object) => {
      const url = `http://127.0.0.1:${world.service.connectPort}/budgetd.v1.ReservationService/${name}`;
      const headers = { 'content-type': 'application/json' };
      return (await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as never;
    };
    const modelCall = { candidates: [BIG], requestBytes: '744', maxOutputTokens: 100 };
    const { reservation } = (await post('Reserve', { budget: world.tree, idempotencyKey: 'c', modelCall })) as {
      reservation: { reservationId: string; grantedMicros: string; price: object };
    };
    expect(reservation).toMatchObject({ grantedMicros: '3500', price: { maxInputTokens: '1000', choices: 1 } });
    const usage = {
      raw: { kind: 'openai_chat', json: '{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}' },
      served: BIG,
    };
    const { reservationId } = reservation;
    expect(await post('Settle', { reservationId, idempotencyKey: 's', usage })).toMatchObject({
      reservation: { settledMicros: '13', priced: { source: 'COST_SOURCE_ROW', micros: '13' } },
    });
  });

  it('a Session answers as the unary calls do', async () => {
    const api = new ApiClient(world.service.grpcPort);
    const session = api.session();
    const commands = [
      {
        commandId: 1n,
        command: { case: 'reserve', value: { budget: world.tree, idempotencyKey: 's', modelCall: callOf() } },
      },
      {
        commandId: 2n,
        command: {
          case: 'reserve',
          value: {
            budget: world.tree,
            idempotencyKey: 'x',
            modelCall: callOf({ candidates: [{ provider: 'a', model: 'b' }] }),
          },
        },
      },
    ];
    session.send(...(commands as never[]));
    const results = await session.until(2);
    const granted = results.find(({ commandId }) => commandId === 1n)?.result;
    expect(granted?.case === 'reserve' && granted.value.reservation).toMatchObject({ grantedMicros: 3_500n });
    expect(granted?.case === 'reserve' && granted.value.reservation?.price).toMatchObject({ maxInputTokens: 1_000n });
    expect(results.find(({ commandId }) => commandId === 2n)?.result.case).toBe('error');
    api.close();
  });

  it('events tell the price with the grant and the charge with the settlement', async () => {
    const { reservationId, price } = await world.reserve(callOf());
    const { priced } = await world.settle(reservationId, openai(900, 50));
    const told: unknown[] = [];
    const watched = { budget: world.tree, start: { case: 'fromBeginning', value: true } } as const;
    for await (const { events } of world.rpc.stream(EventService.method.watchEvents, watched)) {
      for (const { kind, subject } of events) {
        if (subject.case === 'reservation') told.push([kind, subject.value.price, subject.value.priced]);
      }
      if (told.length >= 2) break;
    }
    expect(told).toEqual([
      [EventKind.RESERVATION_GRANTED, price, undefined],
      [EventKind.RESERVATION_SETTLED, undefined, priced],
    ]);
  });
});
