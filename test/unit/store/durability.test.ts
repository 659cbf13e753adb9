// Which settings of a server are refused, whatever else it says of itself.
import { expect, it } from 'vitest';
import { checkDurability, DurabilityError } from '../../../src/store/durability.ts';
import type { Sql } from '../../../src/store/sql-client.ts';

const GOOD = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on', server_encoding: 'UTF8' };
const serverWith = (settings: Readonly<Record<string, string>>) =>
  (async () =>
    Object.entries({ ...GOOD, ...settings }).map(([name, setting]) => ({ name, setting }))) as unknown as Sql;

it.each([
  ['fsync', 'off'],
  ['full_page_writes', 'off'],
  ['synchronous_commit', 'off'],
])('%s = %s is refused, unless that was asked for', async (name, setting) => {
  const server = serverWith({ [name]: setting });
  await expect(checkDurability(server)).rejects.toThrow(DurabilityError);
  await expect(checkDurability(server)).rejects.toThrow(`${name} is ${setting}`);
  await checkDurability(server, true);
});

it('another encoding is refused in any case', async () => {
  await expect(checkDurability(serverWith({ server_encoding: 'SQL_ASCII' }), true)).rejects.toThrow(DurabilityError);
});

it.each([['on'], ['local'], ['remote_write'], ['remote_apply']])(
  'synchronous_commit = %s is durable',
  async (setting) => {
    await checkDurability(serverWith({ synchronous_commit: setting }));
  },
);
