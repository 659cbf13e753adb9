// The real service in the test's own process, so that its spans can be seen, and how tests of telemetry talk to it.
import { expect } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import type { Logger } from '../../src/app/logger.ts';
import { type Service, type ServiceOverrides, startService } from '../../src/app/service.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import type { ApiClient } from './api-servers.ts';

/** Reserve as `package.Service/Method`. */
export const RESERVE = 'budgetd.v1.ReservationService/Reserve';

/** Starts a service on a database and waits until it leads. */
export async function startObserved(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
  overrides: ServiceOverrides = {},
): Promise<Service> {
  const quiet = (): void => undefined;
  const logger: Logger = { lane: quiet, api: { error: quiet, warn: quiet } };
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    BUDGETD_GRPC_PORT: '0',
    BUDGETD_HTTP_PORT: '0',
    BUDGETD_SHUTDOWN_GRACE: '0s',
    BUDGETD_PRICE_CATALOGUE: 'off',
    ...environment,
  });
  const service = await startService(config, logger, overrides);
  expect(await service.standsBehind(10_000)).toBeUndefined();
  return service;
}

/** URL of a path on the HTTP server. */
export const url = (service: Pick<Service, 'connectPort'>, path: string) =>
  `http://127.0.0.1:${service.connectPort}${path}`;
/** GET /metrics. */
export const scrape = (service: Service, headers: Record<string, string> = {}) =>
  fetch(url(service, '/metrics'), { headers });
/** Calls a method with JSON over HTTP. */
export const post = (
  service: Pick<Service, 'connectPort'>,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
) =>
  fetch(url(service, `/${method}`), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Makes a root budget with one lifetime limit. */
export async function makeBudget(client: ApiClient, budget: string, amountMicros: bigint): Promise<void> {
  const limits = [{ name: 'all', amountMicros, window: { kind: { case: 'lifetime' as const, value: {} } } }];
  const made = await client.call(BudgetService.method.createBudget, {
    budget: { budget, kind: 'tenant', limits },
    idempotencyKey: `create ${budget}`,
  });
  expect(made).not.toHaveProperty('types');
}
