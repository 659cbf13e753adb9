// Metrics as Prometheus text, on request. Not the exporter of OpenTelemetry as it comes, which opens a port of its own and
// knows no tokens: the same serializer, behind the service's own HTTP server.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MetricReader } from '@opentelemetry/sdk-metrics';

/** What a response with the text must be labelled with. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** See the head of this file. */
export class PrometheusReader extends MetricReader {
  // Without the scope's name at every series: there is one scope.
  readonly #serializer = new PrometheusSerializer(undefined, false, undefined, false, true);

  /** Every metric as it is now. */
  async text(): Promise<string> {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw new AggregateError(errors, 'metrics could not be collected');
    return this.#serializer.serialize(resourceMetrics);
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
}
