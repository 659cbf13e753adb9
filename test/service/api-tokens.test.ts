// Who may come in and do what, through a real client: tokens, roles and subtrees.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Token } from '../../src/api/auth/authenticator.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';
import { path } from '../support/fake-coordinator.ts';

const ID = 'acme:06fk2xw8q40000000001';
const { reserve, batchRenew, getReservation, listReservations } = ReservationService.method;
const { getBudget, listBudgets, topUp } = BudgetService.method;

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: ApiClient;
const clients: ApiClient[] = [];

const connect = (token?: string): ApiClient => {
  const opened = new ApiClient(servers.grpc.port, token);
  clients.push(opened);
  return opened;
};

const start = async (options: Parameters<typeof startApiServers>[0] = {}): Promise<void> => {
  servers = await startApiServers(options);
  client = connect();
};

afterEach(async () => {
  for (const opened of clients.splice(0)) opened.close();
  await servers.stop();
});

describe('with tokens', () => {
  const tokens: readonly Token[] = [
    { name: 'root', role: 'admin', secret: { plaintext: 'admin-secret' } },
    { name: 'bot', role: 'agent', subtree: path('acme/bots'), secret: { plaintext: 'agent-secret' } },
    { name: 'finance', role: 'auditor', secret: { plaintext: 'auditor-secret' } },
  ];
  beforeEach(() => start({ tokens }));

  it('knows nobody without a token or with a wrong one, whatever the request', async () => {
    for (const stranger of [client, connect('wrong'), connect('')]) {
      expect(await stranger.call(reserve, { budget: '/' })).toMatchObject({ code: 16, reason: 'UNAUTHENTICATED' });
    }
    expect(servers.coordinator.commands).toEqual([]);
    expect((await client.session().ended).code).toBe(16);
  });

  it('keeps health and reflection open', async () => {
    expect(await client.raw('/grpc.health.v1.Health/Check', Buffer.alloc(0))).toEqual(Buffer.from([0x08, 1]));
  });

  it('writes the name of the token into commands', async () => {
    await connect('admin-secret').call(getBudget, { budget: 'acme' });
    expect(servers.coordinator.commands).toMatchObject([{ actor: 'root' }]);
  });

  it('judges fields before permission, and permission before anything else', async () => {
    const auditor = connect('auditor-secret');
    expect(await auditor.call(reserve, {})).toMatchObject({ code: 3 });
    const request = { budget: 'acme', idempotencyKey: 'k', maxMicros: 1n };
    expect(await auditor.call(reserve, request)).toMatchObject({ code: 7, reason: 'FORBIDDEN', metadata: {} });
    expect(servers.coordinator.commands).toEqual([]);
  });

  it('keeps an agent in its subtree', async () => {
    const agent = connect('agent-secret');
    const inside = { budget: 'acme/bots/1', idempotencyKey: 'k', maxMicros: 1n };
    expect('code' in (await agent.call(reserve, inside))).toBe(false);
    expect(await agent.call(reserve, { ...inside, budget: 'acme' })).toMatchObject({ code: 7 });
    expect(await agent.call(listBudgets, {})).toMatchObject({ code: 7 });
    expect(await agent.call(listReservations, { budget: 'acme' })).toMatchObject({ code: 7 });
    expect(await agent.call(topUp, { budget: 'acme/bots', idempotencyKey: 'k', addMicros: 1n })).toMatchObject({
      code: 7,
    });
    // The fake's reservations belong to acme/triage.
    expect(await agent.call(getReservation, { reservationId: ID })).toMatchObject({ code: 7 });
    const batch = await agent.call(batchRenew, { renewals: [{ reservationId: ID }] });
    expect(batch).toMatchObject({ results: [{ result: { case: 'error', value: { code: 7 } } }] });
    const info = await agent.call(ServerInfoService.method.getServerInfo, {});
    expect(info).toMatchObject({ uncappedBudgets: [], quarantinedTrees: [] });
  });

  it('keeps a session in its subtree too', async () => {
    const session = connect('agent-secret').session();
    session.send(
      { commandId: 1n, command: { case: 'getReservation', value: { reservationId: ID } } },
      {
        commandId: 2n,
        command: { case: 'reserve', value: { budget: 'acme/bots', idempotencyKey: 'k', maxMicros: 1n } },
      },
    );
    const results = await session.until(2);
    expect(results.find(({ commandId }) => commandId === 1n)?.result).toMatchObject({
      case: 'error',
      value: { code: 7 },
    });
    expect(results.find(({ commandId }) => commandId === 2n)?.result.case).toBe('reserve');
    session.stream.end();
    expect((await session.ended).code).toBe(0);
  });
});
