// `npm start`: reads the configuration, starts a service, says what to try, and stops in order on a signal.
import { bannerText } from './banner.ts';
import { ConfigError, loadConfig, packageVersion, SETTINGS } from './config.ts';
import { createLogger } from './logger.ts';
import { type Service, startService } from './service.ts';
import { TELEMETRY_SETTINGS } from './telemetry-config.ts';

function help(): string {
  const settings = [...SETTINGS, ...TELEMETRY_SETTINGS];
  const width = Math.max(...settings.map((setting) => setting.name.length));
  const lines = settings.map((setting) => `  ${setting.name.padEnd(width)}  ${setting.meaning} [${setting.default}]`);
  return ['budgetd: a budget coordinator for AI agents', '', 'Environment variables [default]:', ...lines, ''].join(
    '\n',
  );
}

function standby(service: Service, leader: string): string {
  const where = leader === '' ? 'another coordinator' : leader;
  return `\nbudgetd ${packageVersion()} stands by on ${service.host}:${service.grpcPort}; ${where} leads\n`;
}

// A coordinator that was killed leaves its lease behind: 6 seconds, and a round of looking for it.
const LEADER_WAIT_MS = 8_000;

async function run(): Promise<void> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    process.stdout.write(help());
    return;
  }
  if (process.argv.includes('--version')) {
    process.stdout.write(`${packageVersion()}\n`);
    return;
  }
  const unknown = process.argv.slice(2);
  if (unknown.length > 0)
    throw new ConfigError([`unknown argument ${unknown.join(' ')}; everything is set by the environment`]);
  const config = loadConfig(process.env);
  const logger = createLogger(config.logLevel);
  const starting = startService(config, logger);
  // A signal that comes while it starts waits for the start, or the embedded PostgreSQL would be left running.
  const stop = (exitCode: number): void => {
    starting
      .then((started) => started.stop())
      .then(
        () => process.exit(exitCode),
        (error: unknown) => {
          logger.lane('error', 'the service did not stop in order', { error });
          process.exit(1);
        },
      );
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      logger.lane('info', `${signal}: finishing what is under way`);
      stop(0);
    });
  }
  const service = await starting;
  service.onFatal((error) => {
    logger.lane('error', 'the service cannot go on', { error });
    stop(1);
  });
  const leader = await service.standsBehind(LEADER_WAIT_MS);
  if (leader !== undefined) {
    process.stdout.write(standby(service, leader));
    return;
  }
  const { host, grpcPort, connectPort, databaseKind } = service;
  const needsToken = config.tokens.length > 0;
  process.stdout.write(
    bannerText({ version: packageVersion(), host, grpcPort, connectPort, databaseKind, needsToken }),
  );
}

run().catch((error: unknown) => {
  const known = error instanceof ConfigError;
  const text = known
    ? `${error.message}\nSee: npm start -- --help`
    : error instanceof Error
      ? describe(error)
      : String(error);
  process.stderr.write(`budgetd could not start: ${text}\n`);
  process.exitCode = known ? 2 : 1;
});

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? `\n  because: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
