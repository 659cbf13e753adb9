// Hands histograms that were counted as plain numbers to OpenTelemetry: it has no instrument for a histogram that is only
// read when somebody collects, but it does take metrics from a producer. They are cumulative whatever the exporter prefers.
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { hrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type HistogramMetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { BucketTally } from './bucket-tally.ts';

/** One histogram. */
export interface HistogramFamily {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly series: () => Iterable<{ readonly attributes: Attributes; readonly tally: BucketTally }>;
}

/** See the head of this file. */
export class TallyProducer implements MetricProducer {
  readonly #families: readonly HistogramFamily[];
  readonly #scope: { readonly name: string; readonly version: string };
  readonly #startTime: HrTime = hrTime();

  constructor(families: readonly HistogramFamily[], scope: { readonly name: string; readonly version: string }) {
    this.#families = families;
    this.#scope = scope;
  }

  collect(): Promise<CollectionResult> {
    const endTime = hrTime();
    const metrics = this.#families.map((family) => this.#metric(family, endTime));
    const used = metrics.filter(({ dataPoints }) => dataPoints.length > 0);
    const scopeMetrics = [{ scope: this.#scope, metrics: used }];
    return Promise.resolve({ resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] });
  }

  #metric({ name, description, unit, series }: HistogramFamily, endTime: HrTime): HistogramMetricData {
    return {
      descriptor: { name, description, unit, valueType: ValueType.DOUBLE },
      dataPointType: DataPointType.HISTOGRAM,
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPoints: Array.from(series(), ({ attributes, tally }) => ({
        startTime: this.#startTime,
        endTime,
        attributes,
        value: {
          buckets: { boundaries: [...tally.boundaries], counts: [...tally.counts] },
          sum: tally.sum,
          count: tally.count,
        },
      })),
    };
  }
}
