// Looks into the heap of a service in another process, through Node's inspector: what is in use after a full collection, which is
// the figure that grows where something leaks. Resident memory also moves with what the collector has not given back.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** The service's environment for it, and how to reach it then. */
export interface Inspected {
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
}

/** Picks a port for the inspector. */
export async function inspected(): Promise<Inspected> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return { env: { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` }, port };
}

/** A connection to the inspector. */
export class HeapProbe {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: { readonly usedSize?: number }) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: object };
      if (id === undefined) return;
      this.#waiting.get(id)?.(result ?? {});
      this.#waiting.delete(id);
    });
  }

  /** Connects. Rejects where nobody listens there. */
  static async open(port: number): Promise<HeapProbe> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as readonly { readonly webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    return new HeapProbe(socket);
  }

  /** Megabytes of the heap in use after a full collection, which stops the service for as long as it takes. */
  async usedMb(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage');
    const { usedSize = Number.NaN } = await this.#call('Runtime.getHeapUsage');
    return usedSize / 2 ** 20;
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string): Promise<{ readonly usedSize?: number }> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
