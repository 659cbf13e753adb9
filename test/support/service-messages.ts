// What a test and the service process that it started say to each other. Its own file, since the child's entry point runs
// when it is imported.

/** What the parent says. After `rest` the process serves nobody, until `serve` has it start another service. */
export type ToChild =
  | { readonly kind: 'move-clock'; readonly nowMs: number }
  | { readonly kind: 'measure' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'rest' }
  | { readonly kind: 'serve'; readonly environment: Readonly<Record<string, string>> };

/** What the process holds, after a full garbage collection. */
export interface Holdings {
  /** Objects and buffers that are in use. */
  readonly usedBytes: number;
  /** Resident memory. */
  readonly residentBytes: number;
  /** Connections, those to the database included. */
  readonly sockets: number;
}

/** What the child says. */
export type FromChild =
  | { readonly kind: 'listening'; readonly grpcPort: number; readonly connectPort: number }
  | { readonly kind: 'clock-moved'; readonly nowMs: number }
  | ({ readonly kind: 'measured' } & Holdings)
  | { readonly kind: 'resting' }
  | { readonly kind: 'failed'; readonly message: string };

/** Environment name of the injected clock's first reading, in milliseconds since the epoch. Unset: the real clock. */
export const CLOCK_VARIABLE = 'TEST_CLOCK_MS';
