// Keeps a batch's span wherever it keeps the span of a call that the batch decided. Without this, a sampler that keeps one
// trace in a hundred would show one in a hundred of those calls what became of it.
import { type Attributes, type Context, type Link, type SpanKind, TraceFlags } from '@opentelemetry/api';
import { type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/sdk-trace';

/** Samples what is linked to something sampled, and asks `rest` about everything else. */
export class LinkedSampler implements Sampler {
  readonly #rest: Sampler;

  constructor(rest: Sampler) {
    this.#rest = rest;
  }

  shouldSample(
    context: Context,
    traceId: string,
    spanName: string,
    spanKind: SpanKind,
    attributes: Attributes,
    links: Link[],
  ): SamplingResult {
    if (links.some((link) => (link.context.traceFlags & TraceFlags.SAMPLED) !== 0)) {
      return { decision: SamplingDecision.RECORD_AND_SAMPLED };
    }
    return this.#rest.shouldSample(context, traceId, spanName, spanKind, attributes, links);
  }

  toString(): string {
    return `Linked{${this.#rest.toString()}}`;
  }
}
