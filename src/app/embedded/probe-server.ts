/**
 * Asks a server, over a real connection with the password of the data folder, who it is. Apart, because both adopting and starting
 * rest on this answer and on nothing weaker.
 */
import postgres from 'postgres';

import { SUPERUSER } from './create-cluster.ts';
import { errorCode } from './find-binaries.ts';

export type ServerAnswer =
  | Readonly<{ kind: 'answered'; clusterDir: string; version: string }>
  /** SQLSTATE 57P03: starting up, recovering or shutting down. */
  | Readonly<{ kind: 'busy' }>
  | Readonly<{ kind: 'silent'; error: Error }>;

/** A loopback connection takes a few milliseconds; a machine under full load some hundred. */
const CONNECT_TIMEOUT_S = 5;

/** URL of the superuser, for migrations. */
export function superuserUrl(port: number, password: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}

/** Never rejects: a server that can't be asked is a `silent` one. */
export async function probeServer(port: number, password: string): Promise<ServerAnswer> {
  const sql = postgres(superuserUrl(port, password), {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_S,
    fetch_types: false,
  });
  try {
    const [row] = await sql`
      select current_setting('data_directory') as directory, current_setting('server_version') as version`;
    const directory: unknown = row?.['directory'];
    const version: unknown = row?.['version'];
    if (typeof directory !== 'string' || typeof version !== 'string')
      throw new Error('The server answered without saying who it is');
    return { kind: 'answered', clusterDir: directory, version };
  } catch (error) {
    if (errorCode(error) === '57P03') return { kind: 'busy' };
    return { kind: 'silent', error: error instanceof Error ? error : new Error(String(error)) };
  } finally {
    await sql.end({ timeout: 0 });
  }
}
