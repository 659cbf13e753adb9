// What the environment may say, and how a start that can't use it names what is wrong.
import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/app/config.ts';

/** Problems of an environment; none where it can be used. */
function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('settings that nobody reads', () => {
  it.each([
    ['BUDGETD_GPRC_PORT', 'BUDGETD_GRPC_PORT'],
    ['BUDGETD_PORT', 'BUDGETD_GRPC_PORT'],
    ['BUDGETD_LOGLEVEL', 'BUDGETD_LOG_LEVEL'],
    ['BUDGETD_TOKENFILE', 'BUDGETD_TOKENS_FILE'],
    ['BUDGETD_ADMIN_TOKENS', 'BUDGETD_ADMIN_TOKEN'],
    ['BUDGETD_DATABASE_URL', 'DATABASE_URL'],
  ])('%s is refused, and %s named', (name, near) => {
    expect(problemsOf({ [name]: 'x' })).toEqual([`${name} is no setting (${near} is)`]);
  });

  it('names all of them, and nothing where nothing is near', () => {
    expect(problemsOf({ BUDGETD_ZZZZZZZZZZZZ: '1', BUDGETD_COLOUR_OF_TABLES: '1' })).toEqual([
      'BUDGETD_COLOUR_OF_TABLES is no setting',
      'BUDGETD_ZZZZZZZZZZZZ is no setting',
    ]);
  });

  it('leaves alone what is empty, what clients and tests read, and what Kubernetes sets', () => {
    const links = {
      BUDGETD_SERVICE_HOST: '10.0.0.1',
      BUDGETD_SERVICE_PORT: '50051',
      BUDGETD_SERVICE_PORT_GRPC: '50051',
      BUDGETD_PORT: 'tcp://10.0.0.1:50051',
      BUDGETD_PORT_50051_TCP_ADDR: '10.0.0.1',
      BUDGETD_PG_SERVICE_HOST: '10.0.0.2',
      BUDGETD_PG_PORT_5432_TCP: 'tcp://10.0.0.2:5432',
    };
    expect(
      problemsOf({ ...links, BUDGETD_SERVER: 'x:1', BUDGETD_TOKEN: 't', BUDGETD_TEST_X: '1', BUDGETD_Y: '' }),
    ).toEqual([]);
  });
});

it.each([
  ['BUDGETD_GRACE', 'at most 1h'],
  ['BUDGETD_SHUTDOWN_GRACE', 'at most 10m'],
  ['BUDGETD_QUEUE_AGE', 'at least 1s and at most 24h'],
])('%s says its bound as the README does', (name, bound) => {
  expect(problemsOf({ [name]: '2d' })).toEqual([`${name}=2d must be a duration such as 5s, ${bound}`]);
});

it('reads how prices are kept', () => {
  const days = (count: number) => count * 86_400_000;
  const defaults = { priceCatalogue: true, priceStaleAfterMs: days(90), outputTokensDefault: 4_096 };
  expect(loadConfig({})).toMatchObject(defaults);
  const env = { BUDGETD_PRICE_CATALOGUE: 'off', BUDGETD_PRICE_STALE_AFTER: '720h', BUDGETD_OUTPUT_TOKENS_DEFAULT: '1' };
  expect(loadConfig(env)).toMatchObject({ priceCatalogue: false, priceStaleAfterMs: days(30), outputTokensDefault: 1 });
  expect(problemsOf({ BUDGETD_OUTPUT_TOKENS_DEFAULT: '0' })).toHaveLength(1);
  expect(problemsOf({ BUDGETD_PRICE_STALE_AFTER: '1m' })).toHaveLength(1);
});

it('reads how requests wait', () => {
  expect(loadConfig({})).toMatchObject({ queueAgeMs: 60_000, queueCountMax: 10_000 });
  const env = { BUDGETD_QUEUE_AGE: '1s', BUDGETD_QUEUE_MAX: '0' };
  expect(loadConfig(env)).toMatchObject({ queueAgeMs: 1_000, queueCountMax: 0 });
  expect(problemsOf({ BUDGETD_QUEUE_AGE: '999ms' })).toHaveLength(1);
  expect(problemsOf({ BUDGETD_QUEUE_MAX: '20001' })).toEqual([
    'BUDGETD_QUEUE_MAX=20001 must be a whole number, 0 to 20000',
  ]);
});
