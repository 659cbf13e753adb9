// The commands that look at many things at once: tree, top and reservations. Each says so when it did not show all.

import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Command, Option } from 'commander';
import { type Budget, BudgetService, ListBudgetsResponseSchema } from '../../gen/budgetd/v1/budget_pb.ts';
import {
  ListReservationsResponseSchema,
  type Reservation,
  ReservationState,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import { ServerInfoService } from '../../gen/budgetd/v1/server_info_pb.ts';
import { wordOption } from './closed-word.ts';
import { drawTree } from './draw-tree.ts';
import { drawHolders, GROUPINGS, type Grouping, groupHolds, holdersToJson } from './group-holds.ts';
import { listReservations } from './list-reservations.ts';
import { parseCount, rowsMaxOption, withExample } from './options.ts';
import { type Listing, readPages } from './pages.ts';
import { type CommandContext, type Session, withSession } from './session.ts';
import { drawReservations, STATE_WORDS } from './show-reservation.ts';

/** Rows that a person may still want to scroll through. */
const LIST_ROWS_MAX = 1000;
/** `top` adds up, so it reads on; at 1000 rows a call this is 100 calls, some seconds. */
const TOP_ROWS_MAX = 100_000;

interface TreeOptions {
  readonly depth?: number;
  readonly maxRows: number;
}

interface TopOptions {
  readonly by: Grouping;
  readonly charged?: boolean;
  readonly maxRows: number;
}

interface ReservationsOptions {
  readonly state?: keyof typeof STATE_WORDS;
  readonly holder?: string;
  readonly charged?: boolean;
  readonly maxRows: number;
  readonly pageToken?: string;
}

/** Adds `tree`, `top` and `reservations` to the program. */
export function addListCommands(program: Command, context: CommandContext): void {
  const treeCommand = program
    .command('tree [budget]')
    .description('draw a budget and all below it, or all trees: settled, held, available')
    .addOption(new Option('--depth <n>', 'go down at most so many levels').argParser(parseCount))
    .addOption(rowsMaxOption(LIST_ROWS_MAX))
    .action((path: string | undefined, options: TreeOptions) =>
      withSession(context, treeCommand, (session) => tree(session, path ?? '', options)),
    );
  withExample(treeCommand, 'tree', 'tree acme --depth 2');

  const topCommand = program
    .command('top [budget]')
    .description('who holds what: live reservations that name a budget or one below it, by holder, the largest first')
    .addOption(chargedOption())
    .addOption(wordOption('--by <what>', 'what to add up by', Object.keys(GROUPINGS)).default('holder'))
    .addOption(rowsMaxOption(TOP_ROWS_MAX))
    .action((path: string | undefined, options: TopOptions) =>
      withSession(context, topCommand, (session) => top(session, path ?? '', options)),
    );
  withExample(topCommand, 'top acme', 'top --by budget', 'top acme/people/maya --charged');

  const reservationsCommand = program
    .command('reservations <budget>')
    .description('list the reservations that name a budget or one below it, oldest first')
    .addOption(chargedOption())
    .addOption(wordOption('--state <state>', 'only those in this state', Object.keys(STATE_WORDS)))
    .option('--holder <text>', 'only those with this holder')
    .addOption(rowsMaxOption(LIST_ROWS_MAX))
    .option('--page-token <token>', 'go on where an earlier list stopped')
    .action((path: string, options: ReservationsOptions) =>
      withSession(context, reservationsCommand, (session) => reservations(session, path, options)),
    );
  withExample(reservationsCommand, 'reservations acme --state active', 'reservations acme/triage --holder worker-7');
}

function chargedOption(): Option {
  return new Option('--charged', 'those too that charge it by "also": reads the whole tree to find them');
}

async function tree(session: Session, path: string, options: TreeOptions): Promise<void> {
  const listing = await listBudgets(session, path, options);
  const reply = create(ListBudgetsResponseSchema, { budgets: [...listing.rows], nextPageToken: listing.nextPageToken });
  session.show(ListBudgetsResponseSchema, reply, () =>
    reply.budgets.length === 0
      ? 'No budgets. Make one: budgetctl create acme --limit "1000 USD"'
      : drawTree(reply.budgets, session.terminal),
  );
  if (listing.nextPageToken !== '') warnOfMore(session, listing.rows.length);
}

async function listBudgets(session: Session, parent: string, options: TreeOptions): Promise<Listing<Budget>> {
  const { depth, maxRows } = options;
  const levelMax =
    depth === undefined ? Number.POSITIVE_INFINITY : depth + (parent === '' ? 0 : parent.split('/').length - 1);
  // The contract's own non-recursive list is one level below a parent, and the roots alone without one.
  const recursive = depth === undefined || depth > (parent === '' ? 1 : 2);
  return readPages(maxRows, '', async (pageSize, pageToken) => {
    const page = await session.connection.call(BudgetService.method.listBudgets, {
      parent,
      recursive,
      pageSize,
      pageToken,
    });
    const rows = page.budgets.filter((budget) => budget.budget.split('/').length <= levelMax);
    return { rows, nextPageToken: page.nextPageToken };
  });
}

async function top(session: Session, path: string, options: TopOptions): Promise<void> {
  const roots = path === '' ? (await listBudgets(session, '', { depth: 1, maxRows: options.maxRows })).rows : [];
  const paths = path === '' ? roots.map((root) => root.budget) : [path];
  const held: Reservation[] = [];
  let isCut = false;
  for (const budget of paths) {
    if (held.length >= options.maxRows) {
      isCut = true;
      break;
    }
    const filter = { budget, state: ReservationState.ACTIVE, holder: '', charged: options.charged === true };
    const listing = await listReservations(session, filter, options.maxRows - held.length);
    held.push(...listing.rows);
    isCut ||= listing.nextPageToken !== '';
  }
  const holders = groupHolds(held, options.by);
  const nowMs = await readClockMs(session);
  session.terminal.out(
    session.isJson
      ? holdersToJson(holders, options.by, isCut)
      : holders.length === 0
        ? noneText('live reservations', path, options)
        : drawHolders(holders, options.by, nowMs, session.terminal),
  );
  if (isCut) warnOfMore(session, held.length);
}

async function reservations(session: Session, path: string, options: ReservationsOptions): Promise<void> {
  const state = options.state === undefined ? ReservationState.UNSPECIFIED : STATE_WORDS[options.state];
  const filter = { budget: path, state, holder: options.holder ?? '', charged: options.charged === true };
  const { rows, nextPageToken } = await listReservations(session, filter, options.maxRows, options.pageToken ?? '');
  const nowMs = await readClockMs(session);
  const reply = create(ListReservationsResponseSchema, { reservations: [...rows], nextPageToken });
  session.show(ListReservationsResponseSchema, reply, () =>
    rows.length === 0 ? noneText('reservations', path, options) : drawReservations(rows, nowMs, session.terminal),
  );
  if (nextPageToken !== '') warnOfMore(session, rows.length, nextPageToken);
}

function noneText(what: string, path: string, { charged }: { readonly charged?: boolean }): string {
  if (path === '') return `No ${what}.`;
  if (charged === true) return `No ${what} charge ${path}.`;
  return `No ${what} name ${path} or a budget below it; --charged finds those that charge it by "also".`;
}

// Leases go by the coordinator's clock, so that is what "in 42s" is measured from.
async function readClockMs(session: Session): Promise<number> {
  if (session.isJson) return 0;
  const { time } = await session.connection.call(ServerInfoService.method.getServerInfo, {});
  return time === undefined ? session.nowMs() : timestampMs(time);
}

function warnOfMore(session: Session, count: number, pageToken?: string): void {
  const onward =
    pageToken === undefined ? 'name a budget further down or raise --max-rows' : `go on with --page-token ${pageToken}`;
  session.terminal.err(session.terminal.paint('warning', `There are more than the ${count} shown: ${onward}.`));
}
