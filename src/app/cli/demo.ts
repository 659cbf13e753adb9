// Plays the worked example against a running service: three components share 1,000 credits, and every figure on the way
// is compared with what it must be. `npm run demo` runs it; a difference makes it exit with a code other than 0.
import { Command, CommanderError } from 'commander';
import { customAlphabet } from 'nanoid';
import { BudgetService } from '../../gen/budgetd/v1/budget_pb.ts';
import { type Reservation, ReservationService } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatMicros } from './amount.ts';
import { CallError, exitCodeOf } from './call-error.ts';
import { type Connection, connect } from './connection.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { printFailure } from './print-failure.ts';
import { serverOption, timeoutOption, tokenOption } from './server-options.ts';
import { drawTable } from './table.ts';
import { createTerminal, type Terminal } from './terminal.ts';

const MICROS_PER_CREDIT = 1_000_000n;

/** One line of the story: what was asked, what was decided, and where the budget stands after it. */
interface Event {
  readonly event: string;
  readonly decision: string;
  readonly heldMicros: bigint;
  readonly settledMicros: bigint;
  readonly availableMicros: bigint;
}

/** What one line must read, in credits. */
interface Expected {
  readonly decision: string;
  readonly held: bigint;
  readonly settled: bigint;
  readonly available: bigint;
}

const EXPECTED: readonly Expected[] = [
  { decision: 'created', held: 0n, settled: 0n, available: 1000n },
  { decision: 'granted 500', held: 500n, settled: 0n, available: 500n },
  { decision: 'granted 400', held: 900n, settled: 0n, available: 100n },
  { decision: 'granted 100', held: 1000n, settled: 0n, available: 0n },
  { decision: 'settled 420, 80 back', held: 500n, settled: 420n, available: 80n },
  { decision: 'granted 400, the same one', held: 500n, settled: 420n, available: 80n },
  { decision: 'settled 60, 40 back', held: 400n, settled: 480n, available: 120n },
];

/** Plays the example on a fresh budget and prints the table. Rejects with CallError where a call fails. */
export async function playDemo(connection: Connection, terminal: Terminal, budget: string): Promise<ExitCode> {
  const events = await playEvents(connection, budget);
  terminal.out(`Three components share 1000 credits in the budget ${budget}.\n`);
  const columns = [
    { title: 'EVENT' },
    { title: 'DECISION' },
    { title: 'HELD', align: 'amount' },
    { title: 'SETTLED', align: 'amount' },
    { title: 'AVAILABLE', align: 'amount' },
  ] as const;
  const rows = events.map((event) => [
    event.event,
    event.decision,
    formatMicros(event.heldMicros),
    formatMicros(event.settledMicros),
    formatMicros(event.availableMicros),
  ]);
  terminal.out(drawTable(columns, rows, terminal));
  const differences = findDifferences(events);
  for (const difference of differences) terminal.err(terminal.paint('bad', `✗ ${difference}`));
  if (differences.length > 0) return EXIT.unexpected;
  terminal.out(`\n${terminal.paint('good', '✓ every figure is as it must be.')} See it: budgetctl tree ${budget}`);
  terminal.out('B was not settled: its 400 come back by themselves when its lease of 60s ends.');
  return EXIT.ok;
}

async function playEvents(connection: Connection, budget: string): Promise<Event[]> {
  const events: Event[] = [];
  const record = async (event: string, decision: string): Promise<void> => {
    events.push({ event, decision, ...(await readBalance(connection, budget)) });
  };
  const reserve = (key: string, max: bigint, min: bigint): Promise<Reservation> =>
    reserveCredits(connection, budget, key, max, min);

  await connection.call(BudgetService.method.createBudget, {
    budget: { budget, kind: 'demo', unit: 'credits', limits: [{ amountMicros: 1000n * MICROS_PER_CREDIT }] },
    idempotencyKey: 'create',
  });
  await record('a budget of 1000 is made', 'created');
  const a = await reserve('a', 500n, 500n);
  await record('A asks for 500', `granted ${formatMicros(a.grantedMicros)}`);
  const b = await reserve('b', 400n, 400n);
  await record('B asks for 400', `granted ${formatMicros(b.grantedMicros)}`);
  const c = await reserve('c', 300n, 50n);
  await record('C asks for 300, at least 50', `granted ${formatMicros(c.grantedMicros)}`);
  await record('A is done and cost 420', await settle(connection, a, 420n));
  const again = await reserve('b', 400n, 400n);
  const sameness = again.reservationId === b.reservationId ? 'the same one' : 'ANOTHER one';
  await record('B asks again with its key', `granted ${formatMicros(again.grantedMicros)}, ${sameness}`);
  await record('C is done and cost 60', await settle(connection, c, 60n));
  return events;
}

async function reserveCredits(
  connection: Connection,
  budget: string,
  key: string,
  max: bigint,
  min: bigint,
): Promise<Reservation> {
  const { reservation } = await connection.call(ReservationService.method.reserve, {
    budget,
    idempotencyKey: key,
    maxMicros: max * MICROS_PER_CREDIT,
    minMicros: min * MICROS_PER_CREDIT,
    holder: `component ${key.toUpperCase()}`,
  });
  if (reservation === undefined) throw new TypeError('the service answered without a reservation');
  return reservation;
}

async function settle(connection: Connection, { reservationId }: Reservation, actual: bigint): Promise<string> {
  const { reservation } = await connection.call(ReservationService.method.settle, {
    reservationId,
    idempotencyKey: 'settle',
    cost: { case: 'actualMicros', value: actual * MICROS_PER_CREDIT },
  });
  if (reservation === undefined) throw new TypeError('the service answered without a reservation');
  return `settled ${formatMicros(reservation.settledMicros)}, ${formatMicros(reservation.releasedMicros)} back`;
}

async function readBalance(connection: Connection, budget: string) {
  const { budget: read } = await connection.call(BudgetService.method.getBudget, { budget });
  const [balance] = read?.balances ?? [];
  if (balance === undefined) throw new TypeError('the service answered without a balance');
  const { heldMicros, settledMicros, availableMicros } = balance;
  return { heldMicros, settledMicros, availableMicros };
}

function findDifferences(events: readonly Event[]): string[] {
  return EXPECTED.flatMap((expected, index) => {
    const event = events[index];
    if (event === undefined) return [`event ${index + 1} is missing`];
    const compare = (what: string, actual: string, right: string): string[] =>
      actual === right ? [] : [`${event.event}: ${what} is ${actual}, must be ${right}`];
    return [
      ...compare('decision', event.decision, expected.decision),
      ...compare('held', formatMicros(event.heldMicros), `${expected.held}`),
      ...compare('settled', formatMicros(event.settledMicros), `${expected.settled}`),
      ...compare('available', formatMicros(event.availableMicros), `${expected.available}`),
    ];
  });
}

/** Runs the demo's own command line (without the program's name) and returns its exit code. */
export async function runDemo(
  words: readonly string[],
  terminal: Terminal,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ExitCode> {
  const command = new Command('demo')
    .description('Plays the worked example (three components share 1,000 credits) against a running service.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    })
    .addOption(serverOption(environment))
    .addOption(tokenOption(environment))
    .addOption(timeoutOption());
  try {
    command.parse([...words], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    throw error;
  }
  const options = command.opts<{ readonly server: string; readonly token?: string; readonly timeout: number }>();
  const connection = connect({ server: options.server, token: options.token, deadlineMs: options.timeout });
  try {
    return await playDemo(connection, terminal, `demo-${freshSuffix()}`);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    printFailure(error, terminal);
    return exitCodeOf(error);
  } finally {
    connection.close();
  }
}

/** Eight letters and digits: enough for demos side by side, short enough to type. */
const freshSuffix = customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 8);

if (import.meta.main) {
  const terminal = createTerminal(process.stdout, process.stderr, process.env);
  process.exitCode = await runDemo(process.argv.slice(2), terminal, process.env);
}
