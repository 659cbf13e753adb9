// A proxy that understands just enough of PostgreSQL's wire protocol to stop one append of the service at a chosen step: not
// sent yet, executed and not committed, commit under way, committed and not answered. A statement of the service is Bind,
// Execute, Sync; it is executed with Execute and committed with Sync.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where an append can be stopped. */
export const STEPS = ['before it is sent', 'before the commit', 'during the commit', 'before the answer'] as const;
export type Step = (typeof STEPS)[number];

/** An append that stands still. */
export interface Caught {
  /** Breaks its connection. */
  cut(): void;
  /** Lets it go on. */
  pass(): void;
}

/** A running proxy. */
export interface WireProxy {
  readonly port: number;
  /** Resolves when the next append has come to the step; its connection is held from then on. */
  catchAppend(step: Step): Promise<Caught>;
  /** Holds back whatever connections of an application send, live and new ones, until the returned function is called. */
  hold(applicationName: string): () => void;
  close(): Promise<void>;
}

interface Trap {
  readonly step: Step;
  readonly resolve: (caught: Caught) => void;
}

/** Starts a proxy in front of one server. */
export async function startWireProxy(target: { readonly host: string; readonly port: number }): Promise<WireProxy> {
  const connections = new Set<Connection>();
  const traps: Trap[] = [];
  const held = new Set<string>();
  const server = createServer((client) => {
    const upstream = connect(target);
    const connection = new Connection(client, upstream, {
      takeTrap: () => traps.shift(),
      isHeld: (name) => held.has(name),
    });
    connections.add(connection);
    client.once('close', () => connections.delete(connection));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    catchAppend: (step) => new Promise((resolve) => traps.push({ step, resolve })),
    hold: (applicationName) => {
      held.add(applicationName);
      return () => {
        held.delete(applicationName);
        for (const connection of connections) connection.goOn();
      };
    },
    close: async () => {
      for (const connection of connections) connection.cut();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Rules {
  readonly takeTrap: () => Trap | undefined;
  readonly isHeld: (applicationName: string) => boolean;
}

const BIND = 0x42;
const SYNC = 0x53;
const READY = 0x5a;

class Connection {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #rules: Rules;
  #name = '';
  #input: Buffer = Buffer.alloc(0);
  #output: Buffer = Buffer.alloc(0);
  #started = false;
  #trap: Trap | undefined;
  #isInputHeld = false;
  #isOutputHeld = false;

  constructor(client: Socket, upstream: Socket, rules: Rules) {
    this.#client = client;
    this.#upstream = upstream;
    this.#rules = rules;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.setNoDelay(true);
      // An error is followed by `close`, which ends the other side too.
      socket.on('error', () => undefined);
      socket.once('close', () => other.destroy());
    }
    client.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      this.goOn();
    });
    upstream.on('data', (chunk: Buffer) => {
      this.#output = Buffer.concat([this.#output, chunk]);
      this.#answer();
    });
  }

  cut(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }

  /** Passes on what may pass. */
  goOn(): void {
    while (!this.#isInputHeld && !this.#rules.isHeld(this.#name)) {
      const message = this.#nextMessage();
      if (message === undefined) return;
      this.#send(message);
    }
  }

  // The first message has no type, only its length.
  #nextMessage(): Buffer | undefined {
    const lengthAt = this.#started ? 1 : 0;
    if (this.#input.length < lengthAt + 4) return undefined;
    const end = lengthAt + this.#input.readInt32BE(lengthAt);
    if (this.#input.length < end) return undefined;
    return this.#input.subarray(0, end);
  }

  #send(message: Buffer): void {
    if (!this.#started) {
      const words = message.subarray(8).toString('latin1').split('\0');
      this.#name = words[words.indexOf('application_name') + 1] ?? '';
      this.#started = true;
    } else if (this.#name === 'budgetd append') {
      if (message[0] === BIND && this.#trap === undefined) {
        this.#trap = this.#rules.takeTrap();
        if (this.#trap?.step === 'before it is sent') {
          this.#catch();
          return;
        }
      }
      if (message[0] === SYNC && this.#trap !== undefined) {
        if (this.#trap.step === 'before the commit') {
          this.#catch();
          return;
        }
        this.#isOutputHeld = true;
        this.#forward(message);
        if (this.#trap.step === 'during the commit') this.#catch();
        return;
      }
    }
    this.#forward(message);
  }

  #forward(message: Buffer): void {
    this.#input = this.#input.subarray(message.length);
    this.#upstream.write(message);
  }

  #answer(): void {
    if (this.#isOutputHeld) {
      // ReadyForQuery is the last message of an answer: type, length 5, state.
      const isReady = this.#output.at(-6) === READY && this.#output.at(-2) === 5;
      if (isReady && this.#trap?.step === 'before the answer') this.#catch();
      return;
    }
    this.#client.write(this.#output);
    this.#output = Buffer.alloc(0);
  }

  #catch(): void {
    const trap = this.#trap;
    this.#isInputHeld = true;
    trap?.resolve({
      cut: () => this.cut(),
      pass: () => {
        this.#trap = undefined;
        this.#isInputHeld = false;
        this.#isOutputHeld = false;
        this.#answer();
        // What was caught must not be caught again by its own Bind.
        const message = this.#nextMessage();
        if (message !== undefined) this.#forward(message);
        this.goOn();
      },
    });
  }
}
