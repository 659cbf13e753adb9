// OpenTelemetry's standard variables, as far as this service decides by them; the exporters and the resource read their own
// (OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) by themselves. Unlike the standard, nothing is sent
// anywhere unless an exporter or an endpoint is named: a coordinator must not look for a collector on its own.
import type { ExporterName, SamplerName, TelemetrySettings } from '../telemetry/telemetry-settings.ts';
import type { Setting } from './setting.ts';

type Env = Readonly<Record<string, string | undefined>>;

const SAMPLERS: readonly SamplerName[] = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];

/** The standard's default; below the minute that scrapers of alerts use. */
const METRIC_INTERVAL_MS = 60_000;

/** The longest that makes sense: an hour. */
const METRIC_INTERVAL_MAX_MS = 3_600_000;

/** The variables that are read, for `--help`. */
export const TELEMETRY_SETTINGS: readonly Setting[] = [
  { name: 'OTEL_SDK_DISABLED', default: 'false', meaning: 'true: no metrics, no traces, no /metrics' },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', default: '', meaning: 'collector that takes OTLP over HTTP; unset: none' },
  { name: 'OTEL_TRACES_EXPORTER', default: 'none', meaning: 'otlp, console, none; otlp where an endpoint is set' },
  { name: 'OTEL_METRICS_EXPORTER', default: 'none', meaning: 'the same; /metrics is served besides' },
  { name: 'OTEL_TRACES_SAMPLER', default: 'parentbased_always_on', meaning: SAMPLERS.join(', ') },
  { name: 'OTEL_TRACES_SAMPLER_ARG', default: '1', meaning: 'share of traces that the ratio samplers keep, 0 to 1' },
  { name: 'OTEL_METRIC_EXPORT_INTERVAL', default: '60000', meaning: 'between two exports, in milliseconds' },
  { name: 'OTEL_SERVICE_NAME', default: 'budgetd', meaning: 'name of the service in traces and metrics' },
];

/** Reads the variables; adds what is wrong with them to `problems`. */
export function readTelemetry(env: Env, problems: string[]): TelemetrySettings {
  // An empty variable counts as unset, as the standard says.
  const text = (name: string): string | undefined => (env[name] === '' ? undefined : env[name]);
  const samplerName = text('OTEL_TRACES_SAMPLER');
  const sampler = SAMPLERS.find((known) => known === samplerName);
  if (samplerName !== undefined && sampler === undefined) {
    problems.push(`OTEL_TRACES_SAMPLER=${samplerName} must be one of ${SAMPLERS.join(', ')}`);
  }
  const settings: TelemetrySettings = {
    enabled: text('OTEL_SDK_DISABLED')?.toLowerCase() !== 'true',
    traceExporters: exporters('TRACES', text, problems),
    metricExporters: exporters('METRICS', text, problems),
    sampler: sampler ?? 'parentbased_always_on',
    samplerRatio: number('OTEL_TRACES_SAMPLER_ARG', text, { fallback: 1, min: 0, max: 1 }, problems),
    metricIntervalMs: number(
      'OTEL_METRIC_EXPORT_INTERVAL',
      text,
      { fallback: METRIC_INTERVAL_MS, min: 1, max: METRIC_INTERVAL_MAX_MS },
      problems,
    ),
  };
  const sendsOtlp = [...settings.traceExporters, ...settings.metricExporters].includes('otlp');
  if (settings.enabled && sendsOtlp) checkProtocols(text, problems);
  return settings;
}

type Text = (name: string) => string | undefined;

function exporters(signal: 'TRACES' | 'METRICS', text: Text, problems: string[]): readonly ExporterName[] {
  const name = `OTEL_${signal}_EXPORTER`;
  const value = text(name);
  if (value === undefined) {
    const endpoint = text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) ?? text('OTEL_EXPORTER_OTLP_ENDPOINT');
    return endpoint === undefined ? [] : ['otlp'];
  }
  const named = new Set(value.split(',').map((part) => part.trim()));
  const found: ExporterName[] = [];
  for (const exporter of named) {
    if (exporter === 'otlp' || exporter === 'console') found.push(exporter);
    // Prometheus is served always, so asking for it asks for nothing more.
    else if (exporter !== 'none' && !(signal === 'METRICS' && exporter === 'prometheus')) {
      problems.push(`${name}=${value}: ${exporter} is not known; use otlp, console or none`);
    }
  }
  return found;
}

interface Bounds {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

function number(name: string, text: Text, { fallback, min, max }: Bounds, problems: string[]): number {
  const value = text(name);
  if (value === undefined) return fallback;
  const parsed = Number(value);
  if (parsed >= min && parsed <= max) return parsed;
  problems.push(`${name}=${value} must be a number, ${min} to ${max}`);
  return fallback;
}

// Another protocol would be sent as this one, and a collector would answer with something that helps nobody.
function checkProtocols(text: Text, problems: string[]): void {
  for (const infix of ['', 'TRACES_', 'METRICS_']) {
    const name = `OTEL_EXPORTER_OTLP_${infix}PROTOCOL`;
    const value = text(name);
    if (value !== undefined && value !== 'http/protobuf') {
      problems.push(`${name}=${value} is not supported; use http/protobuf (port 4318 of most collectors)`);
    }
  }
}
