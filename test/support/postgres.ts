// Databases for tests: each its own, copied from a template that was migrated once, on the server that DATABASE_URL names,
// else in a container where a runtime answers, else on the embedded PostgreSQL. The server is started once a run: by
// vitest's global set-up, which passes it on through the environment, or by the first database asked for elsewhere.
import { randomBytes } from 'node:crypto';
import { access, chmod, mkdtemp, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { startEmbeddedPostgres } from '../../src/app/embedded/start-embedded-postgres.ts';
import { migrate } from '../../src/store/migrate.ts';
import { fastFolder } from './fast-folder.ts';

const SERVER_VARIABLE = 'BUDGETD_TEST_SERVER_URL';
const TEMPLATE_VARIABLE = 'BUDGETD_TEST_TEMPLATE';
// Copies wait for each other on the template; a session that just left it can be in the way for a moment.
const COPY_COUNT_MAX = 20;
/** A database of a test's own. */
export interface TestDatabase {
  /** Of a superuser, in this database. */
  readonly url: string;
  drop(): Promise<void>;
}

interface Server {
  readonly url: string;
  readonly template: string;
  stop(): Promise<void>;
}

let own: Promise<Server> | undefined;

/** A migrated database, or an empty one. To be dropped by whoever asked. */
export async function createDatabase(options: { readonly empty?: boolean } = {}): Promise<TestDatabase> {
  const { url, template } = await currentServer();
  const name = `budgetd_test_${randomBytes(6).toString('hex')}`;
  await administer(url, (sql) => copy(sql, name, options.empty === true ? 'template0' : template));
  return {
    url: withName(url, name),
    drop: () => administer(url, async (sql) => void (await sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)),
  };
}

/** Starts the server for processes that this one will start; they find it in their environment. */
export async function startPostgres(): Promise<void> {
  own ??= startServer();
  const server = await own;
  process.env[SERVER_VARIABLE] = server.url;
  process.env[TEMPLATE_VARIABLE] = server.template;
}

/** Drops the template and stops the server, if this process started it. */
export async function stopPostgres(): Promise<void> {
  const server = await own;
  own = undefined;
  delete process.env[SERVER_VARIABLE];
  delete process.env[TEMPLATE_VARIABLE];
  await server?.stop();
}

async function currentServer(): Promise<Pick<Server, 'url' | 'template'>> {
  const url = process.env[SERVER_VARIABLE];
  const template = process.env[TEMPLATE_VARIABLE];
  if (url !== undefined && template !== undefined) return { url, template };
  own ??= startServer();
  return own;
}

async function startServer(): Promise<Server> {
  const base = await startBase();
  const template = `budgetd_template_${randomBytes(6).toString('hex')}`;
  try {
    await administer(base.url, async (sql) => void (await sql`CREATE DATABASE ${sql(template)} TEMPLATE template0`));
    await administer(withName(base.url, template), async (sql) => void (await migrate(sql)));
  } catch (error) {
    await base.stop();
    throw error;
  }
  return {
    url: base.url,
    template,
    stop: async () => {
      await administer(base.url, async (sql) => void (await sql`DROP DATABASE ${sql(template)} WITH (FORCE)`));
      await base.stop();
    },
  };
}

async function startBase(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '') return { url: given, stop: async () => undefined };
  return (await startContainer()) ?? (await startEmbedded());
}

async function startContainer() {
  if (!(await hasContainerRuntime())) return undefined;
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = await new PostgreSqlContainer('postgres:18').start();
  return { url: container.getConnectionUri(), stop: async () => void (await container.stop()) };
}

// A socket without anybody behind it is no runtime, so testcontainers is asked too; it is slow to load without reason.
async function hasContainerRuntime(): Promise<boolean> {
  const runtimeDir = process.env['XDG_RUNTIME_DIR'];
  const sockets = [
    '/var/run/docker.sock',
    join(homedir(), '.docker/run/docker.sock'),
    ...(runtimeDir === undefined ? [] : [join(runtimeDir, 'docker.sock'), join(runtimeDir, 'podman/podman.sock')]),
  ];
  const present = await Promise.all(
    sockets.map((socket) =>
      access(socket).then(
        () => true,
        () => false,
      ),
    ),
  );
  if (process.env['DOCKER_HOST'] === undefined && !present.includes(true)) return false;
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

async function startEmbedded() {
  const dataDir = await mkdtemp(join(await fastFolder(), 'budgetd-test-postgres-'));
  // The server's account may be another than ours and has to enter.
  await chmod(dataDir, 0o755);
  const log: string[] = [];
  try {
    const server = await startEmbeddedPostgres({
      dataDir,
      log: (level, message, fields) => log.push(`${level} ${message} ${JSON.stringify(fields)}`),
    });
    return {
      url: server.superuserUrl,
      stop: async () => {
        await server.stop();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  } catch (cause) {
    throw new Error(`the embedded PostgreSQL did not start:\n${log.join('\n')}`, { cause });
  }
}

async function copy(sql: postgres.Sql, name: string, template: string): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      await sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)}`;
      return;
    } catch (error) {
      // 55006: somebody is connected to the template.
      const isBusy = error instanceof postgres.PostgresError && error.code === '55006';
      if (!isBusy || count === COPY_COUNT_MAX) throw error;
    }
  }
}

async function administer(url: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

function withName(url: string, name: string): string {
  const named = new URL(url);
  named.pathname = `/${name}`;
  return named.href;
}
