// Replies written by hand are the bytes that the generated code writes, for every answer that the kernel could give.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reservationReply } from '../../src/api/encode/reservation-message.ts';
import { FRAME_BYTES_MAX, type ReadyResult, resultFrame } from '../../src/api/session/result-frame.ts';
import { ReverseWriter } from '../../src/api/wire/reverse-writer.ts';
import { writeReply } from '../../src/api/wire/write-reply.ts';
import { ReserveResponseSchema, SessionResponseSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import type { ReservationAnswer } from '../../src/kernel/answer.ts';
import type { Mode, Priority } from '../../src/kernel/enforcement.ts';
import { MICROS_MAX } from '../../src/kernel/money.ts';
import type { Reason, Refusal } from '../../src/kernel/refusal.ts';
import type { Queued, ReservationState } from '../../src/kernel/reservation.ts';
import { optionalPrice, optionalPriced } from '../support/arbitrary-price.ts';

const micros = fc.oneof(
  fc.bigInt(0n, 300n),
  fc.bigInt(0n, MICROS_MAX),
  fc.constant(BigInt(Number.MAX_SAFE_INTEGER) + 1n),
);
const text = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: 'grapheme', maxLength: 100 }));
const instant = fc.integer({ min: 0, max: 8_000_000_000_000 });

const figures = fc.record({
  state: fc.constantFrom<ReservationState>('QUEUED', 'ACTIVE', 'SETTLED', 'RELEASED', 'EXPIRED'),
  requestedMicros: micros,
  grantedMicros: micros,
  heldMicros: micros,
  settledMicros: micros,
  releasedMicros: micros,
  overrunMicros: micros,
  estimatedMicros: micros,
  lapsedHeldMicros: micros,
  expireMs: fc.integer({ min: 100_000_000, max: 8_000_000_000_000 }),
  reclaimMs: instant,
  ttlMs: fc.integer({ min: 1_000, max: 86_400_000 }),
  renewalCount: fc.nat(),
  endMs: fc.option(instant, { nil: undefined }),
  late: fc.boolean(),
  estimated: fc.boolean(),
  started: fc.boolean(),
  outcome: fc.option(fc.constantFrom('succeeded' as const, 'failed' as const, 'cancelled' as const), {
    nil: undefined,
  }),
  releaseReason: text,
});

const reason = fc.constantFrom<Reason>('BUDGET_EXHAUSTED', 'RATE_LIMITED');
const queued: fc.Arbitrary<Queued> = fc.record({
  seq: fc.nat(),
  untilMs: instant,
  minMicros: micros,
  ttlMs: fc.constant(undefined),
  tokens: fc.nat(),
  toolCalls: fc.nat(),
  alternatives: fc.constant([]),
  call: fc.constant(undefined),
  key: fc.record({ digest: text, fingerprint: text }),
  actor: text,
  salt: fc.constant(undefined),
  commitment: fc.constant(undefined),
  reason,
  blockedBy: text,
  limit: text,
});
const refusal: fc.Arbitrary<Refusal> = fc.record(
  { kind: fc.constant('refusal' as const), reason, message: text, budget: text, limit: text },
  { requiredKeys: ['kind', 'reason', 'message'] },
);

const answer = fc
  .record({
    kind: fc.constant('reservation' as const),
    treeId: fc.constant('acme' as never),
    reservation: fc.record({
      id: fc.constant('1m8p4yg7g6r3kj4verz2zz' as never),
      budgetNo: fc.constant(1),
      budget: text as fc.Arbitrary<never>,
      also: fc.array(text as fc.Arbitrary<never>, { maxLength: 8 }),
      unit: text,
      accounts: fc.constant([]),
      createMs: instant,
      priority: fc.constantFrom<Priority>('background', 'normal', 'interactive', 'critical'),
      alternative: text,
      shadow: fc.option(
        fc.record({
          mode: fc.constantFrom<Mode>('observe', 'warn', 'soft', 'enforce'),
          reason,
          budget: text,
        }),
        { nil: undefined },
      ),
      price: optionalPrice,
      priced: optionalPriced,
      queued: fc.option(queued, { nil: undefined }),
      holder: text,
      actingFor: text,
      // Keys that are numbers come first in a JavaScript object, whatever their order in the list.
      labels: fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), text), {
        selector: ([key]) => key,
        maxLength: 5,
      }),
      figures,
    }),
    headroom: fc.record({ micros: fc.option(micros, { nil: undefined }), budget: text, limit: text }),
    replayed: fc.boolean(),
    dryRun: fc.boolean(),
    standing: fc.option(fc.record({ refusal, aheadCount: fc.integer({ min: 0, max: 2 ** 31 - 1 }) }), {
      nil: undefined,
    }),
  })
  .map(({ standing, ...given }): ReservationAnswer => (standing === undefined ? given : { ...given, standing }));

const PRICE = {
  pins: { rowHashes: [] },
  inputTokensMax: 1n,
  outputTokensMax: 1,
  outputIsDefault: false,
  choices: 1,
};

const unexpected = (cause: unknown): never => {
  throw cause;
};

const commandId = fc.bigInt(0n, 2n ** 64n - 1n);

describe('replies written by hand', () => {
  it('are what the generated code writes', () => {
    fc.assert(
      fc.property(answer, (given) => {
        const writer = new ReverseWriter(16);
        writeReply(writer, given);
        const message = { $typeName: 'budgetd.v1.ReserveResponse' as const, ...reservationReply(given) };
        expect(writer.take()).toEqual(Buffer.from(toBinary(ReserveResponseSchema, message)));
      }),
    );
  });

  it('stand in frames in the order of the results', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(commandId, answer), { maxLength: 6 }), (given) => {
        const ready = given.map(([id, content]): ReadyResult => ({ commandId: id, field: 3, content }));
        const results = given.map(([id, content]) => ({
          $typeName: 'budgetd.v1.SessionResult' as const,
          commandId: id,
          result: {
            case: 'reserve' as const,
            value: { $typeName: 'budgetd.v1.ReserveResponse' as const, ...reservationReply(content) },
          },
        }));
        const { frame, next } = resultFrame(ready, 0, unexpected);
        expect(next).toBe(ready.length);
        const message = { $typeName: 'budgetd.v1.SessionResponse' as const, results };
        expect(frame).toEqual(Buffer.from(toBinary(SessionResponseSchema, message)));
      }),
    );
  });

  it('stand in frames that clients take, also where each names many price rows', () => {
    const [content] = fc.sample(answer, { numRuns: 1, seed: 1 }) as [ReservationAnswer];
    const rowHashes = Array.from({ length: 256 }, (_, at) => `${at}`.padEnd(43, 'x'));
    const price = { ...PRICE, pins: { rowHashes } };
    const ready = Array.from({ length: 100 }, (_, at): ReadyResult => {
      return {
        commandId: BigInt(at),
        field: 3,
        content: { ...content, reservation: { ...content.reservation, price } },
      };
    });
    const { frame, next } = resultFrame(ready, 0, unexpected);
    expect(frame.length).toBeLessThanOrEqual(FRAME_BYTES_MAX);
    expect(next).toBeGreaterThan(0);
  });

  // One figure of an answer in the place of another: what the generated code refuses, this does too.
  const figure = fc.constantFrom('requestedMicros', 'heldMicros', 'settledMicros', 'overrunMicros');
  const anyMicros = fc.oneof(
    fc.constantFrom(MICROS_MAX, MICROS_MAX + 1n, 10n ** 19n, 2n ** 64n, -1n),
    fc.bigInt(-(2n ** 70n), 2n ** 70n),
  );

  it('refuse what int64 cannot hold', () => {
    fc.assert(
      fc.property(answer, figure, anyMicros, (given, name, value) => {
        const { reservation } = given;
        const broken = {
          ...given,
          reservation: { ...reservation, figures: { ...reservation.figures, [name]: value } },
        };
        const writer = new ReverseWriter(16);
        if (value >= 0n && value <= MICROS_MAX) writeReply(writer, broken);
        else expect(() => writeReply(writer, broken)).toThrow(RangeError);
      }),
    );
  });

  it('of which one cannot be written are followed and led by all others, and that one is told as a fault', () => {
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 6 }), fc.nat(), (given, pick) => {
        const at = pick % given.length;
        const ready = given.map((content, index): ReadyResult => {
          const price = { ...PRICE, inputTokensMax: index === at ? 2n ** 63n : 1n };
          const reservation = { ...content.reservation, price };
          return { commandId: BigInt(index + 1), field: 3, content: { ...content, reservation } };
        });
        const faults: unknown[] = [];
        const { frame } = resultFrame(ready, 0, (cause) => {
          faults.push(cause);
          return { code: 13, message: 'internal error', details: [] };
        });
        const { results } = fromBinary(SessionResponseSchema, frame);
        expect(results.map(({ commandId: id }) => id)).toEqual(ready.map(({ commandId: id }) => id));
        expect(results.map(({ result }) => result.case)).toEqual(
          ready.map((_, index) => (index === at ? 'error' : 'reserve')),
        );
        expect(faults).toEqual([expect.any(RangeError)]);
      }),
    );
  });

  it('of which one cannot be told of either leave nothing to the frame after', () => {
    const [first, second] = fc.sample(answer, { numRuns: 2, seed: 1 }) as [ReservationAnswer, ReservationAnswer];
    const price = { ...PRICE, inputTokensMax: 2n ** 63n };
    const broken = { ...first, reservation: { ...first.reservation, price } };
    const readyOf = (...contents: readonly ReservationAnswer[]) =>
      contents.map((content, at): ReadyResult => ({ commandId: BigInt(at + 1), field: 3, content }));
    const { frame } = resultFrame(readyOf(second), 0, unexpected);
    const failing = () =>
      resultFrame(readyOf(broken, second), 0, () => {
        throw new Error('a fault of the fault');
      });
    expect(failing).toThrow('a fault of the fault');
    expect(resultFrame(readyOf(second), 0, unexpected).frame).toEqual(frame);
  });
});
