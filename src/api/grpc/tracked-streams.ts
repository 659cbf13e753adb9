// Streams of other people's services (health's Watch, reflection), which nothing ends by itself: a graceful stop would
// wait for them until its time is over, and nobody else bounds how many there are.

import type { EventEmitter } from 'node:events';
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { overloaded } from '../api-refusal.ts';
import { refusalStatus } from '../errors/refusal-status.ts';
import { WATCHES_MAX, WATCHES_RETRY_MS } from '../transport-limits.ts';
import { serviceError } from './service-error.ts';

/** The streams that are open now. */
export class TrackedStreams {
  readonly #open = new Set<EventEmitter>();

  /** The implementation with its streaming methods watched. */
  track(definition: ServiceDefinition, implementation: UntypedServiceImplementation): UntypedServiceImplementation {
    const tracked: UntypedServiceImplementation = { ...implementation };
    for (const [name, method] of Object.entries(definition)) {
      const key = implementation[name] === undefined ? (method.originalName ?? name) : name;
      const handle: unknown = implementation[key];
      if (!method.responseStream || typeof handle !== 'function') continue;
      tracked[key] = (call: EventEmitter) => {
        if (this.#open.size >= WATCHES_MAX) {
          call.emit(
            'error',
            serviceError(refusalStatus(overloaded('too many streams are open here', WATCHES_RETRY_MS))),
          );
          return;
        }
        this.#open.add(call);
        call.on('cancelled', () => this.#open.delete(call));
        handle(call);
      };
    }
    return tracked;
  }

  /** Ends them all. */
  end(): void {
    for (const call of this.#open) {
      call.emit('error', {
        code: status.UNAVAILABLE,
        message: 'the server is stopping',
        details: 'the server is stopping',
      });
    }
  }
}
