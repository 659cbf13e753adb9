// Telemetry as tests start it: nothing is sent, spans are kept in memory where a test wants to see them.
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import type { TelemetrySettings } from '../../src/telemetry/telemetry-settings.ts';

/** On, without any exporter. */
export const QUIET_TELEMETRY: TelemetrySettings = {
  enabled: true,
  traceExporters: [],
  metricExporters: [],
  sampler: 'parentbased_always_on',
  samplerRatio: 1,
  metricIntervalMs: 60_000,
};

/** Keeps spans, and the processor that brings them there. */
export function spanMemory() {
  const exporter = new InMemorySpanExporter();
  return { exporter, processor: new SimpleSpanProcessor({ exporter }) };
}
