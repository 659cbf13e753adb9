// `queue`: what waits on a budget and below it. Its own file because it is the one list that comes from the leader's memory, first
// who comes next, and has no further pages.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { ListQueueResponseSchema, ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../gen/budgetd/v1/server_info_pb.ts';
import { drawQueue } from './draw-queue.ts';
import { rowsMaxOption, withExample } from './options.ts';
import { type CommandContext, type Session, withSession } from './session.ts';

/** As many as the service shows at once. */
const ROWS_MAX = 1_000;

/** Adds `queue` to the program. */
export function addQueueCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('queue <budget>')
    .description('list what waits for room on a budget and below it, the one that comes next first')
    .addOption(rowsMaxOption(ROWS_MAX))
    .action((budget: string, options: { readonly maxRows: number }) =>
      withSession(context, command, (session) => queue(session, budget, options.maxRows)),
    );
  withExample(command, 'queue acme', 'queue acme/triage --max-rows 20');
}

async function queue(session: Session, budget: string, rowsMax: number): Promise<void> {
  const request = { budget, pageSize: Math.min(rowsMax, ROWS_MAX) };
  const reply = await session.connection.call(ReservationService.method.listQueue, request);
  const { reservations, totalCount } = reply;
  const nowMs = await readClockMs(session);
  session.show(ListQueueResponseSchema, reply, () =>
    reservations.length === 0 ? `Nothing waits on ${budget}.` : drawQueue(reservations, nowMs, session.terminal),
  );
  if (totalCount <= BigInt(reservations.length)) return;
  const text = `${totalCount} wait in all: name a budget further down to see those there.`;
  session.terminal.err(session.terminal.paint('warning', text));
}

// Waits go by the coordinator's clock, so that is what "in 42s" is measured from.
async function readClockMs(session: Session): Promise<number> {
  if (session.isJson) return 0;
  const { time } = await session.connection.call(ServerInfoService.method.getServerInfo, {});
  return time === undefined ? session.nowMs() : timestampMs(time);
}
