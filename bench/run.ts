// `npm run bench`: figures, not judgements. Everything runs on one PostgreSQL in one run, so that ratios hold where absolute
// rates depend on the machine. Prints a table; `--json FILE` also writes the figures; `--only a,b` runs some parts; `--past N` is the size of the
// past in the part that has one; `--minutes N` and `--rate N` (reservations begun a second) are of the part that soaks.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { atEmbeddedDatabase } from '../src/app/database.ts';
import { startEmbeddedPostgres } from '../src/app/embedded/start-embedded-postgres.ts';
import type { BenchContext, Figure } from './parts/part.ts';
import { PARTS } from './parts/parts.ts';
import { printTable } from './print-table.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '5' },
    past: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '60' },
    // A third of what one service does on two cores that it shares with its database and the load.
    rate: { type: 'string', default: '500' },
    json: { type: 'string' },
  },
});

async function withDatabase<T>(work: (databaseUrl: string) => Promise<T>): Promise<T> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '') return work(given);
  const folder = await mkdtemp(join(tmpdir(), 'budgetd-bench-'));
  const embedded = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
  try {
    const sql = postgres(embedded.superuserUrl, { max: 1 });
    await sql`CREATE DATABASE budgetd`;
    await sql.end();
    return await work(atEmbeddedDatabase(embedded.superuserUrl));
  } finally {
    await embedded.stop();
    await rm(folder, { recursive: true });
  }
}

async function databaseVersion(databaseUrl: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const [row] = await sql<[{ version: string }]>`SELECT current_setting('server_version') AS version`;
    return row.version;
  } finally {
    await sql.end();
  }
}

async function main(): Promise<void> {
  const wanted = values.only?.split(',');
  const unknown = wanted?.filter((name) => !PARTS.some((part) => part.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new Error(`no part ${unknown.join(', ')}; there are ${PARTS.map((part) => part.name).join(', ')}`);
  }
  await withDatabase(async (databaseUrl) => {
    const machine = {
      processor: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      postgresql: await databaseVersion(databaseUrl),
    };
    process.stdout.write(
      `${machine.cores} × ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, PostgreSQL ${machine.postgresql}\n`,
    );
    const figures: Figure[] = [];
    const context: BenchContext = {
      databaseUrl,
      countMs: Number(values.seconds) * 1_000,
      pastCount: Number(values.past),
      soakMs: Number(values.minutes) * 60_000,
      soakPerSecond: Number(values.rate),
      figures,
    };
    for (const part of PARTS) {
      if (wanted === undefined ? part.onlyByName === true : !wanted.includes(part.name)) continue;
      process.stdout.write(`\n${part.name}: ${part.what}\n`);
      const own = await part.run(context);
      figures.push(...own);
      process.stdout.write(printTable(own));
    }
    if (values.json !== undefined) {
      await writeFile(values.json, `${JSON.stringify({ machine, figures }, undefined, 2)}\n`);
    }
  });
}

await main();
