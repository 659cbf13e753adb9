// Labels as a JSON object, so that people can query them in the side table; the order of keys is restored on reading.
import type { Labels } from '../kernel/budget.ts';
import { objectOf, quote, stringOf } from './json-text.ts';

/** Labels as JSON text. Keys must differ. */
export function labelsText(labels: Labels): string {
  return `{${labels.map(([key, value]) => `${quote(key)}:${quote(value)}`).join(',')}}`;
}

/** Labels in the order of their keys (by UTF-16 code unit); none for null. */
export function labelsOf(value: unknown): Labels {
  if (value === null || value === undefined) return [];
  return Object.entries(objectOf(value))
    .map(([key, text]) => [key, stringOf(text)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
