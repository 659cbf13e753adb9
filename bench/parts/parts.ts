// Every part of the bench, in the order in which they run.
import { alonePart, hotPart, spreadPart, yardstickPart } from './hot-tree.ts';
import type { Part } from './part.ts';
import { telemetryCostPart } from './telemetry-cost.ts';

/** See each part's own words. */
export const PARTS: readonly Part[] = [yardstickPart, hotPart, alonePart, spreadPart, telemetryCostPart];
