// Unary calls over HTTP/2 as it is on the wire: what grpc-js of the other side never shows, or never sends.
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiObserver } from '../../src/api/api-observer.ts';
import { startGrpcServer } from '../../src/api/grpc/start-grpc-server.ts';
import { ReserveRequestSchema, ReserveResponseSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { Code } from '../../src/gen/google/rpc/code_pb.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import { startApiServers } from '../support/api-servers.ts';
import { succeed } from '../support/fake-coordinator.ts';
import { endOf, envelope, openHttp2, openStream } from '../support/raw-http2.ts';

const RESERVE = '/budgetd.v1.ReservationService/Reserve';
const request = (holder = '') =>
  toBinary(
    ReserveRequestSchema,
    create(ReserveRequestSchema, { budget: 'acme', idempotencyKey: 'k', maxMicros: 5n, holder }),
  );

let apis: Awaited<ReturnType<typeof startApiServers>>;
let server: Awaited<ReturnType<typeof startGrpcServer>>;
let session: ClientHttp2Session;
/** Methods and codes of calls that have ended. */
let ended: [string, Code][];
/** What goes wrong in the program itself. */
let fault: 'authenticator' | 'handler' | undefined;
let faultCount: number;

beforeEach(async () => {
  apis = await startApiServers();
  ended = [];
  fault = undefined;
  faultCount = 0;
  const observer: ApiObserver = {
    call: (method) => {
      let isOver = false;
      return {
        run: (work) => work(),
        end: (code) => {
          if (!isOver) ended.push([method, code]);
          isOver = true;
        },
      };
    },
    frame: () => undefined,
    refused: () => undefined,
    faulted: () => {
      faultCount += 1;
    },
  };
  const { services: sound, log } = apis;
  const authenticate: typeof apis.authenticate = (header) => {
    if (fault === 'authenticator') throw new Error('no caller is known');
    return apis.authenticate(header);
  };
  const reserve: typeof sound.reservation.reserve = (...call) => {
    if (fault === 'handler') throw new Error('thrown before there is a promise');
    return sound.reservation.reserve(...call);
  };
  const services = { ...sound, reservation: { ...sound.reservation, reserve } };
  server = await startGrpcServer({ host: '127.0.0.1', port: 0, services, authenticate, log, observer });
  session = await openHttp2(server.port);
});
afterEach(async () => {
  session.destroy();
  await server.stop({ graceMs: 0 });
  await apis.stop();
});

/** Everything that a stream is answered with. */
async function answerOf(stream: ClientHttp2Stream) {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders | undefined;
  const pieces: Buffer[] = [];
  stream.on('response', (each) => {
    headers = each;
  });
  stream.on('trailers', (each) => {
    trailers = each;
  });
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  await once(stream, 'close');
  return { headers, trailers, body: Buffer.concat(pieces), resetCode: stream.rstCode };
}

it('answers with headers, one message and trailers', async () => {
  const stream = openStream(session, RESERVE);
  stream.end(envelope(request()));
  const { headers, trailers, body, resetCode } = await answerOf(stream);
  expect(headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc+proto' });
  expect(headers['grpc-status']).toBeUndefined();
  expect(trailers).toMatchObject({ 'grpc-status': '0' });
  expect(body.readUInt32BE(1)).toBe(body.length - 5);
  expect(fromBinary(ReserveResponseSchema, body.subarray(5)).reservation?.budget).toBe('acme');
  expect(resetCode).toBe(0);
  expect(ended).toEqual([['budgetd.v1.ReservationService/Reserve', Code.OK]]);
});

it('answers a refusal by headers alone, its message in what HTTP/2 can carry', async () => {
  const stream = openStream(session, RESERVE);
  const bytes = toBinary(
    ReserveRequestSchema,
    create(ReserveRequestSchema, { budget: 'größer als 100 %', idempotencyKey: 'k' }),
  );
  stream.end(envelope(bytes));
  const { headers, trailers, body } = await answerOf(stream);
  expect(headers).toMatchObject({ ':status': 200, 'grpc-status': '3' });
  expect(String(headers['grpc-message'])).toMatch(/^[\x20-\x7e]+$/);
  expect(decodeURIComponent(String(headers['grpc-message']))).toContain('budget');
  expect(headers['grpc-status-details-bin']).toBeTypeOf('string');
  expect(trailers).toBeUndefined();
  expect(body.length).toBe(0);
});

it('takes a message byte by byte', async () => {
  const stream = openStream(session, RESERVE);
  const bytes = envelope(request('byte by byte'));
  for (const byte of bytes) {
    stream.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  stream.end();
  expect(await endOf(stream)).toMatchObject({ code: 0 });
  expect(apis.coordinator.commands).toMatchObject([{ holder: 'byte by byte' }]);
});

it('refuses what is too large, or more than one message, before all of it has come', async () => {
  const large = openStream(session, RESERVE);
  large.write(envelope(Buffer.alloc(0), { length: 1024 * 1024 + 1 }));
  expect(await endOf(large)).toMatchObject({ code: 8 });
  const several = openStream(session, RESERVE);
  several.write(Buffer.concat([envelope(request()), Buffer.of(0)]));
  expect(await endOf(several)).toMatchObject({ code: 12 });
  expect(apis.coordinator.commands).toEqual([]);
});

describe('the deadline', () => {
  let answer: ((answer?: Answer) => void) | undefined;
  beforeEach(() => {
    answer = undefined;
    apis.coordinator.answer = (command) =>
      new Promise((resolve) => {
        answer = () => resolve(succeed(command));
      });
  });

  it('ends a call that is with its handler, which is told so and counted so', async () => {
    const stream = openStream(session, RESERVE, { 'grpc-timeout': '60m' });
    stream.end(envelope(request()));
    expect(await endOf(stream)).toMatchObject({ code: 4, resetCode: 0 });
    answer?.();
    await expect.poll(() => ended).toEqual([['budgetd.v1.ReservationService/Reserve', Code.DEADLINE_EXCEEDED]]);
  });

  it('ends a request that is not whole', async () => {
    const stream = openStream(session, RESERVE, { 'grpc-timeout': '60m' });
    stream.write(envelope(request()).subarray(0, 9));
    expect(await endOf(stream)).toMatchObject({ code: 4 });
    expect(apis.coordinator.commands).toEqual([]);
  });

  it('of years is no shorter than one of days', async () => {
    const stream = openStream(session, RESERVE, { 'grpc-timeout': '99999999H' });
    stream.end(envelope(request()));
    await expect.poll(() => answer).toBeDefined();
    answer?.();
    expect(await endOf(stream)).toMatchObject({ code: 0 });
  });

  it('that cannot be read is told, and nothing is done', async () => {
    const stream = openStream(session, RESERVE, { 'grpc-timeout': 'soon' });
    stream.end(envelope(request()));
    expect(await endOf(stream)).toMatchObject({ code: 13 });
    expect(apis.coordinator.commands).toEqual([]);
  });
});

it('tells a caller that has gone nothing, and goes on for others', async () => {
  let answer: (() => void) | undefined;
  apis.coordinator.answer = (command) =>
    new Promise((resolve) => {
      answer = () => resolve(succeed(command));
    });
  const stream = openStream(session, RESERVE);
  stream.end(envelope(request()));
  await expect.poll(() => answer).toBeDefined();
  const over = once(stream, 'close');
  stream.close(8);
  await over;
  answer?.();
  await expect.poll(() => ended).toEqual([['budgetd.v1.ReservationService/Reserve', Code.OK]]);
  apis.coordinator.answer = (command) => Promise.resolve(succeed(command));
  const next = openStream(session, RESERVE);
  next.end(envelope(request()));
  expect(await endOf(next)).toMatchObject({ code: 0 });
});

it.each(['authenticator', 'handler'] as const)(
  "a fault of the program in its %s is that call's alone",
  async (where) => {
    fault = where;
    const faulty = openStream(session, RESERVE);
    faulty.end(envelope(request()));
    expect(await endOf(faulty)).toMatchObject({ code: 13, resetCode: 0 });
    expect(ended).toEqual([['budgetd.v1.ReservationService/Reserve', Code.INTERNAL]]);
    expect(faultCount).toBe(1);
    expect(apis.errors).toHaveLength(1);
    fault = undefined;
    const next = openStream(session, RESERVE);
    next.end(envelope(request()));
    expect(await endOf(next)).toMatchObject({ code: 0 });
  },
);

it('refuses a flag that its headers do not explain', async () => {
  for (const flag of [1, 2, 255]) {
    const stream = openStream(session, RESERVE);
    stream.end(envelope(request(), { flag }));
    expect(await endOf(stream)).toMatchObject({ code: 13 });
  }
  expect(apis.coordinator.commands).toEqual([]);
});

it.each(['GET', 'HEAD', 'PUT', 'DELETE'])('has nothing to do with %s', async (method) => {
  const headers = { ':method': method, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ...headers, ':path': RESERVE }, { endStream: false });
  stream.on('error', () => undefined);
  stream.end(envelope(request()));
  expect(await endOf(stream)).toMatchObject({ httpStatus: 405, code: undefined });
  expect(apis.coordinator.commands).toEqual([]);
});
