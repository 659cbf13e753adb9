// What the api tells of its calls: counted and timed always, traced where spans are asked for.
import type { CallTally } from './call-tally.ts';
import type { CallSpan, HeaderReader, Tracing } from './tracing.ts';

const MS_TO_SECONDS = 0.001;

/** See the head of this file. */
export class CallTelemetry {
  readonly #tally: CallTally;
  readonly #tracing: Tracing | undefined;

  constructor(tally: CallTally, tracing: Tracing | undefined) {
    this.#tally = tally;
    this.#tracing = tracing;
  }

  /** A call begins. `method` as `package.Service/Method`. */
  call(method: string, header: HeaderReader): ObservedCall {
    return new ObservedCall(this.#tally, this.#tally.methodIndex(method), this.#tracing?.startCall(method, header));
  }

  /** A Session's frame begins; undefined where nobody traces. */
  frame(commandCount: number): CallSpan | undefined {
    return this.#tracing?.startFrame(commandCount);
  }

  /** A caller was told a reason. */
  refused(reason: string): void {
    this.#tally.refused(reason);
  }

  /** A call or a Session's command failed by a fault of the program. */
  faulted(): void {
    this.#tally.faultCount += 1;
  }
}

/** A call under way. */
export class ObservedCall {
  readonly #tally: CallTally;
  readonly #methodIndex: number;
  readonly #span: CallSpan | undefined;
  readonly #sinceMs = performance.now();
  #ended = false;

  constructor(tally: CallTally, methodIndex: number, span: CallSpan | undefined) {
    this.#tally = tally;
    this.#methodIndex = methodIndex;
    this.#span = span;
  }

  /** Runs what belongs to the call. */
  run<T>(work: () => T): T {
    return this.#span === undefined ? work() : this.#span.run(work);
  }

  /** It has ended, with a gRPC status code. Only the first end counts. */
  end(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#tally.ended(this.#methodIndex, code, (performance.now() - this.#sinceMs) * MS_TO_SECONDS);
    this.#span?.end(code);
  }
}
