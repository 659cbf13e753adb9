// The trace that the running code belongs to, for log lines. Its own file because the logger is made before telemetry is
// started, and works without it.
import { isSpanContextValid, trace } from '@opentelemetry/api';

/** `trace_id` and `span_id` as OpenTelemetry names them in logs; empty where no span is active. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const context = trace.getActiveSpan()?.spanContext();
  if (context === undefined || !isSpanContextValid(context)) return {};
  return { trace_id: context.traceId, span_id: context.spanId };
}
