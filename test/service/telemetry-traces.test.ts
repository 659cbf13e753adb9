// Spans and log lines of the real service: whose child each is, which batch is linked to it, and where they are sent.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthenticator } from '../../src/api/auth/authenticator.ts';
import { startConnectServer } from '../../src/api/connect/start-connect-server.ts';
import { startGrpcServer } from '../../src/api/grpc/start-grpc-server.ts';
import { createServices } from '../../src/api/services/create-services.ts';
import type { Service } from '../../src/app/service.ts';
import { TELEMETRY_LABELS } from '../../src/app/telemetry-labels.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { startTelemetry } from '../../src/telemetry/start-telemetry.ts';
import { traceFields } from '../../src/telemetry/trace-fields.ts';
import { ApiClient } from '../support/api-servers.ts';
import { FakeCoordinator, FakeReads } from '../support/fake-coordinator.ts';
import { makeBudget, post, RESERVE, startObserved } from '../support/observed-service.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { ServiceUnderTest } from '../support/service-under-test.ts';
import { QUIET_TELEMETRY, spanMemory } from '../support/telemetry-settings.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describe('traces', () => {
  const memory = spanMemory();
  let service: Service;
  let client: ApiClient;
  beforeAll(async () => {
    service = await startObserved(database.url, {}, { spanProcessors: [memory.processor] });
    client = new ApiClient(service.grpcPort);
    await makeBudget(client, 'traced', 1_000n);
  });
  afterAll(async () => {
    client.close();
    await service.stop();
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
    expect((await post(service, RESERVE, body, { traceparent })).status).toBe(200);
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

describe('OTLP', () => {
  /** A collector that answers or does not, and the paths that it was asked for. */
  async function listen(answers: boolean) {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? '');
      request.resume();
      if (answers) request.on('end', () => response.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    };
    return { paths, endpoint: `http://127.0.0.1:${port}`, close };
  }

  async function callOnce(endpoint: string): Promise<ServiceUnderTest> {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
    const service = await ServiceUnderTest.start({ databaseUrl: database.url, environment });
    const client = new ApiClient(service.grpcPort);
    await client.call(ReservationService.method.reserve, { budget: 'absent', idempotencyKey: 'k', maxMicros: 1n });
    client.close();
    return service;
  }

  it('takes traces and metrics to the collector that is named, the last ones at the stop', async () => {
    const collector = await listen(true);
    const service = await callOnce(collector.endpoint);
    await service.stop();
    expect([...new Set(collector.paths)].sort()).toEqual(['/v1/metrics', '/v1/traces']);
    await collector.close();
  });

  it('does not keep a service from stopping where the collector says nothing', async () => {
    const collector = await listen(false);
    const service = await callOnce(collector.endpoint);
    const startMs = performance.now();
    await service.stop();
    // Three seconds for telemetry, the rest for everything else; the exporters themselves would wait for ten.
    expect(performance.now() - startMs).toBeLessThan(8_000);
    expect(service.logTail()).toContain('could not be sent in time');
    await collector.close();
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
    const text = await telemetry?.prometheusText();
    // Stopping empties the memory.
    const [span] = memory.exporter.getFinishedSpans();
    await telemetry?.stop();
    expect(span?.attributes).toMatchObject({ 'rpc.status_code': 'INTERNAL', 'error.type': 'INTERNAL' });
    const { traceId, spanId } = span?.spanContext() ?? { traceId: '', spanId: '' };
    expect(logged).toEqual([{ trace_id: traceId, span_id: spanId }]);
    expect(text).toContain('budgetd_faults_total 1\n');
  });
});
