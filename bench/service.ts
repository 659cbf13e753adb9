// A service in a process of its own, on a database of the bench's choice, and what it left in the database.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import postgres from 'postgres';

/** A service under load. */
export interface BenchService {
  readonly address: string;
  readonly pid: number;
  /** Resident memory, in MB. */
  residentMb(): Promise<number>;
  /** Processor time that it has used, in seconds. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, '..');

/** The words of `npm start`: what is measured runs with its flags. */
async function startWords(): Promise<string[]> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const [, ...words] = scripts.start.split(' ');
  return words;
}

/** Starts the service as `npm start` does. */
export async function startBenchService(databaseUrl: string, env: Record<string, string> = {}): Promise<BenchService> {
  const child = spawn(process.execPath, await startWords(), {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      BUDGETD_GRPC_PORT: '0',
      BUDGETD_HTTP_PORT: '0',
      BUDGETD_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await addressOf(child);
  return {
    address,
    pid: child.pid ?? 0,
    residentMb: () => residentMb(child.pid ?? 0),
    cpuSeconds: () => cpuSeconds(child.pid ?? 0),
    stop: () => stop(child),
  };
}

/** One unary call, for preparing. */
export async function callOnce<I extends DescMessage, O extends DescMessage>(
  address: string,
  method: {
    readonly parent: { readonly typeName: string };
    readonly name: string;
    readonly input: I;
    readonly output: O;
  },
  request: MessageInitShape<I>,
): Promise<MessageShape<O>> {
  const client = new Client(address, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request),
        (error, reply) =>
          reply === undefined ? reject(error ?? new Error('an answer without a message')) : resolve(reply),
      );
    });
  } finally {
    client.close();
  }
}

/** Rows that a service left: what a rate is believed by. */
export interface RowCounts {
  readonly journalRows: number;
  readonly entries: number;
  readonly keys: number;
}

/** Counts rows. */
export async function countRows(databaseUrl: string): Promise<RowCounts> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const [row] = await sql<[{ rows: string; entries: string; keys: string }]>`
      SELECT (SELECT count(*) FROM budgetd.journal) AS rows,
        (SELECT coalesce(sum(h.seq), 0) FROM budgetd.tree_heads h) AS entries,
        (SELECT count(*) FROM budgetd.idempotency_keys) AS keys`;
    return { journalRows: Number(row.rows), entries: Number(row.entries), keys: Number(row.keys) };
  } finally {
    await sql.end();
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = /gRPC on (\S+?),/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
}

/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may have spaces: fields 14 and 15 are the times in user and in system mode.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024);
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.removeAllListeners('exit');
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
