// Cohere v2: what is billed stands in billed_units; the far larger `tokens` and the cached ones that belong to them are not billed.
// Source: cohere-typescript, api/types/Usage.ts.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE } from './buckets.ts';
import { child, countOrZero, fault, need, refuse } from './report.ts';

/** Units that are billed apart from tokens. */
const OTHER_UNITS = ['search_units', 'classifications', 'image_tokens'] as const;

/** Cohere. */
export const cohereChat: UsageAdapter = {
  paths: [['delta', 'usage'], ['usage']],
  counts: [
    'billed_units.input_tokens',
    'billed_units.output_tokens',
    ...OTHER_UNITS.map((name) => `billed_units.${name}`),
  ],
  normalise: (report) => {
    const billed = child(report, 'billed_units');
    if (billed === undefined) {
      fault(report.faults, 'usage_incomplete', 'billed_units', 'must be there');
      return NO_USAGE;
    }
    const [uncachedInput = 0n, output = 0n] = need(billed, ['input_tokens', 'output_tokens']);
    for (const name of OTHER_UNITS) refuse(billed, countOrZero(billed, name) > 0n, name, 'is billed apart from tokens');
    return { ...NO_USAGE, uncachedInput, output };
  },
};
