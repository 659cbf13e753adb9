// `advise`: sizes limits from what was recorded, before anything is refused for them. Reads lists only; what it works out is in
// cost-figures.ts and replay-limit.ts.
import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Command, Option } from 'commander';
import { BudgetService } from '../../gen/budgetd/v1/budget_pb.ts';
import { WindowSchema } from '../../gen/budgetd/v1/limit_pb.ts';
import { type Reservation, ReservationState } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { Calendar, WindowRule } from '../../kernel/window.ts';
import { type Amount, parseAmount } from './amount.ts';
import { readUnit } from './budget-commands.ts';
import { CallError } from './call-error.ts';
import { costFigures } from './cost-figures.ts';
import { type Advice, adviceToJson, drawAdvice, type ProposedLimit } from './draw-advice.ts';
import { chargedPaths, isWithin, listReservations } from './list-reservations.ts';
import { checkUnits, rowsMaxOption, withExample } from './options.ts';
import { readPages } from './pages.ts';
import { type PastHold, replayLimit } from './replay-limit.ts';
import { type CommandContext, type Session, withSession } from './session.ts';
import { UsageError } from './usage-error.ts';
import { formatWindow, parseWindow, type WindowInit } from './window.ts';
import { windowRule } from './window-rule.ts';

/** It adds up, so it reads on, as `top` does. */
const ROWS_MAX = 100_000;

interface TypedProposal {
  readonly amount: Amount;
  /** Undefined: of one run. */
  readonly window: WindowInit | undefined;
}

interface AdviseOptions {
  readonly limit?: TypedProposal;
  readonly tz: string;
  readonly maxRows: number;
}

/** Adds `advise` to the program. */
export function addAdviseCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('advise <budget>')
    .description(
      'size limits from what was recorded: cost per run and per day, and what a limit would have refused; reads the whole tree, for what charges the budget by "also"',
    )
    .addOption(
      new Option(
        '--limit <amount[/window]>',
        'try this limit: of one run, or of the budget where a window is named (lifetime too)',
      ).argParser(parseProposal),
    )
    .addOption(new Option('--tz <zone>', 'time zone of the days').default('UTC'))
    .addOption(rowsMaxOption(ROWS_MAX))
    .action((path: string, options: AdviseOptions) =>
      withSession(context, command, (session) => advise(session, path, options)),
    );
  withExample(
    command,
    'advise acme/triage',
    'advise acme/triage --limit 0.50',
    'advise acme --limit 80/day@Europe/Amsterdam',
  );
}

function parseProposal(text: string): TypedProposal {
  const slash = text.indexOf('/');
  return {
    amount: parseAmount(slash === -1 ? text : text.slice(0, slash)),
    window: slash === -1 ? undefined : parseWindow(text.slice(slash + 1)),
  };
}

async function advise(session: Session, path: string, options: AdviseOptions): Promise<void> {
  // Loaded only when asked for: calendars bring their rules along, which no other command needs.
  const { createCalendar, isTimeZone } = await import('../../lane/calendar.ts');
  if (!isTimeZone(options.tz)) throw new UsageError(`--tz: "${options.tz}" is no time zone`);
  const calendar = createCalendar();
  const unit = await readUnit(session, path);
  const { limit } = options;
  const rule = limit?.window && windowRule(create(WindowSchema, limit.window));
  if (rule?.kind === 'calendar' && !isTimeZone(rule.timeZone)) {
    throw new UsageError(`--limit: "${rule.timeZone}" is no time zone`);
  }
  await checkUnits([limit?.amount], () => Promise.resolve(unit));
  const runs = await readRuns(session, path);
  const { rows, isCut, isNamedOnly } = await readReservations(session, path, options.maxRows);
  const costsOfRuns = runCosts(rows, path, runs);
  const advice: Advice = {
    budget: path,
    unit,
    runsAre: runs.size > 0 ? 'budgets' : 'reservations',
    liveCount: rows.filter(({ state }) => state === ReservationState.ACTIVE).length,
    runs: costFigures(costsOfRuns),
    timeZone: options.tz,
    days: costFigures(dayCosts(rows, options.tz, calendar)),
    limit: limit && proposed(limit, rule, rows, costsOfRuns, calendar),
    truncated: isCut,
    namedOnly: isNamedOnly,
  };
  session.terminal.out(session.isJson ? adviceToJson(advice) : drawAdvice(advice, session.terminal));
  const warn = (text: string): void => session.terminal.err(session.terminal.paint('warning', text));
  if (isCut) warn(`There are more than the ${options.maxRows} reservations read: raise --max-rows.`);
  if (isNamedOnly) warn(`What charges ${path} by "also" is not in it: you may not look at the whole tree.`);
}

async function readRuns(session: Session, parent: string): Promise<ReadonlySet<string>> {
  const { rows } = await readPages(ROWS_MAX, '', async (pageSize, pageToken) => {
    const request = { parent, recursive: false, pageSize, pageToken };
    const page = await session.connection.call(BudgetService.method.listBudgets, request);
    return { rows: page.budgets, nextPageToken: page.nextPageToken };
  });
  return new Set(rows.filter(({ budget, kind }) => budget !== parent && kind === 'run').map(({ budget }) => budget));
}

// Those that were granted: one that left the queue ungranted, or still waits, has no lease, and no limit would have refused it.
async function readReservations(session: Session, budget: string, rowsMax: number) {
  const read = async (charged: boolean) => {
    const { rows, nextPageToken } = await listReservations(session, { budget, charged }, rowsMax);
    const granted = rows.filter(({ expireTime }) => expireTime !== undefined);
    return { rows: granted, isCut: nextPageToken !== '', isNamedOnly: !charged };
  };
  try {
    return await read(true);
  } catch (error) {
    // Who is limited to a subtree sees what it was charged by its own budgets, and no more.
    if (error instanceof CallError && error.failure.reason === 'FORBIDDEN') return read(false);
    throw error;
  }
}

const costOf = ({ settledMicros, overrunMicros }: Reservation): bigint => settledMicros + overrunMicros;
const createMsOf = ({ createTime }: Reservation): number => (createTime === undefined ? 0 : timestampMs(createTime));

// Where no child is a run, each reservation whose cost is known is one; what is live has not cost all that it will.
function runCosts(rows: readonly Reservation[], path: string, runs: ReadonlySet<string>): bigint[] {
  if (runs.size === 0) {
    return rows.filter((row) => row.state === ReservationState.SETTLED || costOf(row) > 0n).map(costOf);
  }
  const costs = new Map<string, bigint>();
  for (const row of rows) {
    const within = chargedPaths(row).filter((each) => isWithin(path, each));
    const charged = within.map((each) => `${path}/${each.slice(path.length + 1).split('/', 1)[0]}`);
    // Each once, as it is charged.
    for (const run of new Set(charged)) {
      if (runs.has(run)) costs.set(run, (costs.get(run) ?? 0n) + costOf(row));
    }
  }
  return [...costs.values()];
}

// Days as a limit would count them: by when the work was admitted. A day on which nothing was spent is none.
function dayCosts(rows: readonly Reservation[], timeZone: string, calendar: Calendar): Iterable<bigint> {
  const rule = { kind: 'calendar', unit: 'day', timeZone } as const;
  const costs = new Map<number, bigint>();
  for (const row of rows) {
    if (costOf(row) === 0n) continue;
    const { startMs } = calendar.period(rule, createMsOf(row));
    costs.set(startMs, (costs.get(startMs) ?? 0n) + costOf(row));
  }
  return costs.values();
}

function proposed(
  { amount: { micros: amountMicros }, window }: TypedProposal,
  rule: WindowRule | undefined,
  rows: readonly Reservation[],
  costsOfRuns: readonly bigint[],
  calendar: Calendar,
): ProposedLimit {
  if (window === undefined || rule === undefined) {
    const above = costsOfRuns.filter((cost) => cost > amountMicros);
    const excessMicros = above.reduce((sum, cost) => sum + cost - amountMicros, 0n);
    return { kind: 'run', amountMicros, count: costsOfRuns.length, refusedCount: above.length, excessMicros };
  }
  const holds = rows.map(
    (row): PastHold => ({
      createMs: createMsOf(row),
      endMs: row.endTime && timestampMs(row.endTime),
      grantedMicros: row.grantedMicros,
      costMicros: costOf(row),
    }),
  );
  const replayed = replayLimit(holds, amountMicros, rule, calendar);
  return { kind: 'window', amountMicros, window: formatWindow(create(WindowSchema, window)), ...replayed };
}
