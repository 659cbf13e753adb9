// Spans: whose child each is, what it is linked to, and that log lines know the one they belong to.
import { ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSampler } from '../../../src/telemetry/create-sampler.ts';
import type { BatchShape } from '../../../src/telemetry/lane-shapes.ts';
import { LinkedSampler } from '../../../src/telemetry/linked-sampler.ts';
import type { SamplerName } from '../../../src/telemetry/telemetry-settings.ts';
import { traceFields } from '../../../src/telemetry/trace-fields.ts';
import { Tracing } from '../../../src/telemetry/tracing.ts';
import { spanMemory } from '../../support/telemetry-settings.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const METHOD = 'budgetd.v1.ReservationService/Reserve';
const sampledCaller = (name: string) => (name === 'traceparent' ? `00-${TRACE}-${CALLER}-01` : undefined);
const unsampledCaller = (name: string) => (name === 'traceparent' ? `00-${TRACE}-${CALLER}-00` : undefined);
const nobody = () => undefined;

let tracing: Tracing;
let memory: ReturnType<typeof spanMemory>;

function start(sampler: SamplerName = 'parentbased_always_on', ratio = 1): void {
  memory = spanMemory();
  tracing = new Tracing({
    resource: emptyResource(),
    processors: [memory.processor],
    sampler: createSampler(sampler, ratio),
    version: '1.2.3',
  });
}
const spans = () => memory.exporter.getFinishedSpans();
const spanNamed = (name: string) => {
  const found = spans().find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans().map((span) => span.name)}`);
  return found;
};
const committed: BatchShape = { outcome: 'committed', trees: [], takenMs: 0, appendMs: 1, endedMs: 3 };
const items = (...commands: object[]) =>
  commands.map((command) => ({ command: command as { kind: string }, sinceMs: 0 }));

beforeEach(() => start());
afterEach(() => tracing.stop());

describe('the span of a call', () => {
  it("is a child of its caller's, and named by the conventions", () => {
    tracing.startCall(METHOD, sampledCaller).end(0);
    const span = spanNamed(METHOD);
    expect(span.kind).toBe(SpanKind.SERVER);
    expect(span.spanContext().traceId).toBe(TRACE);
    expect(span.parentSpanContext).toMatchObject({ spanId: CALLER, isRemote: true });
    expect(span.attributes).toEqual({ 'rpc.system.name': 'grpc', 'rpc.method': METHOD, 'rpc.status_code': 'OK' });
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('begins a trace where the caller names none, or names it wrongly', () => {
    tracing.startCall(METHOD, nobody).end(0);
    tracing.startCall(METHOD, () => 'rubbish').end(0);
    expect(spans().map((span) => span.parentSpanContext)).toEqual([undefined, undefined]);
  });

  it.each([
    [8, 'RESOURCE_EXHAUSTED', false],
    [9, 'FAILED_PRECONDITION', false],
    [13, 'INTERNAL', true],
    [14, 'UNAVAILABLE', true],
  ])('that ends with %d says %s, and is an error: %s', (code, name, isError) => {
    tracing.startCall(METHOD, nobody).end(code);
    const span = spanNamed(METHOD);
    expect(span.attributes['rpc.status_code']).toBe(name);
    expect(span.attributes['error.type']).toBe(isError ? name : undefined);
    expect(span.status.code).toBe(isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET);
  });

  it('is what log lines written within it name, and none outside', async () => {
    const call = tracing.startCall(METHOD, sampledCaller);
    const within = await call.run(async () => {
      await Promise.resolve();
      return traceFields();
    });
    call.end(0);
    expect(within).toEqual({ trace_id: TRACE, span_id: spanNamed(METHOD).spanContext().spanId });
    expect(traceFields()).toEqual({});
  });
});

describe('the span of a batch', () => {
  it('is linked to each call that has a command in it, once, and is no child of any', async () => {
    const [first, second] = [tracing.startCall(METHOD, sampledCaller), tracing.startCall(METHOD, nobody)];
    const commands = [{ kind: 'Reserve' }, { kind: 'Reserve' }, { kind: 'Settle' }, { kind: 'Expire' }] as const;
    first.run(() => {
      tracing.submitted(commands[0]);
      tracing.submitted(commands[1]);
    });
    second.run(() => tracing.submitted(commands[2]));
    // The call that wakes the lane is not the batch's parent.
    await first.run(() => tracing.runBatch(items(...commands), async () => tracing.batchEnded(committed)));
    first.end(0);
    second.end(0);
    const calls = spans().filter((span) => span.name === METHOD);
    const batch = spanNamed('batch');
    expect(batch.parentSpanContext).toBeUndefined();
    expect(batch.links.map((link) => link.context.spanId).sort()).toEqual(
      calls.map((span) => span.spanContext().spanId).sort(),
    );
    expect(batch.attributes).toMatchObject({ 'budgetd.batch.commands': 4, 'budgetd.batch.outcome': 'committed' });
  });

  it('takes as many links as a batch has commands', async () => {
    const commands = Array.from({ length: 1_024 }, () => ({ kind: 'Reserve' }));
    for (const command of commands) {
      const call = tracing.startCall(METHOD, nobody);
      call.run(() => tracing.submitted(command));
      call.end(0);
    }
    await tracing.runBatch(items(...commands), () => Promise.resolve());
    expect(spanNamed('batch').links).toHaveLength(1_024);
    expect(spanNamed('batch').droppedLinksCount).toBe(0);
  });

  it('is an error where the batch fails', async () => {
    await expect(tracing.runBatch(items(), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(spanNamed('batch').status).toMatchObject({ code: SpanStatusCode.ERROR, message: 'Error: broken' });
  });

  it('is the one that log lines of the lane name', async () => {
    const call = tracing.startCall(METHOD, sampledCaller);
    const fields = await call.run(() => {
      let seen = {};
      const work = async () => {
        seen = traceFields();
      };
      return tracing.runBatch(items(), work).then(() => seen);
    });
    const { spanId, traceId } = spanNamed('batch').spanContext();
    expect(fields).toEqual({ trace_id: traceId, span_id: spanId });
  });

  it('is kept with a call that is kept, whatever the sampler says of others', async () => {
    await tracing.stop();
    start('parentbased_always_off');
    const command = { kind: 'Reserve' };
    const call = tracing.startCall(METHOD, sampledCaller);
    call.run(() => tracing.submitted(command));
    await tracing.runBatch(items(command), () => Promise.resolve());
    await tracing.runBatch(items({ kind: 'Expire' }), () => Promise.resolve());
    call.end(0);
    expect(spans().map((span) => span.name)).toEqual(['batch', METHOD]);
  });

  it('has no link to a call that is not kept', async () => {
    const command = { kind: 'Reserve' };
    const call = tracing.startCall(METHOD, unsampledCaller);
    call.run(() => tracing.submitted(command));
    await tracing.runBatch(items(command), () => Promise.resolve());
    expect(spanNamed('batch').links).toEqual([]);
  });
});

describe('the span of a frame', () => {
  it("is a child of its Session's and is what its commands' batch is linked to", async () => {
    const command = { kind: 'Reserve' };
    const session = tracing.startCall('budgetd.v1.ReservationService/Session', sampledCaller);
    const frame = session.run(() => tracing.startFrame(1));
    frame.run(() => tracing.submitted(command));
    await tracing.runBatch(items(command), () => Promise.resolve());
    frame.end();
    session.end(0);
    const span = spanNamed('Session frame');
    expect(span.parentSpanContext?.spanId).toBe(
      spanNamed('budgetd.v1.ReservationService/Session').spanContext().spanId,
    );
    expect(span.attributes).toEqual({ 'budgetd.frame.commands': 1 });
    expect(spanNamed('batch').links.map((link) => link.context.spanId)).toEqual([span.spanContext().spanId]);
  });
});

describe('samplers by their standard names', () => {
  const parent: SpanContext = { traceId: TRACE, spanId: CALLER, traceFlags: TraceFlags.NONE };

  it.each([
    ['always_on', 1, true],
    ['always_off', 1, false],
    ['traceidratio', 1, true],
    ['traceidratio', 0, false],
    ['parentbased_always_on', 1, true],
    ['parentbased_always_off', 1, false],
    ['parentbased_traceidratio', 1, true],
    ['parentbased_traceidratio', 0, false],
  ] as const)('%s with %d keeps a trace that begins here: %s', async (name, ratio, keeps) => {
    await tracing.stop();
    start(name, ratio);
    tracing.startCall(METHOD, nobody).end(0);
    expect(spans()).toHaveLength(keeps ? 1 : 0);
  });

  it('a link to what is not sampled decides nothing', () => {
    const sampler = new LinkedSampler(createSampler('always_off', 1));
    const links = [{ context: parent }];
    expect(sampler.shouldSample(ROOT_CONTEXT, TRACE, 'batch', SpanKind.INTERNAL, {}, links).decision).toBe(0);
    expect(sampler.toString()).toContain('Linked');
  });
});
