// Every part of the bench, in the order in which they run.

import { duePart } from './due.ts';
import { hostilePart } from './hostile.ts';
import { alonePart, hotPart, spreadPart, yardstickPart } from './hot-tree.ts';
import { largePart } from './large.ts';
import type { Part } from './part.ts';
import { pricedPart } from './priced.ts';
import { queuePart } from './queue.ts';
import { runsPart } from './runs.ts';
import { soakPart } from './soak.ts';
import { telemetryCostPart } from './telemetry-cost.ts';
import { windowsPart } from './windows.ts';

/** See each part's own words. */
export const PARTS: readonly Part[] = [
  yardstickPart,
  hotPart,
  alonePart,
  spreadPart,
  duePart,
  hostilePart,
  largePart,
  telemetryCostPart,
  windowsPart,
  queuePart,
  pricedPart,
  runsPart,
  soakPart,
];
