// Spans of calls, of frames of Sessions and of batches. A call belongs to the trace of its caller (W3C trace context); a
// batch belongs to nobody, has a trace of its own, and is linked to every call or frame that has a command in it.
import {
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { type Sampler, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import {
  ATTR_ERROR_TYPE,
  ATTR_RPC_METHOD,
  ATTR_RPC_STATUS_CODE,
  ATTR_RPC_SYSTEM_NAME,
  RPC_SYSTEM_NAME_VALUE_GRPC,
} from '@opentelemetry/semantic-conventions';
import type { BatchShape, ItemShape } from './lane-shapes.ts';
import { LinkedSampler } from './linked-sampler.ts';
import { isServerError, STATUS_NAMES } from './status-names.ts';

/** Links of one span at the most: as many as a batch has commands. */
const LINK_COUNT_MAX = 1_024;

/** The version of the conventions whose names are used here. */
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';

/** Reads a request's header by its name in lower case. */
export type HeaderReader = (name: string) => string | undefined;

/** What tracing is made of. */
export interface TracingOptions {
  readonly resource: NonNullable<ConstructorParameters<typeof TracerProvider>[0]>['resource'];
  readonly processors: SpanProcessor[];
  readonly sampler: Sampler;
  readonly version: string;
}

const HEADERS: TextMapGetter<HeaderReader> = { get: (header, name) => header(name), keys: () => [] };

/** See the head of this file. */
export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #propagator = new W3CTraceContextPropagator();
  /** The call or frame that each waiting command came with. */
  readonly #origins = new WeakMap<object, SpanContext>();

  constructor({ resource, processors, sampler, version }: TracingOptions) {
    this.#provider = new TracerProvider({
      ...(resource === undefined ? {} : { resource }),
      sampler: new LinkedSampler(sampler),
      spanProcessors: processors,
      spanLimits: { linkCountLimit: LINK_COUNT_MAX },
    });
    this.#tracer = this.#provider.getTracer('budgetd', version, { schemaUrl: SCHEMA_URL });
    // The one thing that is the process's and not this object's; a second one would be the same.
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }

  /** Begins the span of a call, below its caller's where the headers name one. */
  startCall(method: string, header: HeaderReader): CallSpan {
    const parent = this.#propagator.extract(ROOT_CONTEXT, header, HEADERS);
    const attributes = { [ATTR_RPC_SYSTEM_NAME]: RPC_SYSTEM_NAME_VALUE_GRPC, [ATTR_RPC_METHOD]: method };
    return new CallSpan(this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent), parent);
  }

  /** Begins the span of a Session's frame, below that of the Session. */
  startFrame(commandCount: number): CallSpan {
    const parent = context.active();
    const attributes = { 'budgetd.frame.commands': commandCount };
    return new CallSpan(this.#tracer.startSpan('Session frame', { attributes }, parent), parent);
  }

  /** Notes which call a command came with. */
  submitted(command: object): void {
    const origin = trace.getSpanContext(context.active());
    if (origin !== undefined && (origin.traceFlags & TraceFlags.SAMPLED) !== 0) this.#origins.set(command, origin);
  }

  /** Runs a batch within a span of its own, outside of the call that happened to wake the lane. */
  async runBatch<T>(items: readonly ItemShape[], work: () => Promise<T>): Promise<T> {
    const attributes = { 'budgetd.batch.commands': items.length };
    const span = this.#tracer.startSpan('batch', { links: this.#linksTo(items), attributes }, ROOT_CONTEXT);
    try {
      return await context.with(trace.setSpan(ROOT_CONTEXT, span), work);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
      throw error;
    } finally {
      span.end();
    }
  }

  /** Says on the batch's span what became of it. */
  batchEnded({ outcome, trees, appendMs, endedMs }: BatchShape): void {
    const span = trace.getActiveSpan();
    if (span?.isRecording() !== true) return;
    let answeredCount = 0;
    let entryCount = 0;
    for (const { answered, entries } of trees) {
      answeredCount += answered.length;
      entryCount += entries.length;
    }
    span.setAttributes({
      'budgetd.batch.outcome': outcome,
      'budgetd.batch.trees': trees.length,
      'budgetd.batch.answered': answeredCount,
      'budgetd.batch.entries': entryCount,
      'budgetd.batch.append_ms': endedMs - appendMs,
    });
    if (outcome === 'unavailable' || outcome === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
  }

  /** Sends what has ended and stops. */
  async stop(): Promise<void> {
    await this.#provider.shutdown();
  }

  // One link a call, however many of its commands are in the batch.
  #linksTo(items: readonly ItemShape[]): Link[] {
    const links = new Map<string, Link>();
    for (const { command } of items) {
      const origin = this.#origins.get(command);
      if (origin !== undefined) links.set(origin.spanId, { context: origin });
    }
    return [...links.values()];
  }
}

/** The span of one call or frame. */
export class CallSpan {
  readonly #span: Span;
  readonly #context: Context;

  constructor(span: Span, parent: Context) {
    this.#span = span;
    this.#context = trace.setSpan(parent, span);
  }

  /** Runs what belongs to the call, so that spans, links and log lines know it. */
  run<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  /** Ends it, with its gRPC status code where it is a call. */
  end(code?: number): void {
    if (code !== undefined) {
      const status = STATUS_NAMES[code] ?? 'UNKNOWN';
      this.#span.setAttribute(ATTR_RPC_STATUS_CODE, status);
      if (isServerError(status)) {
        this.#span.setAttribute(ATTR_ERROR_TYPE, status);
        this.#span.setStatus({ code: SpanStatusCode.ERROR });
      }
    }
    this.#span.end();
  }
}
