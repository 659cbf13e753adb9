// The client in clients/typescript against both ends of what it promises: every service of the contract, on one connection.
import { readdirSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { type BudgetdClient, createClient } from '../../clients/typescript/src/create-client.ts';
import { startApiServers } from '../support/api-servers.ts';

const GENERATED = new URL('../../clients/typescript/src/gen/budgetd/v1/', import.meta.url);

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: BudgetdClient;

async function start(timeoutMs?: number): Promise<void> {
  servers = await startApiServers();
  const baseUrl = `http://127.0.0.1:${servers.grpc.port}`;
  client = createClient({ baseUrl, ...(timeoutMs !== undefined && { timeoutMs }) });
}

afterEach(async () => {
  client.close();
  await servers.stop();
});

it('has every method of every service of the contract', async () => {
  await start();
  const files = readdirSync(GENERATED).filter((name) => name.endsWith('_pb.ts'));
  const modules = await Promise.all(files.map((name) => import(new URL(name, GENERATED).href)));
  const services = modules
    .flatMap((module: Readonly<Record<string, unknown>>) => Object.values(module))
    .filter((each) => typeof each === 'object' && each !== null && 'kind' in each && each.kind === 'service')
    .map((each) => Object.keys((each as { readonly method: object }).method).sort());
  const { close: _, ...clients } = client;
  const sorted = (lists: readonly string[][]): string[] => lists.map((list) => list.join(' ')).sort();
  expect(services).not.toEqual([]);
  expect(sorted(Object.values(clients).map((each) => Object.keys(each).sort()))).toEqual(sorted(services));
});

it('watches events, which no time-out ends', async () => {
  await start(1);
  const watch = client.events.watchEvents({ start: { case: 'fromBeginning', value: true } });
  await expect(client.serverInfo.getServerInfo({})).rejects.toThrow('deadline_exceeded');
  for await (const { caughtUp } of watch) if (caughtUp) return;
  throw new Error('the watch has ended');
});

it('keeps a Session open, which no time-out ends', async () => {
  await start(1);
  const frames = Promise.withResolvers<void>();
  async function* requests() {
    yield {
      commands: [{ commandId: 1n, command: { case: 'getReservation' as const, value: { reservationId: 'x' } } }],
    };
    await frames.promise;
  }
  await expect(client.serverInfo.getServerInfo({})).rejects.toThrow('deadline_exceeded');
  const results = [];
  for await (const frame of client.reservations.session(requests())) {
    results.push(...frame.results);
    frames.resolve();
  }
  expect(results.map(({ commandId, result }) => [commandId, result.case])).toEqual([[1n, 'error']]);
});
