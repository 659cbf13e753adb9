// `status`, also called `doctor`: what the coordinator says of itself, its health, and what looks wrong. Ends with a
// code other than 0 when it is unwell, so that a probe can use it.
import { toJson } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { BudgetService } from '../../gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import {
  type GetServerInfoResponse,
  GetServerInfoResponseSchema,
  ServerInfoService,
} from '../../gen/budgetd/v1/server_info_pb.ts';
import type { HealthStatus } from './connection.ts';
import { type Diagnosis, diagnose } from './diagnose.ts';
import { durationToMs, formatDurationMs } from './duration.ts';
import { EXIT } from './exit-code.ts';
import { drawFacts } from './facts.ts';
import { formatInstant } from './instant.ts';
import { withExample } from './options.ts';
import { printable } from './printable-text.ts';
import { type CommandContext, type Session, withSession } from './session.ts';

/** The whole, then the services that do the work. */
const HEALTH_SERVICES = ['', ReservationService.typeName, BudgetService.typeName] as const;

/** Adds `status` to the program. */
export function addStatusCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('status')
    .alias('doctor')
    .description('how the coordinator is, and what looks wrong; exit code 6 if it is unwell')
    .action(() => withSession(context, command, (session) => showStatus(session, context)));
  withExample(command, 'status', 'doctor --server 10.0.0.7:50051 --json');
}

async function showStatus(session: Session, context: CommandContext): Promise<void> {
  const info = await session.connection.call(ServerInfoService.method.getServerInfo, {});
  const nowMs = session.nowMs();
  const health = await Promise.all(HEALTH_SERVICES.map((service) => session.connection.checkHealth(service)));
  const worst = health.find((status) => status !== 'SERVING') ?? 'SERVING';
  const diagnosis = diagnose(info, worst, nowMs);
  const healthOf = Object.fromEntries(HEALTH_SERVICES.map((service, index) => [service, health[index] ?? 'UNKNOWN']));
  session.terminal.out(
    session.isJson
      ? JSON.stringify(
          {
            info: toJson(GetServerInfoResponseSchema, info, { alwaysEmitImplicit: true }),
            health: healthOf,
            ...diagnosis,
          },
          null,
          2,
        )
      : drawStatus(session, info, worst, diagnosis),
  );
  context.end(diagnosis.problems.length === 0 ? EXIT.ok : EXIT.unavailable);
}

function drawStatus(session: Session, info: GetServerInfoResponse, health: HealthStatus, diagnosis: Diagnosis): string {
  const { terminal } = session;
  const facts = drawFacts(
    [
      ['server', `${session.connection.server}, budgetd ${info.version}`],
      ['health', health],
      ['writer', `${info.leader ? 'this one' : info.leaderAddress || 'none known'}, epoch ${info.leaderEpoch}`],
      ['database', databaseOf(info)],
      ['reads behind', formatDurationMs(durationToMs(info.projectionLag))],
      ['commands', `${info.queueDepth} queued to be decided`],
      ['for room', waitingText(info.waitingCount)],
      ['prices', pricesOf(info)],
      ['clock', formatInstant(info.time)],
    ],
    terminal,
  );
  const findings = [
    ...diagnosis.problems.map((text) => terminal.paint('bad', `✗ ${printable(text)}`)),
    ...diagnosis.warnings.map((text) => terminal.paint('warning', `! ${printable(text)}`)),
    ...(diagnosis.problems.length === 0 ? [terminal.paint('good', '✓ serving; nothing stops it')] : []),
  ];
  return `${facts}\n\n${findings.join('\n')}`;
}

// Which budgets they wait for only the queue of each says.
function waitingText(count: bigint): string {
  return `${count} waiting${count === 0n ? '' : ' (budgetctl queue BUDGET)'}`;
}

function pricesOf({ prices }: GetServerInfoResponse): string | undefined {
  if (prices === undefined || (prices.rowCount === 0n && prices.catalogue === '')) return undefined;
  const from = prices.catalogue === '' ? 'no catalogue' : `${prices.catalogue} ${prices.catalogueVersion}`;
  return `${prices.rowCount} rows, ${from}`;
}

function databaseOf(info: GetServerInfoResponse): string {
  if (info.databaseVersion === '') return 'cannot be reached';
  return `PostgreSQL ${info.databaseVersion} (${info.databaseKind}), schema ${info.schemaVersion}`;
}
