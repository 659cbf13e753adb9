// Where spans go. Its own file, loaded only where spans are asked for, so that a service that traces nothing holds none of
// it in memory.
import {
  BatchSpanProcessor,
  ConsoleSpanExporter,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import type { ExporterName } from './telemetry-settings.ts';

/**
 * Spans that may wait to be sent. At 20,000 commands a second the SDK's own 2,048 would be full in a tenth of a second
 * between two sends; these are about 20 MB at the worst. What does not fit is dropped, and no call waits.
 */
const QUEUE_COUNT_MAX = 16_384;

/** Spans in one request: some 2 MB, below the 4 MiB that collectors take by default. */
const EXPORT_COUNT_MAX = 4_096;

/** Between two sends, unless a request is full before; in milliseconds. The SDK's own 5 s would fill the queue. */
const EXPORT_DELAY_MS = 1_000;

/** One processor for each exporter. */
export async function exportSpans(names: readonly ExporterName[]): Promise<SpanProcessor[]> {
  const exporters = await Promise.all(names.map(spanExporter));
  return exporters.map(
    (exporter) =>
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: QUEUE_COUNT_MAX,
        maxExportBatchSize: EXPORT_COUNT_MAX,
        scheduledDelayMillis: EXPORT_DELAY_MS,
      }),
  );
}

async function spanExporter(name: ExporterName): Promise<SpanExporter> {
  if (name === 'console') return new ConsoleSpanExporter();
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}
