// What /metrics says of the real service after real calls over gRPC, HTTP and a Session, and who may look.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/app/service.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ApiClient } from '../support/api-servers.ts';
import { makeBudget, post, RESERVE, scrape, startObserved, url } from '../support/observed-service.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describe('metrics', () => {
  let service: Service;
  let client: ApiClient;
  beforeAll(async () => {
    service = await startObserved(database.url);
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
    expect(read(text, 'budgetd_waits_faults_total')).toBe(0);
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
    // Created, granted, refused, settled, and the alert that the settlement brought about.
    expect(read(text, 'budgetd_journal_entries_total')).toBe(5);
    expect(read(text, 'budgetd_commit_duration_count')).toBe(4);
  });

  it('say for how long callers waited for room', async () => {
    await makeBudget(client, 'awaited', 100n);
    const reserve = { budget: 'awaited', idempotencyKey: 'a', maxMicros: 100n };
    const first = await client.call(ReservationService.method.reserve, reserve);
    if (!('reservation' in first)) throw new Error('no grant');
    const waiting = { ...reserve, idempotencyKey: 'b', maxWait: { seconds: 0n, nanos: 50_000_000 } };
    await client.call(ReservationService.method.reserve, waiting);
    const { reservationId = '' } = first.reservation ?? {};
    await client.call(ReservationService.method.release, { reservationId, idempotencyKey: 'c' });
    const text = await (await scrape(service)).text();
    expect(read(text, 'budgetd_waits_total{outcome="timeout"}')).toBe(1);
    expect(read(text, 'budgetd_wait_duration_count{outcome="timeout"}')).toBe(1);
    expect(read(text, 'budgetd_wait_duration_sum{outcome="timeout"}')).toBeGreaterThan(0.03);
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
    expect(read(text, 'budgetd_verify_corrupt_trees')).toBe(0);
    expect(read(text, 'budgetd_verify_entries_total')).toBeGreaterThanOrEqual(0);
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
  let service: Service;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'budgetd-telemetry-'));
    const file = join(folder, 'tokens.yaml');
    await writeFile(file, tokens);
    service = await startObserved(database.url, { BUDGETD_TOKENS_FILE: file });
  });
  afterAll(async () => {
    await service.stop();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['secret-of-the-admin', 200],
    ['secret-of-auditor', 200],
    ['secret-of-a-part', 403],
    ['secret-of-the-agent', 403],
    ['nobody-knows-this-one', 401],
  ])('answer %s with %d', async (token, status) => {
    expect((await scrape(service, { authorization: `Bearer ${token}` })).status).toBe(status);
  });

  it('answer nobody without a token, from whatever page it asks', async () => {
    const response = await scrape(service);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    const foreign = await scrape(service, {
      authorization: 'Bearer secret-of-the-admin',
      origin: 'https://console.example',
    });
    expect(foreign.status).toBe(200);
  });

  it('count calls that were turned away at the gate', async () => {
    await post(service, RESERVE, {});
    const client = new ApiClient(service.grpcPort);
    await client.call(ReservationService.method.reserve, {});
    client.close();
    const text = await (await scrape(service, { authorization: 'Bearer secret-of-the-admin' })).text();
    expect(text).toContain(`rpc_method="${RESERVE}",rpc_status_code="UNAUTHENTICATED"} 2\n`);
    expect(text).toContain('budgetd_refusals_total{reason="UNAUTHENTICATED"} 2\n');
  });
});

it('is off where OTEL_SDK_DISABLED says so', async () => {
  const service = await startObserved(database.url, { OTEL_SDK_DISABLED: 'true' });
  expect((await scrape(service)).status).toBe(404);
  await service.stop();
});
