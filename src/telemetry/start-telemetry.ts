// Puts telemetry together: plain numbers that lane and api count into, instruments that read them, and where asked for,
// spans and exporters. Without exporters nothing leaves the process and nothing of them is even loaded; metrics are there
// for whoever asks for the text.
import { DiagLogLevel, diag } from '@opentelemetry/api';
import {
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  ConsoleMetricExporter,
  type IMetricReader,
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import { CallTally } from './call-tally.ts';
import { CallTelemetry } from './call-telemetry.ts';
import { histogramFamilies, registerInstruments, type Sources } from './instruments.ts';
import type { BatchShape, ItemShape } from './lane-shapes.ts';
import { LaneTally } from './lane-tally.ts';
import { PrometheusReader } from './prometheus-reader.ts';
import type { Standing } from './standing.ts';
import { TallyProducer } from './tally-producer.ts';
import type { ExporterName, TelemetryLabels, TelemetrySettings } from './telemetry-settings.ts';
import type { Tracing } from './tracing.ts';

/** What telemetry is made with. */
export interface TelemetryOptions {
  readonly settings: TelemetrySettings;
  readonly labels: TelemetryLabels;
  readonly version: string;
  /** Takes what the exporters complain about. */
  readonly warn: (message: string) => void;
  /** Where spans go beside the exporters of the settings; tests look at them there. */
  readonly spanProcessors?: readonly SpanProcessor[];
}

/** What the lane tells of its work. */
export interface LaneTelemetry {
  /** Absent where nobody traces. */
  readonly submitted?: (command: object) => void;
  readonly runBatch?: <T>(items: readonly ItemShape[], work: () => Promise<T>) => Promise<T>;
  readonly batchEnded: (batch: BatchShape) => void;
  readonly refused: (command: string, reason: string) => void;
  readonly waitEnded: (end: string, waitedMs: number) => void;
  readonly queueFailed: (count: number) => void;
}

/** Telemetry under way. */
export interface Telemetry {
  readonly lane: LaneTelemetry;
  readonly api: CallTelemetry;
  /** Says where the gauges read from, and what is running (labels of `budgetd.build.info`). */
  observe(standing: () => Standing, buildInfo: Readonly<Record<string, string>>): void;
  /** Every metric as Prometheus text. */
  prometheusText(): Promise<string>;
  /** Sends what is outstanding and ends. */
  stop(): Promise<void>;
}

/** How long a stop waits for the last spans and metrics to be sent. A collector that is there takes milliseconds. */
const STOP_MS = 3_000;

/** Starts telemetry; undefined where it is disabled. */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry | undefined> {
  const { settings, labels } = options;
  if (!settings.enabled) return undefined;
  hearExporters(options.warn);
  const lane = new LaneTally(labels.commands, labels.reasons);
  const calls = new CallTally(labels.methods, labels.reasons);
  const tracing = await startTracing(options);
  let standing: (() => Standing) | undefined;
  let buildInfo: Readonly<Record<string, string>> = {};
  const sources: Sources = { lane, calls, standing: () => standing?.(), buildInfo: () => buildInfo };
  const producer = new TallyProducer(histogramFamilies(sources), { name: 'budgetd', version: options.version });
  const prometheus = new PrometheusReader({ metricProducers: [producer] });
  const pushed = await pushReaders(settings, producer);
  const provider = new MeterProvider({ resource: resourceOf(options), readers: [prometheus, ...pushed] });
  registerInstruments(provider.getMeter('budgetd', options.version), sources);
  return {
    lane: laneTelemetry(lane, tracing),
    api: new CallTelemetry(calls, tracing),
    observe: (read, info) => {
      standing = read;
      buildInfo = info;
    },
    prometheusText: () => prometheus.text(),
    stop: () => stopWithin([provider.shutdown(), ...(tracing === undefined ? [] : [tracing.stop()])], options.warn),
  };
}

function laneTelemetry(tally: LaneTally, tracing: Tracing | undefined): LaneTelemetry {
  const refused = (command: string, reason: string): void => tally.turnedAway(command, reason);
  const waitEnded = (end: string, waitedMs: number): void => tally.waitEnded(end, waitedMs);
  const queueFailed = (count: number): void => tally.queueFailed(count);
  if (tracing === undefined) return { batchEnded: (batch) => tally.batchEnded(batch), refused, waitEnded, queueFailed };
  return {
    submitted: (command) => tracing.submitted(command),
    runBatch: (items, work) => tracing.runBatch(items, work),
    batchEnded: (batch) => {
      tally.batchEnded(batch);
      tracing.batchEnded(batch);
    },
    refused,
    waitEnded,
    queueFailed,
  };
}

async function startTracing(options: TelemetryOptions): Promise<Tracing | undefined> {
  const { settings, spanProcessors = [], version } = options;
  if (settings.traceExporters.length === 0 && spanProcessors.length === 0) return undefined;
  const [{ Tracing: TracingClass }, { createSampler }, { exportSpans }] = await Promise.all([
    import('./tracing.ts'),
    import('./create-sampler.ts'),
    import('./export-spans.ts'),
  ]);
  return new TracingClass({
    resource: resourceOf(options),
    processors: [...spanProcessors, ...(await exportSpans(settings.traceExporters))],
    sampler: createSampler(settings.sampler, settings.samplerRatio),
    version,
  });
}

// The environment says what it says; only what it leaves open is ours.
function resourceOf({ version }: TelemetryOptions) {
  const ours = resourceFromAttributes({ [ATTR_SERVICE_NAME]: 'budgetd', [ATTR_SERVICE_VERSION]: version });
  const detectors = [serviceInstanceIdDetector, envDetector, serviceNameEnvDetector];
  return ours.merge(detectResources({ detectors }));
}

async function pushReaders(settings: TelemetrySettings, producer: TallyProducer): Promise<IMetricReader[]> {
  const exporters = await Promise.all(settings.metricExporters.map(metricExporter));
  return exporters.map(
    (exporter) =>
      new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: settings.metricIntervalMs,
        // OpenTelemetry's default is 30 s; it must not be above the interval.
        exportTimeoutMillis: Math.min(settings.metricIntervalMs, 30_000),
        metricProducers: [producer],
      }),
  );
}

async function metricExporter(name: ExporterName): Promise<PushMetricExporter> {
  if (name === 'console') return new ConsoleMetricExporter();
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  return new OTLPMetricExporter();
}

async function stopWithin(ends: readonly Promise<void>[], warn: (message: string) => void): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), STOP_MS);
  const ended = await Promise.race([Promise.allSettled(ends), late]);
  clearTimeout(timer);
  if (ended === 'late') warn('the last spans and metrics could not be sent in time');
  else for (const end of ended) if (end.status === 'rejected') warn(`telemetry did not end in order: ${end.reason}`);
}

// A collector that does not answer is worth a line, and never a reason to refuse work.
function hearExporters(warn: (message: string) => void): void {
  const say = (message: string, ...rest: unknown[]): void => warn([message, ...rest.map(String)].join(' '));
  const quiet = (): void => undefined;
  const logger = { error: say, warn: say, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
