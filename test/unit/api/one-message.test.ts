// The message of a unary request in whatever pieces it comes, and the time that a caller gives it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OneMessage } from '../../../src/api/grpc/one-message.ts';
import { timeoutMsOf } from '../../../src/api/grpc/timeout-header.ts';
import { envelope } from '../../support/raw-http2.ts';

/** Bytes cut at some places, with nothing between two of the same. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, no) => bytes.subarray(at[no], end));
}

const bytesOf = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
const placesOf = fc.array(fc.nat(), { maxLength: 40 });

describe('one message', () => {
  it('is the same however it is cut', () => {
    fc.assert(
      fc.property(bytesOf, placesOf, (bytes, places) => {
        const whole = new OneMessage();
        const pieces = cut(envelope(bytes), places);
        for (const piece of pieces) whole.add(Buffer.from(piece));
        expect(whole.message).toEqual(bytes);
        expect(whole.length).toBe(bytes.length);
        expect(whole.isExceeded).toBe(false);
      }),
    );
  });

  it('is none before its last byte and with one more', () => {
    fc.assert(
      fc.property(bytesOf, placesOf, fc.nat(), (bytes, places, left) => {
        const enveloped = envelope(bytes);
        const part = new OneMessage();
        for (const piece of cut(enveloped.subarray(0, left % enveloped.length), places)) part.add(piece);
        expect(part.message).toBeUndefined();
        expect(part.isExceeded).toBe(false);
        const more = new OneMessage();
        for (const piece of cut(Buffer.concat([enveloped, Buffer.of(0)]), places)) more.add(piece);
        expect(more.message).toBeUndefined();
        expect(more.isExceeded).toBe(true);
      }),
    );
  });

  it('leaves the pieces as they came', () => {
    const enveloped = envelope(Buffer.from('what came'));
    const before = Buffer.from(enveloped);
    const whole = new OneMessage();
    for (const piece of cut(enveloped, [3, 7, 9])) whole.add(piece);
    expect(whole.message?.toString()).toBe('what came');
    expect(enveloped).toEqual(before);
  });

  it('keeps nothing of what was read together with a piece of it', () => {
    const read = Buffer.alloc(64 * 1024);
    const enveloped = envelope(Buffer.from('in two pieces'));
    enveloped.copy(read, 1_000, 0, 8);
    const whole = new OneMessage();
    whole.add(read.subarray(1_000, 1_008));
    read.fill(0xff);
    whole.add(enveloped.subarray(8));
    expect(whole.message?.toString()).toBe('in two pieces');
  });

  it('has the flags of its envelope', () => {
    const whole = new OneMessage();
    expect(whole.flags).toBeUndefined();
    whole.add(envelope(Buffer.alloc(3), { flag: 129 }));
    expect(whole.flags).toBe(129);
  });

  it('of nothing is a message, and nothing is none', () => {
    const whole = new OneMessage();
    expect(whole.message).toBeUndefined();
    whole.add(envelope(Buffer.alloc(0)));
    expect(whole.message).toEqual(Buffer.alloc(0));
  });
});

describe('grpc-timeout', () => {
  it.each([
    ['2H', 7_200_000],
    ['3M', 180_000],
    ['1S', 1_000],
    ['1500m', 1_500],
    ['2500u', 2.5],
    ['500000n', 0.5],
    ['0S', 0],
    ['99999999H', 359_999_996_400_000],
  ])('%s', (header, ms) => {
    expect(timeoutMsOf(header)).toBeCloseTo(ms, 9);
  });

  it.each(['', '1', 'S', '1s', '-1S', '1.5S', '123456789S', ' 1S', '1S ', '1S, 2S', '１S'])('%j is none', (header) => {
    expect(timeoutMsOf(header)).toBeUndefined();
  });
});
