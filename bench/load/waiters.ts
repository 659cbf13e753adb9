// Requests that wait for room, on Sessions of the bench's own, and how long it takes until one of them is told that it has it.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import {
  ReserveRequestSchema,
  type SessionCommand,
  SessionCommandSchema,
  SessionRequestSchema,
  SessionResponseSchema,
  type SessionResult,
  SettleRequestSchema,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { Priority } from '../../src/gen/budgetd/v1/terms_pb.ts';

const METHOD = '/budgetd.v1.ReservationService/Session';
/** Far longer than a run. */
const WAIT = { seconds: 3_600n };
const FRAME_COMMANDS = 1_000;
const asIs = (bytes: Buffer): Buffer => bytes;

/** See the head of this file. */
export class Waiters {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #answers = new Map<bigint, (result: SessionResult['result']) => void>();
  #next = 1n;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure());
    this.#call = this.#client.makeBidiStreamRequest(METHOD, asIs, asIs);
    // Its end is the bench's own doing.
    this.#call.on('error', () => undefined);
    this.#call.on('data', (bytes: Buffer) => {
      for (const { commandId, result } of fromBinary(SessionResponseSchema, bytes).results) {
        this.#answers.get(commandId)?.(result);
        this.#answers.delete(commandId);
      }
    });
  }

  /** Has a request wait on each budget, for so much. They are not answered while the bench runs. */
  queue(budgets: readonly string[], maxMicros: bigint): void {
    for (let from = 0; from < budgets.length; from += FRAME_COMMANDS) {
      this.#write(
        budgets.slice(from, from + FRAME_COMMANDS).map((budget) => this.#reserve(budget, maxMicros, Priority.NORMAL)),
      );
    }
  }

  /** The answer to a critical Reserve of what there is, up to so much; it waits where there is nothing. */
  reserve(budget: string, maxMicros: bigint): Promise<SessionResult['result']> {
    return this.#send(this.#reserve(budget, maxMicros, Priority.CRITICAL, 1n));
  }

  settle(reservationId: string, actualMicros: bigint): Promise<SessionResult['result']> {
    const cost = { case: 'actualMicros' as const, value: actualMicros };
    const value = create(SettleRequestSchema, { reservationId, idempotencyKey: 's', cost });
    return this.#send(this.#command({ case: 'settle', value }));
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }

  #reserve(budget: string, maxMicros: bigint, priority: Priority, minMicros = maxMicros): SessionCommand {
    const idempotencyKey = `w${this.#next}-${performance.now()}`;
    const value = create(ReserveRequestSchema, {
      budget,
      idempotencyKey,
      maxMicros,
      minMicros,
      priority,
      maxWait: WAIT,
    });
    return this.#command({ case: 'reserve', value });
  }

  #command(command: SessionCommand['command']): SessionCommand {
    return create(SessionCommandSchema, { command, commandId: this.#next++ });
  }

  #send(command: SessionCommand): Promise<SessionResult['result']> {
    const answer = new Promise<SessionResult['result']>((resolve) => this.#answers.set(command.commandId, resolve));
    this.#write([command]);
    return answer;
  }

  #write(commands: readonly SessionCommand[]): void {
    const request = create(SessionRequestSchema, { commands: [...commands] });
    this.#call.write(Buffer.from(toBinary(SessionRequestSchema, request)));
  }
}
