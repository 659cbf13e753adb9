// Sends calls as real clients do, unary or on a Session, to whichever replica leads, and writes down what came back. Retries
// with the same key until the answer is certain or the caller is told to give up.

import { setTimeout as delay } from 'node:timers/promises';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyUnpack, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status as StatusCode,
} from '@grpc/grpc-js';
import type { Budget } from '../../src/gen/budgetd/v1/budget_pb.ts';
import {
  type Reservation,
  ReservationService,
  ReservationStateSchema,
  type SessionCommandSchema,
  SessionRequestSchema,
  SessionResponseSchema,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { type Status, StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { isUndecided, type Operation, type ShownReservation, type Told } from './history.ts';

// A call that nobody answers: longer than a takeover is not needed, since the same key is sent again anyway.
const CALL_DEADLINE_MS = 5_000;
// Between two attempts while nobody leads: often enough to see a takeover to the tenth of a second.
const RETRY_PAUSE_MS = 50;
// Statuses that grpc-js makes up itself where no answer came.
const SILENT_CODES: ReadonlySet<number> = new Set([
  StatusCode.UNAVAILABLE,
  StatusCode.DEADLINE_EXCEEDED,
  StatusCode.CANCELLED,
]);

/** A request with the method that takes it. */
export interface Call<Input extends DescMessage = DescMessage> {
  readonly method: DescMethodUnary<Input, DescMessage>;
  readonly request: MessageInitShape<Input>;
}

/** Ties a request to its method, checked against each other. */
export function callOf<Input extends DescMessage>(
  method: DescMethodUnary<Input, DescMessage>,
  request: MessageInitShape<Input>,
): Call {
  return { method, request } as unknown as Call;
}

type SessionCommand = NonNullable<MessageInitShape<typeof SessionCommandSchema>['command']>;

/** One caller with a connection to each replica. */
export class Caller {
  readonly #ports: readonly number[];
  readonly #clients = new Map<number, Client>();
  readonly #usesSession: boolean;
  #session: SessionStream | undefined;
  #at = 0;

  /** `ports`: where the replicas listen, also while one is down. */
  constructor(ports: readonly number[], usesSession = false) {
    this.#ports = ports;
    this.#usesSession = usesSession;
  }

  /** Sends until the outcome is certain; gives up when `over` says so and the last attempt is answered. */
  async perform(operation: Operation, call: Call, over: () => boolean): Promise<Told> {
    for (;;) {
      const told = await this.once(call);
      operation.told.push(told);
      if (!isUndecided(told) || over()) return told;
      this.#turn(told);
      await delay(RETRY_PAUSE_MS);
    }
  }

  /** Sends once, to the replica of `port` or to the one that is thought to lead. */
  async once(call: Call, port = this.#ports[this.#at] as number): Promise<Told> {
    if (this.#usesSession && isSessionCall(call)) {
      if (this.#session === undefined || this.#session.over || this.#session.port !== port) {
        this.#session = new SessionStream(this.#client(port), port);
      }
      return this.#session.send(call);
    }
    return unary(this.#client(port), call);
  }

  close(): void {
    this.#session?.end();
    for (const client of this.#clients.values()) client.close();
  }

  #client(port: number): Client {
    let client = this.#clients.get(port);
    if (client === undefined) {
      client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
        'grpc.use_local_subchannel_pool': 1,
        // A replica that comes back must be found at once.
        'grpc.initial_reconnect_backoff_ms': 50,
        'grpc.max_reconnect_backoff_ms': 200,
      });
      this.#clients.set(port, client);
    }
    return client;
  }

  #turn(told: Told): void {
    const named = told.kind === 'refused' ? told.leaderAddress : undefined;
    const at = this.#ports.findIndex((port) => named === `127.0.0.1:${port}`);
    if (at >= 0) this.#at = at;
    else if (told.kind === 'silence' || (told.kind === 'refused' && told.reason === 'NOT_LEADER')) {
      this.#at = (this.#at + 1) % this.#ports.length;
    }
  }
}

function unary(client: Client, { method, request }: Call): Promise<Told> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: MessageShape<DescMessage>) => Buffer.from(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, request),
      new Metadata(),
      { deadline: Date.now() + CALL_DEADLINE_MS },
      (error: ServiceError | null, reply?: MessageShape<DescMessage>) => {
        resolve(error === null ? shown(reply) : toldOfError(error));
      },
    );
  });
}

// Fields that answers have in common: a reservation, a budget, or neither.
function shown(reply: unknown): Told {
  const { reservation, budget } = reply as { reservation?: Reservation; budget?: Budget };
  return {
    kind: 'ok',
    ...(reservation !== undefined && { reservation: shownReservation(reservation) }),
    ...(budget !== undefined && { revision: Number(budget.revision) }),
  };
}

function shownReservation(reservation: Reservation): ShownReservation {
  return {
    id: reservation.reservationId,
    state: (ReservationStateSchema.value[reservation.state]?.name ?? '').replace('RESERVATION_STATE_', ''),
    requested: reservation.requestedMicros,
    granted: reservation.grantedMicros,
    held: reservation.heldMicros,
    settled: reservation.settledMicros,
    released: reservation.releasedMicros,
    overrun: reservation.overrunMicros,
    expireMs: reservation.expireTime === undefined ? 0 : timestampMs(reservation.expireTime),
  };
}

function toldOfError(error: ServiceError): Told {
  const bytes = error.metadata.get('grpc-status-details-bin')[0];
  const status = bytes instanceof Uint8Array ? fromBinary(StatusSchema, bytes) : undefined;
  return toldOfStatus(error.code, error.details, status);
}

function toldOfStatus(code: number, text: string, status: Status | undefined): Told {
  const details = status?.details ?? [];
  const info = details.map((each) => anyUnpack(each, ErrorInfoSchema)).find((each) => each?.domain === 'budgetd');
  if (info !== undefined) {
    const retry = details.map((each) => anyUnpack(each, RetryInfoSchema)).find((each) => each !== undefined);
    const wait = retry?.retryDelay;
    return {
      kind: 'refused',
      status: StatusCode[code] ?? String(code),
      reason: info.reason,
      retryAfterMs: wait === undefined ? undefined : Number(wait.seconds) * 1_000 + wait.nanos / 1e6,
      leaderAddress: info.metadata['leader_address'],
    };
  }
  // A stream that is reset in the middle of a call shows as INTERNAL in grpc-js.
  const isReset = code === StatusCode.INTERNAL && /RST_STREAM|stream/i.test(text);
  const isSilent = SILENT_CODES.has(code) || isReset;
  return { kind: isSilent ? 'silence' : 'untyped', text: `${StatusCode[code] ?? code}: ${text}` };
}

const SESSION_CASES: Readonly<Record<string, SessionCommand['case']>> = {
  Reserve: 'reserve',
  Extend: 'extend',
  Settle: 'settle',
  Release: 'release',
  Renew: 'renew',
  GetReservation: 'getReservation',
};

function isSessionCall({ method }: Call): boolean {
  return method.parent.typeName === ReservationService.typeName && SESSION_CASES[method.name] !== undefined;
}

/** One Session. Whatever it still waits for when it breaks was not answered. */
class SessionStream {
  readonly port: number;
  over = false;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #waiting = new Map<bigint, (told: Told) => void>();
  #next = 1n;

  constructor(client: Client, port: number) {
    this.port = port;
    const asIs = (bytes: Buffer): Buffer => bytes;
    this.#call = client.makeBidiStreamRequest('/budgetd.v1.ReservationService/Session', asIs, asIs);
    this.#call.on('data', (bytes: Buffer) => {
      for (const { commandId, result } of fromBinary(SessionResponseSchema, bytes).results) {
        this.#answer(
          commandId,
          result.case === 'error'
            ? toldOfStatus(result.value.code, result.value.message, result.value)
            : shown(result.value),
        );
      }
    });
    this.#call.on('error', (error: ServiceError) => this.#break(error.message));
    this.#call.on('end', () => this.#break('the stream ended'));
  }

  send({ method, request }: Call): Promise<Told> {
    const commandId = this.#next++;
    const command = { case: SESSION_CASES[method.name], value: request } as SessionCommand;
    const frame = create(SessionRequestSchema, { commands: [{ commandId, command }] });
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#break('no answer in time'), CALL_DEADLINE_MS);
      this.#waiting.set(commandId, (told) => {
        clearTimeout(timer);
        resolve(told);
      });
      if (this.over) this.#break('the stream is over');
      else this.#call.write(Buffer.from(toBinary(SessionRequestSchema, frame)));
    });
  }

  end(): void {
    if (!this.over) this.#call.end();
  }

  #answer(commandId: bigint, told: Told): void {
    this.#waiting.get(commandId)?.(told);
    this.#waiting.delete(commandId);
  }

  #break(text: string): void {
    if (!this.over) this.#call.cancel();
    this.over = true;
    for (const commandId of [...this.#waiting.keys()]) this.#answer(commandId, { kind: 'silence', text });
  }
}
