// Sends calls as real clients do, unary or on a Session, to whichever replica leads, and writes down what came back. Retries
// with the same key until the answer is certain or the caller is told to give up. It keeps one channel and one Session for each
// replica, however often it turns: a Session that is left open takes a place that others need.
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
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import {
  ReservationService,
  type SessionCommandSchema,
  SessionRequestSchema,
  SessionResponseSchema,
} from '../../src/gen/budgetd/v1/reservation_pb.ts';
import { isUndecided, type Operation, type Told } from './history.ts';
import { toldOfError, toldOfReply, toldOfStatus } from './told-of.ts';

// A call that nobody answers: longer than a takeover is not needed, since the same key is sent again anyway.
const CALL_DEADLINE_MS = 5_000;
// Between two attempts while nobody leads: often enough to see a takeover to the tenth of a second.
const RETRY_PAUSE_MS = 50;

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
  readonly #sessions = new Map<number, SessionStream>();
  readonly #usesSession: boolean;
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
    if (this.#usesSession && isSessionCall(call)) return this.#session(port).send(call);
    return unary(this.#client(port), call);
  }

  close(): void {
    for (const session of this.#sessions.values()) session.end();
    for (const client of this.#clients.values()) client.close();
  }

  #session(port: number): SessionStream {
    let session = this.#sessions.get(port);
    if (session === undefined || session.over) {
      session = new SessionStream(this.#client(port));
      this.#sessions.set(port, session);
    }
    return session;
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
        resolve(error === null ? toldOfReply(reply) : toldOfError(error));
      },
    );
  });
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

// One Session. Whatever it still waits for when it ends was not answered. Where the service said why it ends, each of those is
// told that: a service that turns Sessions away must not look like one that is silent.
class SessionStream {
  over = false;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #waiting = new Map<bigint, (told: Told) => void>();
  #next = 1n;

  constructor(client: Client) {
    const asIs = (bytes: Buffer): Buffer => bytes;
    this.#call = client.makeBidiStreamRequest('/budgetd.v1.ReservationService/Session', asIs, asIs);
    this.#call.on('data', (bytes: Buffer) => {
      for (const { commandId, result } of fromBinary(SessionResponseSchema, bytes).results) {
        this.#answer(
          commandId,
          result.case === 'error'
            ? toldOfStatus(result.value.code, result.value.message, result.value)
            : toldOfReply(result.value),
        );
      }
    });
    this.#call.on('error', (error: ServiceError) => this.#break(toldOfError(error)));
    this.#call.on('end', () => this.#break(silence('the stream ended')));
  }

  send({ method, request }: Call): Promise<Told> {
    const commandId = this.#next++;
    const command = { case: SESSION_CASES[method.name], value: request } as SessionCommand;
    const frame = create(SessionRequestSchema, { commands: [{ commandId, command }] });
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#break(silence('no answer in time')), CALL_DEADLINE_MS);
      this.#waiting.set(commandId, (told) => {
        clearTimeout(timer);
        resolve(told);
      });
      if (this.over) this.#break(silence('the stream is over'));
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

  #break(told: Told): void {
    if (!this.over) this.#call.cancel();
    this.over = true;
    for (const commandId of [...this.#waiting.keys()]) this.#answer(commandId, told);
  }
}

function silence(text: string): Told {
  return { kind: 'silence', text };
}
