// What telemetry is started with. Reading the environment is app's; only the exporters read their own OTEL_EXPORTER_* by
// themselves, and the resource its OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.

/** The standard samplers. */
export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

/** Where traces or metrics are sent. */
export type ExporterName = 'otlp' | 'console';

/** What is counted and where it goes. */
export interface TelemetrySettings {
  /** False: nothing is counted, traced or served. */
  readonly enabled: boolean;
  /** Where spans are sent; empty: no span is made. */
  readonly traceExporters: readonly ExporterName[];
  /** Where metrics are sent, beside being served for Prometheus. */
  readonly metricExporters: readonly ExporterName[];
  readonly sampler: SamplerName;
  /** Share of traces that the ratio samplers keep, 0 to 1. */
  readonly samplerRatio: number;
  /** Between two exports of metrics, in milliseconds. */
  readonly metricIntervalMs: number;
}

/** The values that labels can take: the contract's, none made up by callers. */
export interface TelemetryLabels {
  readonly commands: readonly string[];
  readonly reasons: readonly string[];
  /** As `package.Service/Method`. */
  readonly methods: readonly string[];
}
