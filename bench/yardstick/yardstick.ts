// The yardstick: one row lock and one PL/pgSQL call a reserve, on the PostgreSQL that the service uses in the same run.
// Driven by pgbench where there is one, since it costs the shared cores least; else by a driver of this project's own.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';

const run = promisify(execFile);

/** How the yardstick is to be used. */
export interface YardstickPlan {
  readonly databaseUrl: string;
  readonly connections: number;
  /** 1: one hot tree; more: spread evenly. At most 1,024. */
  readonly trees: number;
  readonly seconds: number;
}

/** What it did. */
export interface YardstickReport {
  readonly driver: 'pgbench' | 'postgres.js';
  readonly perSecond: number;
  readonly meanMs: number;
  /** Rows that it left, counted. */
  readonly rows: number;
}

/** Makes the tables anew. */
export async function prepareYardstick(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(await readFile(join(import.meta.dirname, 'yardstick.sql'), 'utf8')).simple();
  } finally {
    await sql.end();
  }
}

/** Runs it once. */
export async function runYardstick(plan: YardstickPlan): Promise<YardstickReport> {
  const before = await countRows(plan.databaseUrl);
  const hasPgbench = spawnSync('pgbench', ['--version']).status === 0;
  const measured = hasPgbench ? await withPgbench(plan) : await withDriver(plan);
  const rows = (await countRows(plan.databaseUrl)) - before;
  return { ...measured, driver: hasPgbench ? 'pgbench' : 'postgres.js', rows };
}

async function withPgbench(plan: YardstickPlan): Promise<Pick<YardstickReport, 'perSecond' | 'meanMs'>> {
  const folder = await mkdtemp(join(tmpdir(), 'yardstick-'));
  try {
    const script = join(folder, 'reserve.sql');
    await writeFile(
      script,
      `\\set key random(1, 9000000000000000000)\n\\set tree random(0, ${plan.trees - 1})\n` +
        'SELECT yardstick.reserve(3 * :tree + 3, cast(:key AS text), 1);\n',
    );
    const words = [
      '-n',
      '-M',
      'prepared',
      '-f',
      script,
      '-c',
      `${plan.connections}`,
      '-j',
      '1',
      '-T',
      `${plan.seconds}`,
    ];
    const { stdout } = await run('pgbench', [...words, plan.databaseUrl]);
    return {
      perSecond: numberAfter(stdout, /^tps = ([\d.]+)/m),
      meanMs: numberAfter(stdout, /latency average = ([\d.]+) ms/),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function withDriver(plan: YardstickPlan): Promise<Pick<YardstickReport, 'perSecond' | 'meanMs'>> {
  const sql = postgres(plan.databaseUrl, { max: plan.connections });
  const startMs = performance.now();
  const untilMs = startMs + plan.seconds * 1_000;
  let count = 0;
  const worker = async (no: number): Promise<void> => {
    for (let i = 0; performance.now() < untilMs; i++) {
      const tree = (no + i * plan.connections) % plan.trees;
      await sql`SELECT yardstick.reserve(${3 * tree + 3}, ${`${startMs}-${no}-${i}`}, 1)`;
      count += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: plan.connections }, (_, no) => worker(no)));
  } finally {
    await sql.end();
  }
  const seconds = (performance.now() - startMs) / 1_000;
  return { perSecond: count / seconds, meanMs: (seconds * 1_000 * plan.connections) / count };
}

async function countRows(databaseUrl: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const [row] = await sql<[{ count: string }]>`SELECT count(*) AS count FROM yardstick.reservations`;
    return Number(row.count);
  } finally {
    await sql.end();
  }
}

function numberAfter(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`pgbench did not print ${pattern.source}:\n${text}`);
  return Number(found);
}
