// The HTTP server: JSON as curl sends it, Connect and gRPC-Web in binary, HTTP/2, probes, tokens, and how it stops.
import { once } from 'node:events';
import { connect as connectSession } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it } from 'vitest';
import { startConnectServer } from '../../src/api/connect/start-connect-server.ts';
import { PortInUseError } from '../../src/api/running-server.ts';
import {
  ReservationService,
  ReserveRequestSchema,
  ReserveResponseSchema,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { succeed } from '../support/fake-coordinator.ts';

const RESERVE = '/budgetd.v1.ReservationService/Reserve';
const request = { budget: 'acme', idempotencyKey: 'k', maxMicros: '250000' };

let servers: Awaited<ReturnType<typeof startApiServers>>;
const start = async (options: Parameters<typeof startApiServers>[0] = {}): Promise<void> => {
  servers = await startApiServers(options);
};
const url = (path: string): string => `http://127.0.0.1:${servers.connect.port}${path}`;
const postJson = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** Sends text over a plain connection and returns all that comes back until it is closed. */
async function exchange(text: string): Promise<string> {
  const socket: Socket = connectSocket(servers.connect.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

afterEach(() => servers.stop());

describe('JSON', () => {
  it('is answered with proto3 JSON, zeros shown', async () => {
    await start();
    const response = await postJson(RESERVE, request);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      reservation: {
        budget: 'acme',
        state: 'RESERVATION_STATE_ACTIVE',
        grantedMicros: '250000',
        late: false,
        labels: {},
      },
      availability: { availableMicros: '9500', budget: 'acme', limit: 'lifetime', unit: 'USD' },
    });
  });

  it('takes the names of the proto too', async () => {
    await start();
    const body = { budget: 'acme', idempotency_key: 'k', max_micros: 5, ttl: '1.5s' };
    expect((await postJson(RESERVE, body)).status).toBe(200);
    expect(servers.coordinator.commands).toMatchObject([{ maxMicros: 5n, ttlMs: 1_500 }]);
  });

  it('carries a refusal with its details', async () => {
    await start();
    servers.coordinator.answer = () => ({
      kind: 'refusal',
      reason: 'BUDGET_EXHAUSTED',
      message: 'spent',
      budget: 'acme',
      limit: 'lifetime',
      availableMicros: 0n,
      requestedMicros: 250_000n,
    });
    const response = await postJson(RESERVE, request);
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({
      code: 'resource_exhausted',
      message: 'spent',
      details: [
        {
          type: 'google.rpc.ErrorInfo',
          debug: { domain: 'budgetd', reason: 'BUDGET_EXHAUSTED', metadata: { budget: 'acme', available: '0' } },
        },
      ],
    });
  });

  it('names every invalid field', async () => {
    await start();
    const response = await postJson(RESERVE, { budget: 'a//b', ttl: '90000s', holder: 'half\ud800' });
    expect(response.status).toBe(400);
    const { code } = (await response.json()) as { code: string };
    expect(code).toBe('invalid_argument');
    expect(servers.coordinator.commands).toEqual([]);
  });

  it.each([
    ['a misspelt field', { ...request, max_micro: 5 }],
    ['an unknown enum value', { ...request, validateOnly: 'MAYBE' }],
    ['a number past int64', { ...request, maxMicros: '9223372036854775808' }],
    ['a fraction', { ...request, maxMicros: 0.5 }],
    ['no JSON', '{"budget":'],
    ['no object', '[]'],
  ])('refuses %s', async (_, body) => {
    await start();
    expect((await postJson(RESERVE, body)).status).toBe(400);
    expect(servers.coordinator.commands).toEqual([]);
  });

  it('refuses a body past 1 MiB', async () => {
    await start();
    const response = await postJson(RESERVE, { ...request, holder: 'x'.repeat(1024 * 1024) });
    expect(response.status).toBe(429);
  });

  it('tells nothing of a fault', async () => {
    await start();
    servers.coordinator.answer = () => Promise.reject(new Error('secret'));
    const response = await postJson(RESERVE, request);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ code: 'internal', message: 'internal error' });
    expect(servers.errors).toMatchObject([{ err: { message: 'secret' }, method: 'Reserve' }]);
  });

  it('works over HTTP/2 on the same port', async () => {
    await start();
    const session = connectSession(url(''));
    const stream = session.request({ ':method': 'POST', ':path': RESERVE, 'content-type': 'application/json' });
    stream.end(JSON.stringify(request));
    const [headers] = await once(stream, 'response');
    expect(headers[':status']).toBe(200);
    stream.resume();
    await once(stream, 'end');
    session.close();
  });
});

describe('binary', () => {
  const bytes = Buffer.from(
    toBinary(ReserveRequestSchema, create(ReserveRequestSchema, { ...request, maxMicros: 250_000n })),
  );
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]);
  const post = (type: string, body: Buffer): Promise<Response> =>
    fetch(url(RESERVE), { method: 'POST', headers: { 'content-type': type }, body: new Uint8Array(body) });

  it('is taken as Connect', async () => {
    await start();
    const response = await post('application/proto', bytes);
    const reply = fromBinary(ReserveResponseSchema, new Uint8Array(await response.arrayBuffer()));
    expect(reply.reservation?.grantedMicros).toBe(250_000n);
  });

  it('is taken as gRPC-Web, with the status at the end of the body', async () => {
    await start();
    const response = await post('application/grpc-web+proto', frame);
    expect(response.headers.get('content-type')).toBe('application/grpc-web+proto');
    const body = Buffer.from(await response.arrayBuffer());
    const length = body.readUInt32BE(1);
    expect(fromBinary(ReserveResponseSchema, body.subarray(5, 5 + length)).reservation?.budget).toBe('acme');
    expect(body[5 + length]).toBe(0x80);
    expect(body.subarray(10 + length).toString()).toMatch(/grpc-status: 0/i);
  });

  it('carries a refusal in gRPC-Web', async () => {
    await start();
    servers.coordinator.answer = () => ({
      kind: 'refusal',
      reason: 'BUDGET_SUSPENDED',
      message: 'stop',
      budget: 'acme',
    });
    const response = await post('application/grpc-web+proto', frame);
    const body = Buffer.from(await response.arrayBuffer()).toString();
    const all = `${[...response.headers].flat().join(' ')} ${body}`;
    expect(all).toMatch(/grpc-status:? 9/);
    expect(all).toMatch(/grpc-status-details-bin/);
  });

  it('is taken as gRPC', async () => {
    await start();
    const client = new ApiClient(servers.connect.port);
    const reply = await client.call(ReservationService.method.reserve, { ...request, maxMicros: 250_000n });
    expect(reply).toMatchObject({ reservation: { grantedMicros: 250_000n } });
    servers.coordinator.answer = () => ({ kind: 'refusal', reason: 'CONTENTION', message: 'again', retryAfterMs: 5 });
    const failed = await client.call(ReservationService.method.reserve, { ...request, maxMicros: 250_000n });
    expect(failed).toMatchObject({ code: 10, reason: 'CONTENTION', types: ['ErrorInfo', 'RetryInfo'] });
    client.close();
  });
});

describe('around the methods', () => {
  it('tells whether it lives and whether it serves', async () => {
    await start();
    expect((await fetch(url('/healthz'))).status).toBe(200);
    expect((await fetch(url('/readyz'))).status).toBe(200);
    servers.connect.setServing(false);
    expect((await fetch(url('/healthz'))).status).toBe(200);
    expect((await fetch(url('/readyz'))).status).toBe(503);
    expect((await postJson('/readyz', {})).status).toBe(405);
  });

  it('leaves other paths to app, and has nothing else', async () => {
    await start({
      serveOther: (_request, response, path) => {
        if (path !== '/metrics') return false;
        response.end('figures');
        return true;
      },
    });
    expect(await (await fetch(url('/metrics?x=1'))).text()).toBe('figures');
    expect((await fetch(url('/nothing'))).status).toBe(404);
    expect((await fetch(url(RESERVE))).status).toBe(405);
  });

  it('knows callers by their tokens before it reads what they send', async () => {
    await start({ tokens: [{ name: 'root', role: 'admin', secret: { plaintext: 's3cret' } }] });
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const response = await postJson(RESERVE, '{"not": json', headers);
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ details: [{ debug: { reason: 'UNAUTHENTICATED' } }] });
    }
    expect((await postJson(RESERVE, request, { authorization: 'Bearer s3cret' })).status).toBe(200);
    expect(servers.coordinator.commands).toMatchObject([{ actor: 'root' }]);
  });

  it.each([
    ['no authority', `POST ${RESERVE} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`],
    [
      'an authority that is none',
      `POST ${RESERVE} HTTP/1.1\r\nhost: a b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    ],
    ['a line that is no request', 'hello\r\n\r\n'],
    ['the preface of HTTP/2 and then something else', `PRI * HTTP/2.0\r\n\r\n${'junk'.repeat(50)}`],
  ])('survives a request with %s', async (_, text) => {
    await start();
    expect(await exchange(text)).not.toMatch(/^HTTP\/1\.[01] [^4]/);
    expect((await postJson(RESERVE, request)).status).toBe(200);
  });

  it('names the port that is taken', async () => {
    await start();
    const { services, authenticate, log, connect } = servers;
    const starting = startConnectServer({ host: '127.0.0.1', port: connect.port, services, authenticate, log });
    await expect(starting).rejects.toThrow(PortInUseError);
    await expect(starting).rejects.toMatchObject({ port: connect.port });
  });

  it('finishes what is outstanding when it stops', async () => {
    await start();
    let answer: () => void = () => undefined;
    const submitted = new Promise<void>((resolve) => {
      servers.coordinator.answer = (command) => {
        resolve();
        return new Promise((settled) => {
          answer = () => settled(succeed(command));
        });
      };
    });
    const calling = postJson(RESERVE, request);
    await submitted;
    const stopped = servers.connect.stop({ graceMs: 10_000 });
    answer();
    expect((await calling).status).toBe(200);
    await stopped;
    await expect(postJson(RESERVE, request)).rejects.toThrow();
  });

  it('cuts what does not end in time, and connections that never said what they are', async () => {
    await start();
    const silent = connectSocket(servers.connect.port, '127.0.0.1');
    await once(silent, 'connect');
    const submitted = new Promise<void>((resolve) => {
      servers.coordinator.answer = () => {
        resolve();
        return new Promise(() => undefined);
      };
    });
    const calling = postJson(RESERVE, request);
    calling.catch(() => undefined);
    await submitted;
    await servers.connect.stop({ graceMs: 20 });
    await expect(calling).rejects.toThrow();
    silent.destroy();
  });
});
