// What the HTTP port makes of requests that are no message of their method's type: INVALID_FIELD with the fields named, in
// all three protocols, and nothing submitted.
import { connect as connectSession } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReserveRequestSchema } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { BadRequestSchema, ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { ApiClient, findDetail, startApiServers } from '../support/api-servers.ts';

const RESERVE = '/budgetd.v1.ReservationService/Reserve';
const SETTLE = '/budgetd.v1.ReservationService/Settle';
const CREATE = '/budgetd.v1.BudgetService/CreateBudget';
const UPDATE = '/budgetd.v1.BudgetService/UpdateBudget';
const ID = 'acme:06fk2xw8q40000000001';
const head = '"budget":"acme","idempotencyKey":"k"';

let servers: Awaited<ReturnType<typeof startApiServers>>;
beforeEach(async () => {
  servers = await startApiServers();
});
afterEach(() => servers.stop());

const post = (path: string, type: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${servers.connect.port}${path}`, {
    method: 'POST',
    headers: { 'content-type': type, ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

/** The reason and the fields that a Connect error carries in the details of its body. */
async function refusalOf(response: Response) {
  const { code, details = [] } = (await response.json()) as ErrorBody;
  const bytes = (type: string) => Buffer.from(details.find((detail) => detail.type === type)?.value ?? '', 'base64');
  const { reason } = fromBinary(ErrorInfoSchema, bytes('google.rpc.ErrorInfo'));
  const { fieldViolations } = fromBinary(BadRequestSchema, bytes('google.rpc.BadRequest'));
  return { status: response.status, code, reason, fields: fieldViolations.map(({ field }) => field) };
}

const refused = (...fields: string[]) => ({ status: 400, code: 'invalid_argument', reason: 'INVALID_FIELD', fields });

describe('an amount in JSON', () => {
  it.each([
    ['past what a JSON number holds', '9007199254740993'],
    ['just past it', '9007199254740992'],
    ['below it', '-9007199254740993'],
    ['of a fraction', '1.5'],
    ['of a fraction that a float rounds away', '9007199254740990.6'],
    ['of a fraction in powers of ten', '15e-1'],
    ['next to nothing', '1e-400'],
    ['next to one', '0.99999999999999999999'],
    ['far out', '1e300'],
    ['a truth', 'true'],
    ['hexadecimal', '"0x10"'],
    ['binary', '"0b11"'],
    ['with spaces', '" 12 "'],
    ['with a plus', '"+12"'],
    ['with an exponent in a string', '"1e2"'],
    ['empty', '""'],
    ['out of int64', '"9223372036854775808"'],
    ['out of int64 below', '"-9223372036854775809"'],
    ['a list', '[1]'],
  ])('is refused: %s', async (_, amount) => {
    const response = await post(RESERVE, 'application/json', `{${head},"maxMicros":${amount}}`);
    expect(await refusalOf(response)).toEqual(refused('max_micros'));
    expect(servers.coordinator.commands).toEqual([]);
  });

  it.each([
    ['9007199254740991', 9_007_199_254_740_991n],
    ['"9007199254740993"', 9_007_199_254_740_993n],
    ['250000.000', 250_000n],
    ['2.5e5', 250_000n],
    ['2500e-2', 25n],
    ['"0012"', 12n],
    ['0', 0n],
  ])('is taken as it was written: %s', async (amount, micros) => {
    const response = await post(RESERVE, 'application/json', `{${head},"max_micros":${amount},"validateOnly":true}`);
    const { code } = (await response.json()) as ErrorBody;
    expect(code).toBeUndefined();
    expect(servers.coordinator.commands).toMatchObject([{ maxMicros: micros }]);
  });

  it('is named by its path in the proto', async () => {
    const limits = '[{"name":"a","amountMicros":"1"},{"name":"b","amountMicros":9007199254740993}]';
    const body = `{"budget":{"budget":"acme","unit":"USD","limits":${limits}}}`;
    const response = await post(CREATE, 'application/json; charset=utf-8', body);
    expect(await refusalOf(response)).toEqual(refused('budget.limits[1].amount_micros'));
    expect(servers.coordinator.commands).toEqual([]);
  });
});

describe('JSON that is no request', () => {
  it.each([
    ['an unknown field', RESERVE, `{${head},"max_micro":5}`, ['max_micro']],
    ['an unknown field further in', CREATE, '{"budget":{"limits":[{"nmae":"a"}]}}', ['budget.limits[0].nmae']],
    ['an unknown enum', CREATE, '{"budget":{"onExpiry":"MAYBE"}}', ['budget.on_expiry']],
    ['half a character', RESERVE, `{${head},"holder":"\\ud800"}`, ['holder']],
    ['half a character in a label', RESERVE, `{${head},"labels":{"team":"\\ud800"}}`, ['labels["team"]']],
    ['a huge duration', RESERVE, `{${head},"ttl":"999999999999s"}`, ['ttl']],
    ['two of a oneof', SETTLE, `{"reservationId":"${ID}","actualMicros":"1","usageUnknown":{}}`, ['cost']],
    ['one field twice', RESERVE, `{${head},"maxMicros":"1","max_micros":"2"}`, ['max_micros']],
    ['one key twice', RESERVE, `{${head},"maxMicros":"1","maxMicros":"2"}`, ['body']],
    ['a number for a text', RESERVE, `{${head},"holder":5}`, ['holder']],
    ['a text for a truth', RESERVE, `{${head},"validateOnly":"yes"}`, ['validate_only']],
    ['a list for a map', RESERVE, `{${head},"labels":[]}`, ['labels']],
    ['a text for a message', CREATE, '{"budget":"acme"}', ['budget']],
    ['a mask that is none', UPDATE, '{"updateMask":5}', ['update_mask']],
    ['several at once', RESERVE, '{"budget":1,"maxMicros":true,"x":0}', ['budget', 'max_micros', 'x']],
    ['half of a text', RESERVE, '{"budget":', ['body']],
    ['a list', RESERVE, '[]', ['body']],
    ['nothing', RESERVE, '', ['body']],
    ['brackets without end', RESERVE, '['.repeat(500_000), ['body']],
  ])('is refused: %s', async (_, path, body, fields) => {
    expect(await refusalOf(await post(path, 'application/json', body))).toEqual(refused(...fields));
    expect(servers.coordinator.commands).toEqual([]);
  });

  it('is refused without a list of everything where all of it is wrong', async () => {
    const labels = Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`).join(',');
    const response = await post(RESERVE, 'application/json', `{${head},"labels":{${labels}}}`);
    const { message } = (await response.clone().json()) as ErrorBody;
    expect(message).toBe('invalid request: labels["k0"] must be a string, and 63 more');
    expect(await refusalOf(response)).toMatchObject({ status: 400, reason: 'INVALID_FIELD' });
  });

  it('is refused where it is not UTF-8, instead of stored as something else', async () => {
    const body = Buffer.concat([Buffer.from(`{${head},"maxMicros":5,"holder":"`), Buffer.of(0xff), Buffer.from('"}')]);
    expect(await refusalOf(await post(RESERVE, 'application/json', body))).toEqual(refused('body'));
    expect(servers.coordinator.commands).toEqual([]);
  });

  it('is looked through when compressed too, and taken when it is in order', async () => {
    const gzip = { 'content-encoding': 'gzip' };
    const zipped = (amount: string) => gzipSync(`{${head},"maxMicros":${amount}}`);
    const bad = await post(RESERVE, 'application/json', zipped('9007199254740993'), gzip);
    expect(await refusalOf(bad)).toEqual(refused('max_micros'));
    expect(servers.coordinator.commands).toEqual([]);
    expect((await post(RESERVE, 'application/json', zipped('5'), gzip)).status).toBe(200);
    const torn = await post(RESERVE, 'application/json', zipped('5').subarray(0, 20), gzip);
    expect(await refusalOf(torn)).toEqual(refused());
    const bomb = gzipSync(`{${head},"holder":"${'x'.repeat(2 * 1024 * 1024)}"}`);
    expect((await post(RESERVE, 'application/json', bomb, gzip)).status).toBe(429);
    expect(servers.coordinator.commands).toHaveLength(1);
  });

  it('is not looked at where a body is sent without its length and is too large', async () => {
    const chunk = Buffer.from(' '.repeat(256 * 1024));
    let left = 8;
    const body = new ReadableStream({
      pull: (controller) => {
        left -= 1;
        if (left < 0) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const url = `http://127.0.0.1:${servers.connect.port}${RESERVE}`;
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half' });
    expect(response.status).toBe(429);
  });
});

describe('binary that is no request', () => {
  const noMessage = Buffer.from([0xff, 0xff, 0xff]);
  const enveloped = (message: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  const statusOf = (base64: string | undefined) => fromBinary(StatusSchema, Buffer.from(base64 ?? '', 'base64'));

  it('is refused over Connect', async () => {
    expect(await refusalOf(await post(RESERVE, 'application/proto', noMessage))).toEqual(refused());
  });

  it.each(['application/grpc-web+proto', 'application/grpc-web'])('is refused as %s', async (type) => {
    const response = await post(RESERVE, type, enveloped(noMessage));
    const text = Buffer.from(await response.arrayBuffer()).toString();
    expect(text).toMatch(/grpc-status: 3/i);
    const status = statusOf(/grpc-status-details-bin: (\S+)/i.exec(text)?.[1]);
    expect(findDetail(status, ErrorInfoSchema)?.reason).toBe('INVALID_FIELD');
  });

  it('is refused as gRPC-Web in JSON, with its field', async () => {
    const message = Buffer.from(`{${head},"maxMicros":9007199254740993}`);
    const response = await post(RESERVE, 'application/grpc-web+json', enveloped(message));
    const text = Buffer.from(await response.arrayBuffer()).toString();
    const status = statusOf(/grpc-status-details-bin: (\S+)/i.exec(text)?.[1]);
    expect(findDetail(status, BadRequestSchema)?.fieldViolations).toMatchObject([{ field: 'max_micros' }]);
    expect(servers.coordinator.commands).toEqual([]);
  });

  it('is refused over gRPC alike on both ports', async () => {
    for (const { port } of [servers.connect, servers.grpc]) {
      const client = new ApiClient(port);
      const failed = await client.raw(RESERVE, noMessage);
      expect(failed).toMatchObject({ code: 3, reason: 'INVALID_FIELD', types: ['ErrorInfo', 'BadRequest'] });
      client.close();
    }
  });

  it('is told apart from a request in order, compressed in its envelope', async () => {
    const request = create(ReserveRequestSchema, { budget: 'acme', idempotencyKey: 'k', maxMicros: 5n });
    const zipped = (message: Uint8Array) => {
      const frame = enveloped(gzipSync(message));
      frame[0] = 1;
      return frame;
    };
    const gzip = { 'grpc-encoding': 'gzip' };
    const good = await post(RESERVE, 'application/grpc-web', zipped(toBinary(ReserveRequestSchema, request)), gzip);
    expect(Buffer.from(await good.arrayBuffer()).toString()).toMatch(/grpc-status: 0/i);
    const bad = await post(RESERVE, 'application/grpc-web', zipped(noMessage), gzip);
    expect(Buffer.from(await bad.arrayBuffer()).toString()).toMatch(/grpc-status: 3/i);
    expect(servers.coordinator.commands).toHaveLength(1);
  });

  it('does not hold up one that stops halfway', async () => {
    const session = connectSession(`http://127.0.0.1:${servers.connect.port}`);
    const stream = session.request({ ':method': 'POST', ':path': RESERVE, 'content-type': 'application/proto' });
    stream.on('error', () => undefined);
    stream.write(noMessage);
    stream.close();
    session.close();
    expect((await post(RESERVE, 'application/json', `{${head},"maxMicros":5}`)).status).toBe(200);
    expect(servers.errors).toEqual([]);
  });
});
