// What every command of budgetctl needs while it runs: the connection, the terminal, and the choice between tables and
// JSON. Stands alone so that a command is only its request and its picture.
import { type DescMessage, type MessageInitShape, type MessageShape, toJson } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { nanoid } from 'nanoid';
import { CallError } from './call-error.ts';
import { type Connection, connect, type UnaryMethod } from './connection.ts';
import type { ExitCode } from './exit-code.ts';
import type { SpendReader } from './invoice/spend-reader.ts';
import { withPriceHint } from './prices/price-hint.ts';
import type { Repairs } from './repairs.ts';
import type { RunVerify } from './run-verify.ts';
import type { Terminal } from './terminal.ts';

/** What the process gives to the commands. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** This machine's clock, in milliseconds since 1970. Only used to compare it with the coordinator's. */
  readonly nowMs: () => number;
  readonly runVerify: RunVerify;
  readonly repairs: Repairs;
  readonly spend: SpendReader;
  /** Calls `tell` where the person interrupts the run (Ctrl-C), which ends then; what it returns stops that. */
  readonly onInterrupt: (tell: () => void) => () => void;
  /** Asks the person at the terminal; undefined where there is none. */
  readonly confirm: (question: string) => Promise<boolean | undefined>;
}

/** What the program adds to it for its commands. */
export interface CommandContext extends CliContext {
  /** Sets the exit code of a run that finishes without an error. */
  readonly end: (exitCode: ExitCode) => void;
  /** Sets the exit code of a run that ends with an error, whatever it is. */
  readonly endFailed: (exitCode: ExitCode) => void;
}

/** The options that every command takes, and the key of those that change something. */
interface GlobalOptions {
  readonly key?: string;
  readonly server: string;
  readonly token?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

/** A command while it runs. */
export interface Session {
  readonly connection: Connection;
  readonly terminal: Terminal;
  readonly isJson: boolean;
  readonly nowMs: () => number;
  /** Prints a reply: its proto JSON for machines, what `draw` returns for people. */
  show<Schema extends DescMessage>(schema: Schema, reply: MessageShape<Schema>, draw: () => string): void;
  /** Makes a changing call. A CallError that leaves here says how to repeat the command as the same request. */
  change<Input extends DescMessage, Output extends DescMessage>(
    method: UnaryMethod<Input, Output>,
    request: MessageInitShape<Input>,
    repeatOptions: readonly string[],
    /** How long it may wait for room: so much longer than others it may take. */
    waitMs?: number,
  ): Promise<MessageShape<Output>>;
}

// The end of its connection says so to the service.
const PLACE_GIVEN_UP =
  'interrupted: the place in the queue is given up; a grant that is on its way by now lapses with its lease';

/** Opens the connection that the command line asks for, runs `work`, and closes it whatever happens. */
export async function withSession(
  context: CliContext,
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const { terminal, nowMs } = context;
  const isJson = options.json === true;
  const connection = connect({ server: options.server, token: options.token, deadlineMs: options.timeout });
  try {
    await work({
      connection,
      terminal,
      isJson,
      nowMs,
      show: (schema, reply, draw) => terminal.out(isJson ? messageToJson(schema, reply) : draw()),
      change: async (method, request, repeatOptions, waitMs) => {
        const stop = (waitMs ?? 0) > 0 ? context.onInterrupt(() => terminal.err(PLACE_GIVEN_UP)) : undefined;
        try {
          return await connection.call(method, request, waitMs);
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
          const isModelCall = 'modelCall' in request && request['modelCall'] !== undefined;
          throw error.with({ repeatOptions, isKeyTyped: options.key !== undefined, isModelCall });
        } finally {
          stop?.();
        }
      },
    });
  } catch (error) {
    throw isJson ? error : await withPriceHint(connection, error);
  } finally {
    connection.close();
  }
}

/** Proto JSON, indented. Zeros and empty fields are written out, so that a program finds every field each time. */
function messageToJson<Schema extends DescMessage>(schema: Schema, message: MessageShape<Schema>): string {
  return JSON.stringify(toJson(schema, message, { alwaysEmitImplicit: true }), null, 2);
}

/** A fresh idempotency key. The prefix tells a reader of the journal where it came from. */
export function freshKey(): string {
  return `cli-${nanoid()}`;
}
