// Bytes that mean nothing, and requests that lie about themselves, against the real service on both ports: each gets the status
// that it is due or loses its connection, and nobody else notices.
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReserveRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { HostileWorld, RESERVE_PATH, SESSION_PATH } from '../support/hostile-world.ts';
import {
  endOf,
  envelope,
  FLAG,
  FRAME,
  frame,
  openHttp2,
  openStream,
  PREFACE,
  postHeaders,
  type RawEnd,
  sendRaw,
} from '../support/raw-http2.ts';

let world: HostileWorld;
beforeAll(async () => {
  world = await HostileWorld.start();
});
afterAll(() => world.stop());

const settingsAck = frame(FRAME.settings, 1, 0);
const bigHeader = Buffer.concat([
  postHeaders(RESERVE_PATH),
  Buffer.of(0, 1),
  Buffer.from('x'),
  Buffer.of(0x7f, 0x80, 0x80, 0x40),
]);

describe('bytes', () => {
  it.each([
    ['random', () => randomBytes(4_096)],
    ['random, behind a preface', () => Buffer.concat([PREFACE, randomBytes(4_096)])],
    ['zeros', () => Buffer.alloc(4_096)],
    ['half a preface', () => PREFACE.subarray(0, 10)],
    ['a TLS hello', () => Buffer.from('16030100c8010000c40303', 'hex')],
    ['HTTP/1.1 that is none', () => Buffer.from('GET / HTTP/9.9\r\n: \r\n\r\n')],
    [
      'HTTP/1.1 with two lengths',
      () => Buffer.from('POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx'),
    ],
    ['a frame of unknown type', () => Buffer.concat([PREFACE, frame(0xee, 0xff, 1, randomBytes(100))])],
    ['data on a stream that is not there', () => Buffer.concat([PREFACE, frame(FRAME.data, 0, 9, randomBytes(9))])],
    ['headers on stream 0', () => Buffer.concat([PREFACE, frame(FRAME.headers, 4, 0, postHeaders(RESERVE_PATH))])],
    ['headers that are no HPACK', () => Buffer.concat([PREFACE, frame(FRAME.headers, 5, 1, randomBytes(200))])],
    ['headers that never end', () => Buffer.concat([PREFACE, frame(FRAME.headers, 0, 1, bigHeader)])],
    [
      'a window that overflows',
      () => Buffer.concat([PREFACE, frame(FRAME.windowUpdate, 0, 0, Buffer.from('7fffffff', 'hex'))]),
    ],
    ['a frame longer than agreed', () => Buffer.concat([PREFACE, Buffer.from('ffffff000000000001', 'hex')])],
    [
      'answers to settings that nobody sent',
      () => Buffer.concat([PREFACE, ...Array.from({ length: 100 }, () => settingsAck)]),
    ],
  ])('do no harm: %s', async (_, bytes) => {
    for (const port of world.ports) {
      const peers = await Promise.all(Array.from({ length: 5 }, () => sendRaw(port, bytes())));
      await Promise.all(peers.map((peer) => peer.end()));
    }
    await world.expectUnharmed();
  });
});

/** Sends one gRPC request to both ports. */
async function askBoth(path: string, body: Uint8Array, headers = {}, ended = true): Promise<RawEnd[]> {
  return Promise.all(
    world.ports.map(async (port) => {
      const session = await openHttp2(port);
      const stream = openStream(session, path, headers);
      const end = endOf(stream);
      if (ended) stream.end(body);
      else stream.write(body);
      const result = await end;
      session.destroy();
      return result;
    }),
  );
}

const valid = toBinary(ReserveRequestSchema, create(ReserveRequestSchema, { budget: 'honest', maxMicros: 5n }));
const noMessage = Buffer.of(0xff, 0xff, 0xff);
const INVALID = { code: 3, reason: 'INVALID_FIELD' };
const EXHAUSTED = { code: 8 };
const UNIMPLEMENTED = { code: 12 };
const INTERNAL = { code: 13 };

describe('a request', () => {
  it.each([
    ['that is no message', RESERVE_PATH, envelope(noMessage), INVALID, INVALID],
    ['of random bytes', RESERVE_PATH, envelope(randomBytes(1_000)), INVALID, INVALID],
    ['that is marked as compressed and is not', RESERVE_PATH, envelope(noMessage, { flag: 1 }), INTERNAL, INVALID],
    ['of no known method', '/budgetd.v1.ReservationService/Steal', envelope(valid), UNIMPLEMENTED, { httpStatus: 404 }],
    ['of no known service', '/none.Such/Reserve', envelope(valid), UNIMPLEMENTED, { httpStatus: 404 }],
    ['past the largest message', RESERVE_PATH, envelope(Buffer.alloc(1_048_577)), EXHAUSTED, EXHAUSTED],
    ['that says it is 4 GiB', RESERVE_PATH, envelope(valid, { length: 0xffffffff }), EXHAUSTED, EXHAUSTED],
    ['of two messages', RESERVE_PATH, Buffer.concat([envelope(valid), envelope(valid)]), UNIMPLEMENTED, UNIMPLEMENTED],
    ['of no message', RESERVE_PATH, Buffer.alloc(0), UNIMPLEMENTED, UNIMPLEMENTED],
    ['that ends before its length', RESERVE_PATH, envelope(valid, { length: 500 }), UNIMPLEMENTED, { code: 3 }],
    ['of half an envelope', RESERVE_PATH, Buffer.of(0, 0), UNIMPLEMENTED, { code: 3 }],
    ['for a Session that is no frame', SESSION_PATH, envelope(noMessage), INVALID, INVALID],
    ['for a Session past the largest frame', SESSION_PATH, envelope(Buffer.alloc(1_048_577)), EXHAUSTED, EXHAUSTED],
  ])('is told what is wrong: %s', async (_, path, body, onGrpc, onConnect) => {
    const [grpc, connect] = await askBoth(path, body);
    expect.soft(grpc).toMatchObject(onGrpc);
    expect.soft(connect).toMatchObject(onConnect);
    await world.expectUnharmed();
  });

  it('in JSON past the largest message is told so', async () => {
    const response = await fetch(`http://127.0.0.1:${world.service.connectPort}${RESERVE_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ budget: 'honest', holder: 'x'.repeat(1_048_576) }),
    });
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({ code: 'resource_exhausted' });
    await world.expectUnharmed();
  });

  it('with another content type is told so', async () => {
    const answers = await askBoth(RESERVE_PATH, envelope(valid), { 'content-type': 'text/html' });
    expect(answers).toMatchObject([{ httpStatus: 415 }, { httpStatus: 415 }]);
    await world.expectUnharmed();
  });

  it.each([
    ['one that is far too long', { 'x-long': 'y'.repeat(60_000) }],
    ['two thousand of them', Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`x-${n}`, 'y']))],
  ])('with headers past the bound is reset: %s', async (_, headers) => {
    const answers = await askBoth(RESERVE_PATH, envelope(valid), headers);
    for (const { code, resetCode } of answers) {
      expect(code).toBeUndefined();
      expect(resetCode).not.toBe(0);
    }
    await world.expectUnharmed();
  });

  it('with metadata that is no base64, and a time-out that is none, harms nobody', async () => {
    const answers = await askBoth(RESERVE_PATH, envelope(valid), { 'x-odd-bin': '%%%', 'grpc-timeout': 'soon' });
    for (const { code } of answers) expect(code).toBeGreaterThan(0);
    await world.expectUnharmed();
  });

  it('that would unpack to a thousand times its size is not unpacked for someone unknown', async () => {
    const bomb = envelope(gzipSync(Buffer.alloc(1_000_000)), { flag: 1 });
    const body = Buffer.concat(Array.from({ length: 16 }, () => bomb));
    const headers = { 'grpc-encoding': 'gzip' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => askBoth(RESERVE_PATH, body, headers)));
    for (const [grpc, connect] of answers) {
      expect(grpc).toMatchObject(UNIMPLEMENTED);
      expect(connect?.code).toBeGreaterThan(0);
    }
    await world.expectUnharmed();
  });

  it('that is reset in the packet that opened it is never answered', async () => {
    const reset = Buffer.of(0, 0, 0, 8);
    for (const port of world.ports) {
      for (const headers of [
        postHeaders(RESERVE_PATH),
        postHeaders('/none.Such/X'),
        postHeaders(RESERVE_PATH, 'a/b'),
      ]) {
        const pairs = Array.from({ length: 200 }, (_, n) => [
          frame(FRAME.headers, FLAG.endHeaders, 2 * n + 1, headers),
          frame(FRAME.reset, 0, 2 * n + 1, reset),
        ]);
        const peer = await sendRaw(port, Buffer.concat([PREFACE, ...pairs.flat()]));
        await world.expectUnharmed();
        await peer.end();
      }
    }
  });
});
