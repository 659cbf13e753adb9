// Messages with far too much in them are told from their bytes, and no honest one is taken for one.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isCrowdedJson, isCrowdedMessage } from '../../../src/api/crowded-message.ts';
import { ApplyBudgetsRequestSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { BatchRenewRequestSchema, SessionRequestSchema } from '../../../src/gen/budgetd/v1/reservation_pb.ts';

const COUNT = 65_536;
/** A field of each wire type that a reader passes over, as number 500, with a length that is not its smallest. */
const repeat = (bytes: readonly number[], count: number) =>
  Buffer.concat(Array.from({ length: count }, () => Buffer.from(bytes)));
/** A command that holds a Reserve that holds so many empty labels. */
function nested(count: number): Buffer {
  const around = (tag: number, inner: Buffer) => {
    const length = Buffer.alloc(5);
    for (let at = 0, rest = inner.length; at < 5; at += 1, rest = Math.floor(rest / 128)) {
      length.writeUInt8((rest % 128) | (at < 4 ? 0x80 : 0), at);
    }
    return Buffer.concat([Buffer.of(tag), length, inner]);
  };
  const labels = repeat([(LABELS << 3) | 2, 0], count);
  return around(0x0a, around(0x12, labels));
}
/** A change that makes a budget with so many templates in each other, the innermost with so many empty limits. */
function templates(depth: number, count: number): Buffer {
  const limits = repeat([(3 << 3) | 2, 0], count);
  let bytes: Buffer = limits;
  const wrap = (no: number) => {
    const head: number[] = [];
    for (let tag = (no << 3) | 2; ; tag >>>= 7) {
      head.push(tag > 127 ? (tag & 127) | 128 : tag);
      if (tag < 128) break;
    }
    for (let rest = bytes.length; ; rest >>>= 7) {
      head.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest < 128) break;
    }
    bytes = Buffer.concat([Buffer.from(head), bytes]);
  };
  for (let at = 1; at < depth; at += 1) wrap(8);
  // child_template of a budget, of a create, of a change, of the request.
  for (const no of [22, 1, 1, 3]) wrap(no);
  return bytes;
}
const reserve = SessionRequestSchema.field.commands.message?.fields.find(
  ({ localName }) => localName === 'reserve',
)?.message;
const LABELS = reserve?.fields.find(({ localName }) => localName === 'labels')?.number ?? 0;

describe('a crowded message', () => {
  it.each([
    ['of empty commands', repeat([0x0a, 0], COUNT + 1), true],
    ['of as many as there may be', repeat([0x0a, 0], COUNT), false],
    ['of fields that nobody knows', repeat([0x78, 1], COUNT + 1), true],
    ['of entries deep within one command', nested(COUNT), true],
    ['of fewer deep within one command', nested(COUNT - 10), false],
    ['of known fields, one more often than it should be', repeat([0x0a, 2, 0x08, 1], COUNT / 2), false],
    ['of one long text', Buffer.concat([Buffer.from([0x7a, 0x80, 0x80, 0x20]), Buffer.alloc(512 * 1024)]), false],
    [
      'of a length that is not there',
      Buffer.concat([Buffer.from([0x0a, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(200_000)]),
      true,
    ],
    ['of bytes that are none', Buffer.alloc(200_000, 0xff), false],
  ])('is told from its bytes: %s', (_, bytes, crowded) => {
    expect(isCrowdedMessage(SessionRequestSchema, bytes)).toBe(crowded);
  });

  it('is not a full frame, nor a full BatchRenew', () => {
    const commands = Array.from({ length: 4_096 }, (_, n) => ({
      commandId: BigInt(n),
      command: {
        case: 'reserve' as const,
        value: {
          budget: 'acme/team/run',
          idempotencyKey: `key-${n}`,
          maxMicros: 5n,
          minMicros: 1n,
          labels: { a: 'b' },
        },
      },
    }));
    const frame = toBinary(SessionRequestSchema, create(SessionRequestSchema, { commands }));
    expect(frame.length).toBeGreaterThan(131_072);
    expect(isCrowdedMessage(SessionRequestSchema, frame)).toBe(false);
    const renewals = Array.from({ length: 1_000 }, () => ({ reservationId: 'a'.repeat(200), ttl: { seconds: 60n } }));
    const batch = toBinary(BatchRenewRequestSchema, create(BatchRenewRequestSchema, { renewals }));
    expect(isCrowdedMessage(BatchRenewRequestSchema, batch)).toBe(false);
  });
});

it.each([1, 8, 60])('what is within templates is counted, %s deep', (depth) => {
  const decoded = fromBinary(ApplyBudgetsRequestSchema, templates(8, 5));
  expect(decoded.changes[0]?.change.case).toBe('create');
  expect(isCrowdedMessage(ApplyBudgetsRequestSchema, templates(depth, COUNT))).toBe(true);
  expect(isCrowdedMessage(ApplyBudgetsRequestSchema, templates(depth, COUNT - 70))).toBe(false);
});

it('crowded JSON is told by its commas', () => {
  expect(isCrowdedJson(Buffer.from(`[${'0,'.repeat(COUNT + 1)}0]`))).toBe(true);
  expect(isCrowdedJson(Buffer.from(`[${'0,'.repeat(COUNT - 1)}0]`))).toBe(false);
  expect(isCrowdedJson(Buffer.from(`"${'x'.repeat(500_000)}"`))).toBe(false);
});
