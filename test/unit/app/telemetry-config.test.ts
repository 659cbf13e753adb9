import { describe, expect, it } from 'vitest';
import { readTelemetry } from '../../../src/app/telemetry-config.ts';

const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

function read(env: Readonly<Record<string, string>>) {
  const problems: string[] = [];
  return { settings: readTelemetry(env, problems), problems };
}

it('sends nothing anywhere by default', () => {
  expect(read({})).toEqual({
    settings: {
      enabled: true,
      traceExporters: [],
      metricExporters: [],
      sampler: 'parentbased_always_on',
      samplerRatio: 1,
      metricIntervalMs: 60_000,
    },
    problems: [],
  });
});

describe('exporters', () => {
  it.each([
    [OTLP, ['otlp'], ['otlp']],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }, ['otlp'], []],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c:4318/v1/metrics' }, [], ['otlp']],
    [{ ...OTLP, OTEL_TRACES_EXPORTER: 'none' }, [], ['otlp']],
    [{ ...OTLP, OTEL_METRICS_EXPORTER: 'prometheus' }, ['otlp'], []],
    [{ OTEL_TRACES_EXPORTER: 'otlp, console' }, ['otlp', 'console'], []],
    [{ OTEL_TRACES_EXPORTER: 'otlp,otlp' }, ['otlp'], []],
    [{ OTEL_TRACES_EXPORTER: '', OTEL_EXPORTER_OTLP_ENDPOINT: '' }, [], []],
  ])('of %o', (env, traces, metrics) => {
    const { settings, problems } = read(env);
    expect([settings.traceExporters, settings.metricExporters, problems]).toEqual([traces, metrics, []]);
  });
});

it.each([
  ['true', false],
  ['TRUE', false],
  ['false', true],
  ['1', true],
  ['', true],
])('OTEL_SDK_DISABLED=%s leaves it enabled: %s', (value, enabled) => {
  expect(read({ OTEL_SDK_DISABLED: value }).settings.enabled).toBe(enabled);
});

it('takes sampler, ratio and interval', () => {
  const env = {
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
  };
  expect(read(env).settings).toMatchObject({
    sampler: 'parentbased_traceidratio',
    samplerRatio: 0.01,
    metricIntervalMs: 5_000,
  });
});

it.each([
  { OTEL_TRACES_EXPORTER: 'zipkin' },
  { OTEL_TRACES_EXPORTER: 'prometheus' },
  { OTEL_METRICS_EXPORTER: 'statsd' },
  { OTEL_TRACES_SAMPLER: 'sometimes' },
  { OTEL_TRACES_SAMPLER_ARG: '1.5' },
  { OTEL_TRACES_SAMPLER_ARG: 'half' },
  { OTEL_METRIC_EXPORT_INTERVAL: '0' },
  { ...OTLP, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  { ...OTLP, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
])('names the variable that is wrong in %o', (env) => {
  const { problems } = read(env);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(Object.keys(env).at(-1));
});

it('does not care for the protocol of exporters that are off', () => {
  expect(read({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).problems).toEqual([]);
});
