// What tests of `prices` and `quote` begin with: a real PriceService, and budgetctl before it.
import { afterEach, beforeEach, expect } from 'vitest';
import { startApiServers } from '../../support/api-servers.ts';
import { type Result, runCli } from './run-cli.ts';

/** Servers of the test that runs. */
export let servers: Awaited<ReturnType<typeof startApiServers>>;

/** Starts servers for each test of the file that calls it. */
export function usePriceServers(): void {
  beforeEach(async () => {
    servers = await startApiServers();
  });
  afterEach(() => servers.stop());
}

/** Runs budgetctl. */
export const run = (...words: readonly string[]): Promise<Result> =>
  runCli({ address: `127.0.0.1:${servers.grpc.port}` }, words);

/** What it prints, where it has to succeed. */
export async function good(...words: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(...words);
  // What is left out of a row is warned of, which has its own test.
  expect({ exitCode, stderr: stderr.replaceAll(/^warning: .*\n/gm, '') }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

/** Adds a row. */
export const GPT = [
  'prices',
  'add',
  'openai/gpt-4o',
  '--input',
  '2.5',
  '--output',
  '10 USD',
  '--source',
  'contract 4711',
];
