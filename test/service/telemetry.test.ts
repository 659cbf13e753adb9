// Telemetry of the real service: real calls over gRPC and HTTP, then what /metrics says of them, the spans that they left,
// and who may look.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthenticator } from '../../src/api/auth/authenticator.ts';
import { startConnectServer } from '../../src/api/connect/start-connect-server.ts';
import { startGrpcServer } from '../../src/api/grpc/start-grpc-server.ts';
import { createServices } from '../../src/api/services/create-services.ts';
import { loadConfig } from '../../src/app/config.ts';
import type { Logger } from '../../src/app/logger.ts';
import { type Service, type ServiceOverrides, startService } from '../../src/app/service.ts';
import { TELEMETRY_LABELS } from '../../src/app/telemetry-labels.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { startTelemetry } from '../../src/telemetry/start-telemetry.ts';
import { traceFields } from '../../src/telemetry/trace-fields.ts';
import { ApiClient } from '../support/api-servers.ts';
import { FakeCoordinator, FakeReads } from '../support/fake-coordinator.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { QUIET_TELEMETRY, spanMemory } from '../support/telemetry-settings.ts';

const RESERVE = 'budgetd.v1.ReservationService/Reserve';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

async function start(environment: Readonly<Record<string, string>> = {}, overrides: ServiceOverrides = {}) {
  const quiet = (): void => undefined;
  const logger: Logger = { lane: quiet, api: { error: quiet, warn: quiet } };
  const config = loadConfig({
    DATABASE_URL: database.url,
    BUDGETD_GRPC_PORT: '0',
    BUDGETD_HTTP_PORT: '0',
    BUDGETD_SHUTDOWN_GRACE: '0s',
    ...environment,
  });
  const service = await startService(config, logger, overrides);
  expect(await service.standsBehind(10_000)).toBeUndefined();
  return { service };
}

const url = (service: Service, path: string) => `http://127.0.0.1:${service.connectPort}${path}`;
const scrape = (service: Service, headers: Record<string, string> = {}) => fetch(url(service, '/metrics'), { headers });
const post = (service: Service, method: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url(service, `/${method}`), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

async function makeBudget(client: ApiClient, budget: string, amountMicros: bigint): Promise<void> {
  const limits = [{ name: 'all', amountMicros, window: { kind: { case: 'lifetime' as const, value: {} } } }];
  const made = await client.call(BudgetService.method.createBudget, {
    budget: { budget, kind: 'tenant', limits },
    idempotencyKey: `create ${budget}`,
  });
  expect(made).not.toHaveProperty('types');
}

describe('metrics', () => {
  let service: Service;
  let client: ApiClient;
  beforeAll(async () => {
    ({ service } = await start());
    client = new ApiClient(service.grpcPort);
  });
  afterAll(async () => {
    client.close();
    await service.stop();
  });

  /** Value of a series in the text; undefined where it is not there. */
  const read = (text: string, series: string): number | undefined => {
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length));
  };

  it('say what became of real calls, over gRPC, HTTP and a Session', async () => {
    await makeBudget(client, 'counted', 100n);
    const reserve = { budget: 'counted', idempotencyKey: 'a', maxMicros: 40n };
    const first = await client.call(ReservationService.method.reserve, reserve);
    await client.call(ReservationService.method.reserve, reserve);
    await client.call(ReservationService.method.reserve, {
      ...reserve,
      idempotencyKey: 'b',
      maxMicros: 90n,
      minMicros: 90n,
    });
    await client.call(ReservationService.method.reserve, { ...reserve, idempotencyKey: 'c', validateOnly: true });
    await client.call(ReservationService.method.reserve, { ...reserve, budget: '' });
    if (!('reservation' in first)) throw new Error('no grant');
    const settle = { reservationId: first.reservation?.reservationId ?? '', idempotencyKey: 's' };
    await post(service, 'budgetd.v1.ReservationService/Settle', { ...settle, actualMicros: '120' });
    const session = client.session();
    session.send({ commandId: 1n, command: { case: 'reserve', value: { ...reserve, budget: 'absent' } } });
    await session.until(1);
    session.stream.end();
    await session.ended;

    const response = await scrape(service);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    const decisions = (outcome: string, reason: string) =>
      read(text, `budgetd_decisions_total{command="Reserve",outcome="${outcome}",reason="${reason}"}`);
    expect(decisions('ok', 'none')).toBe(1);
    expect(decisions('refused', 'CAPACITY_HELD')).toBe(1);
    expect(decisions('refused', 'BUDGET_NOT_FOUND')).toBe(1);
    expect(decisions('dry_run', 'none')).toBe(1);
    expect(read(text, 'budgetd_replays_total{command="Reserve"}')).toBe(1);
    expect(read(text, 'budgetd_refusals_total{reason="INVALID_FIELD"}')).toBe(1);
    expect(read(text, 'budgetd_refusals_total{reason="BUDGET_NOT_FOUND"}')).toBe(1);
    expect(read(text, 'budgetd_overruns_total')).toBe(1);
    expect(read(text, 'budgetd_overrun_amount_total')).toBe(20);
    expect(read(text, 'budgetd_granted_over_settled_count')).toBe(1);
    expect(read(text, 'budgetd_granted_over_settled_sum')).toBeCloseTo(40 / 120);
    expect(read(text, 'budgetd_command_duration_count{command="Settle"}')).toBe(1);
    const calls = (method: string, status: string) =>
      read(
        text,
        `rpc_server_call_duration_count{rpc_system_name="grpc",rpc_method="budgetd.v1.ReservationService/${method}",rpc_status_code="${status}"}`,
      );
    expect(calls('Reserve', 'OK')).toBe(3);
    expect(calls('Reserve', 'RESOURCE_EXHAUSTED')).toBe(1);
    expect(calls('Reserve', 'INVALID_ARGUMENT')).toBe(1);
    expect(calls('Settle', 'OK')).toBe(1);
    expect(calls('Session', 'OK')).toBe(1);
    // Created, granted, refused, settled.
    expect(read(text, 'budgetd_journal_entries_total')).toBe(4);
    expect(read(text, 'budgetd_commit_duration_count')).toBe(4);
  });

  it('show how the coordinator stands', async () => {
    await makeBudget(client, 'standing', 100n);
    await client.call(ReservationService.method.reserve, { budget: 'standing', idempotencyKey: 'a', maxMicros: 40n });
    const text = await (await scrape(service)).text();
    expect(read(text, 'budgetd_serving')).toBe(1);
    expect(read(text, 'budgetd_leader')).toBe(1);
    expect(read(text, 'budgetd_leader_epoch')).toBeGreaterThan(0);
    expect(read(text, 'budgetd_holds_open')).toBe(1);
    expect(read(text, 'budgetd_trees_cached')).toBeGreaterThan(0);
    expect(read(text, 'budgetd_queue_depth')).toBe(0);
    expect(read(text, 'budgetd_trees_quarantined')).toBe(0);
    expect(read(text, 'budgetd_projection_lag')).toBeGreaterThanOrEqual(0);
    expect(read(text, 'process_memory_usage')).toBeGreaterThan(10_000_000);
    expect(text).toMatch(/^budgetd_build_info\{version="[\d.]+",node="[\d.]+",database="external"\} 1$/m);
  });

  it('are well-formed: every series has a type, and none comes twice', async () => {
    const lines = (await (await scrape(service)).text()).split('\n').filter((line) => line !== '');
    const types = new Set(lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []));
    const series = lines.filter((line) => !line.startsWith('#')).map((line) => line.slice(0, line.lastIndexOf(' ')));
    const untyped = series.filter((each) => {
      const name = each.replace(/\{.*/, '');
      return !types.has(name) && !types.has(name.replace(/_(bucket|sum|count)$/, ''));
    });
    expect(untyped).toEqual([]);
    expect(new Set(series).size).toBe(series.length);
  });

  it('are only read', async () => {
    const response = await fetch(url(service, '/metrics'), { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const head = await fetch(url(service, '/metrics'), { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('are not for pages of other sites where there are no tokens', async () => {
    expect((await scrape(service, { origin: 'https://site.example' })).status).toBe(403);
    expect((await post(service, RESERVE, {}, { origin: 'https://site.example' })).status).toBe(403);
    expect((await fetch(url(service, '/healthz'), { headers: { origin: 'null' } })).status).toBe(403);
    expect((await scrape(service, { origin: `http://localhost:${service.connectPort}` })).status).toBe(200);
  });
});

describe('metrics where tokens are configured', () => {
  const tokens = `
- { name: boss, role: admin, token: secret-of-the-admin }
- { name: books, role: auditor, token: secret-of-auditor }
- { name: part, role: auditor, subtree: acme, token: secret-of-a-part }
- { name: bot, role: agent, token: secret-of-the-agent }
`;
  let running: Awaited<ReturnType<typeof start>>;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'budgetd-telemetry-'));
    const file = join(folder, 'tokens.yaml');
    await writeFile(file, tokens);
    running = await start({ BUDGETD_TOKENS_FILE: file });
  });
  afterAll(async () => {
    await running.service.stop();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['secret-of-the-admin', 200],
    ['secret-of-auditor', 200],
    ['secret-of-a-part', 403],
    ['secret-of-the-agent', 403],
    ['nobody-knows-this-one', 401],
  ])('answer %s with %d', async (token, status) => {
    expect((await scrape(running.service, { authorization: `Bearer ${token}` })).status).toBe(status);
  });

  it('answer nobody without a token, from whatever page it asks', async () => {
    const response = await scrape(running.service);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    const foreign = await scrape(running.service, {
      authorization: 'Bearer secret-of-the-admin',
      origin: 'https://console.example',
    });
    expect(foreign.status).toBe(200);
  });

  it('count calls that were turned away at the gate', async () => {
    await post(running.service, RESERVE, {});
    const client = new ApiClient(running.service.grpcPort);
    await client.call(ReservationService.method.reserve, {});
    client.close();
    const text = await (await scrape(running.service, { authorization: 'Bearer secret-of-the-admin' })).text();
    expect(text).toContain(`rpc_method="${RESERVE}",rpc_status_code="UNAUTHENTICATED"} 2\n`);
    expect(text).toContain('budgetd_refusals_total{reason="UNAUTHENTICATED"} 2\n');
  });
});

it('is off where OTEL_SDK_DISABLED says so', async () => {
  const { service } = await start({ OTEL_SDK_DISABLED: 'true' });
  expect((await scrape(service)).status).toBe(404);
  await service.stop();
});

describe('traces', () => {
  const memory = spanMemory();
  let running: Awaited<ReturnType<typeof start>>;
  let client: ApiClient;
  beforeAll(async () => {
    running = await start({}, { spanProcessors: [memory.processor] });
    client = new ApiClient(running.service.grpcPort);
    await makeBudget(client, 'traced', 1_000n);
  });
  afterAll(async () => {
    client.close();
    await running.service.stop();
  });

  const spans = (): ReadableSpan[] => memory.exporter.getFinishedSpans();
  const linkedTo = (span: ReadableSpan | undefined): ReadableSpan[] => {
    const spanId = span?.spanContext().spanId;
    return spans().filter((each) => each.links.some((link) => link.context.spanId === spanId));
  };
  /** A span may end a moment after its call was answered. */
  const found = (find: (span: ReadableSpan) => boolean): Promise<ReadableSpan> =>
    expect
      .poll(() => spans().find(find), { interval: 5 })
      .toBeDefined()
      .then(() => spans().find(find) as ReadableSpan);
  const traceparent = `00-${TRACE}-${CALLER}-01`;

  it("of a call over HTTP belong to its caller's, and a batch is linked to it", async () => {
    memory.exporter.reset();
    const body = { budget: 'traced', idempotencyKey: 'http', maxMicros: '1' };
    expect((await post(running.service, RESERVE, body, { traceparent })).status).toBe(200);
    const call = await found((span) => span.name === RESERVE);
    expect(call.spanContext().traceId).toBe(TRACE);
    expect(call.parentSpanContext?.spanId).toBe(CALLER);
    expect(call.attributes).toEqual({ 'rpc.system.name': 'grpc', 'rpc.method': RESERVE, 'rpc.status_code': 'OK' });
    const batch = await found((span) => span.attributes['budgetd.batch.entries'] === 1);
    expect(linkedTo(call)).toContain(batch);
    expect(batch.spanContext().traceId).not.toBe(TRACE);
    expect(batch.attributes).toMatchObject({
      'budgetd.batch.outcome': 'committed',
      'budgetd.batch.commands': 1,
      'budgetd.batch.answered': 1,
      'budgetd.batch.trees': 1,
    });
  });

  it('of many calls at once over gRPC are all linked from the batches that decided them', async () => {
    memory.exporter.reset();
    const calls = Array.from({ length: 20 }, (_, index) =>
      client.call(ReservationService.method.reserve, { budget: 'traced', idempotencyKey: `g${index}`, maxMicros: 1n }),
    );
    await Promise.all(calls);
    await expect.poll(() => spans().filter((span) => span.name === RESERVE)).toHaveLength(20);
    for (const call of spans().filter((span) => span.name === RESERVE)) {
      await expect.poll(() => linkedTo(call).filter(({ name }) => name === 'batch')).not.toHaveLength(0);
    }
  });

  it('of a Session have a span a frame, linked from its batch', async () => {
    memory.exporter.reset();
    const session = client.session();
    const command = (commandId: bigint, budget: string) => ({
      commandId,
      command: { case: 'reserve' as const, value: { budget, idempotencyKey: `s${commandId}`, maxMicros: 1n } },
    });
    session.send(command(1n, 'traced'), command(2n, ''), command(3n, 'traced'));
    await session.until(3);
    session.stream.end();
    await session.ended;
    const frame = await found((span) => span.name === 'Session frame');
    const stream = await found((span) => span.name === 'budgetd.v1.ReservationService/Session');
    expect(frame.parentSpanContext?.spanId).toBe(stream.spanContext().spanId);
    expect(frame.attributes).toEqual({ 'budgetd.frame.commands': 3 });
    expect(linkedTo(frame).map(({ name }) => name)).toContain('batch');
    expect(stream.attributes['rpc.status_code']).toBe('OK');
  });
});

describe('log lines of a call', () => {
  it.each(['grpc', 'connect'] as const)('carry its trace on the %s server', async (which) => {
    const memory = spanMemory();
    const telemetry = await startTelemetry({
      settings: QUIET_TELEMETRY,
      labels: TELEMETRY_LABELS,
      version: '1.2.3',
      warn: () => undefined,
      spanProcessors: [memory.processor],
    });
    const logged: object[] = [];
    const log = { error: () => void logged.push(traceFields()), warn: () => undefined };
    const coordinator = new FakeCoordinator();
    coordinator.answer = () => Promise.reject(new Error('a fault of the program'));
    const observer = telemetry?.api;
    const services = createServices({
      coordinator,
      reads: new FakeReads(),
      log,
      observer,
      version: '',
      databaseKind: 'embedded',
    });
    const startServer = which === 'grpc' ? startGrpcServer : startConnectServer;
    const authenticate = createAuthenticator([]);
    const server = await startServer({ host: '127.0.0.1', port: 0, services, authenticate, log, observer });
    const client = new ApiClient(server.port);
    await client.call(ReservationService.method.reserve, { budget: 'acme', idempotencyKey: 'k', maxMicros: 1n });
    client.close();
    await server.stop({ graceMs: 0 });
    // Stopping empties the memory.
    const [span] = memory.exporter.getFinishedSpans();
    await telemetry?.stop();
    expect(span?.attributes).toMatchObject({ 'rpc.status_code': 'INTERNAL', 'error.type': 'INTERNAL' });
    const { traceId, spanId } = span?.spanContext() ?? { traceId: '', spanId: '' };
    expect(logged).toEqual([{ trace_id: traceId, span_id: spanId }]);
  });
});
