/**
 * Finds the embedded PostgreSQL that another process runs, for tools that look in beside a running service. Starts and stops
 * nothing.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { readPostmasterFile } from './postmaster-process.ts';
import { superuserUrl } from './probe-server.ts';

/** `postgres://…` of the server that runs on this data folder. Throws if there is none or it can't be read. */
export async function runningEmbeddedUrl(dataDir: string): Promise<string> {
  const record = await readPostmasterFile(join(dataDir, 'postgres'));
  if (record?.port === undefined) throw new Error(`No PostgreSQL runs on ${dataDir}`);
  const password = await readFile(join(dataDir, 'postgres.password'), 'utf8');
  return superuserUrl(record.port, password.trim());
}
