// `watch`: prints what happens to budgets as it happens. Its own file because it is the one command that does not end, and that
// goes on by itself where its stream does not.
import { setTimeout as sleep } from 'node:timers/promises';
import { toJson } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import { BudgetService } from '../../gen/budgetd/v1/budget_pb.ts';
import { type Event, EventKind, EventSchema, EventService } from '../../gen/budgetd/v1/event_pb.ts';
import { CallError } from './call-error.ts';
import { knownWord } from './closed-word.ts';
import { drawEvent } from './draw-event.ts';
import { NotFoundError } from './not-found-error.ts';
import { withExample } from './options.ts';
import { type CommandContext, type Session, withSession } from './session.ts';
import { UsageError } from './usage-error.ts';

/** Between two tries to go on: a server that stops is replaced within seconds, and nothing is lost meanwhile. */
const RESUME_PAUSE_MS = 1_000;

const KINDS: Readonly<Record<string, EventKind>> = {
  queued: EventKind.RESERVATION_QUEUED,
  'left-queue': EventKind.RESERVATION_LEFT_QUEUE,
  granted: EventKind.RESERVATION_GRANTED,
  extended: EventKind.RESERVATION_EXTENDED,
  renewed: EventKind.RESERVATION_RENEWED,
  settled: EventKind.RESERVATION_SETTLED,
  released: EventKind.RESERVATION_RELEASED,
  expired: EventKind.RESERVATION_EXPIRED,
  created: EventKind.BUDGET_CREATED,
  updated: EventKind.BUDGET_UPDATED,
  suspended: EventKind.BUDGET_SUSPENDED,
  resumed: EventKind.BUDGET_RESUMED,
  closed: EventKind.BUDGET_CLOSED,
  'topped-up': EventKind.BUDGET_TOPPED_UP,
  alert: EventKind.ALERT,
  warning: EventKind.WARNING,
};

interface WatchOptions {
  readonly fromBeginning?: boolean;
  readonly cursor?: string;
  readonly kind?: readonly string[];
  readonly once?: boolean;
}

/** Adds `watch` to the program. */
export function addWatchCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('watch [budget]')
    .description('print what happens to a budget and all below it, or to all trees, until it is stopped')
    .option('--from-beginning', 'begin with all that has happened so far')
    .option('--cursor <cursor>', 'begin after this cursor of an earlier watch')
    .addOption(
      new Option('--kind <kind>', 'only this kind; may be given several times')
        .choices(Object.keys(KINDS))
        .argParser((word: string, previous: readonly string[] | undefined) => [
          ...(previous ?? []),
          knownWord(word, Object.keys(KINDS)),
        ]),
    )
    .option('--once', 'stop when all that has happened so far is printed')
    .action((path: string | undefined, options: WatchOptions) =>
      withSession(context, command, (session) => watch(session, path ?? '', options)),
    );
  withExample(
    command,
    'watch acme',
    'watch acme/triage --kind alert --kind warning',
    'watch --from-beginning --once --json',
  );
}

async function watch(session: Session, budget: string, options: WatchOptions): Promise<void> {
  if (options.cursor !== undefined && options.fromBeginning === true) {
    throw new UsageError('--cursor and --from-beginning do not go together');
  }
  if (budget !== '' && (await isMissing(session, budget))) {
    if (options.once === true) throw new NotFoundError(`no budget ${budget}, and nothing has happened to it`);
    session.terminal.err(session.terminal.paint('faint', `no budget ${budget} yet: waiting for it`));
  }
  let { cursor } = options;
  for (;;) {
    const start =
      cursor === undefined
        ? ({ case: 'fromBeginning', value: options.fromBeginning === true } as const)
        : ({ case: 'cursor', value: cursor } as const);
    const kinds = (options.kind ?? []).flatMap((word) => KINDS[word] ?? []);
    try {
      for await (const response of session.connection.stream(EventService.method.watchEvents, {
        budget,
        start,
        kinds,
      })) {
        for (const event of response.events) print(session, event);
        ({ cursor } = response);
        if (response.caughtUp && options.once === true) return;
      }
    } catch (error) {
      // Without a cursor it never began: whoever typed it has to hear why.
      if (!(error instanceof CallError) || error.failure.code !== 'UNAVAILABLE' || cursor === undefined) throw error;
      session.terminal.err(session.terminal.paint('faint', `${error.failure.message}; going on where it was`));
    }
    await sleep(RESUME_PAUSE_MS);
  }
}

// A watch of what is not there yet is silent, as one of a mistyped name is for ever. What else may be wrong the watch itself meets.
async function isMissing({ connection }: Session, budget: string): Promise<boolean> {
  try {
    await connection.call(BudgetService.method.getBudget, { budget });
    return false;
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return error.failure.reason === 'BUDGET_NOT_FOUND';
  }
}

// One line an event also as JSON, so that programs can read it line by line.
function print(session: Session, event: Event): void {
  const { terminal } = session;
  terminal.out(
    session.isJson
      ? JSON.stringify(toJson(EventSchema, event, { alwaysEmitImplicit: true }))
      : drawEvent(event, terminal),
  );
}
