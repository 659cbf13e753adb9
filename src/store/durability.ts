// "Acknowledged means durable" rests on settings of the server that an operator can turn off, also while it runs. Checked
// before the first append and again from time to time, since nothing else would tell.
import type { Sql } from './sql-client.ts';

/** Thrown where the server could lose a commit that it acknowledged, or can't keep the journal's bytes as they are. */
export class DurabilityError extends Error {
  override readonly name = 'DurabilityError';
}

const WANTED: Readonly<Record<string, (setting: string) => boolean>> = {
  fsync: (setting) => setting === 'on',
  full_page_writes: (setting) => setting === 'on',
  // 'local' waits for this server's disk; only 'off' answers before it.
  synchronous_commit: (setting) => setting !== 'off',
  server_encoding: (setting) => setting === 'UTF8',
};

/**
 * Throws DurabilityError where fsync, full_page_writes or synchronous_commit is off for this session, or where the
 * database is not in UTF-8. `allowUnsafe` lets all but the encoding pass, for throw-away data only. Default: false.
 */
export async function checkDurability(sql: Sql, allowUnsafe = false): Promise<void> {
  const rows = await sql<{ name: string; setting: string }[]>`
    SELECT name, setting FROM pg_catalog.pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'server_encoding')`;
  const wrong = rows.filter(({ name, setting }) => {
    const fits = WANTED[name]?.(setting) ?? true;
    return !fits && !(allowUnsafe && name !== 'server_encoding');
  });
  if (wrong.length === 0) return;
  const list = wrong.map(({ name, setting }) => `${name} is ${setting}`).join(', ');
  throw new DurabilityError(`PostgreSQL could lose or change what was acknowledged: ${list}`);
}
