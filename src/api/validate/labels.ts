// Labels of requests, in the order of their keys so that the same labels are always the same value.
import type { Labels } from '../../kernel/budget.ts';
import { clipText } from '../errors/clip-text.ts';
import type { Problems } from './problems.ts';
import { FREE_TEXT_BYTES_MAX, textProblem } from './text.ts';

const LABELS_MAX = 32;
const LABEL_KEY = /^[A-Za-z0-9._/-]{1,63}$/;
const NO_LABELS: Labels = [];
// How much of a wrong key an error repeats.
const SHOWN_KEY_BYTES = 64;

/** Labels: up to 32, keys of 1 to 63 characters of [A-Za-z0-9._/-], values up to 256 bytes. */
export function checkLabels(problems: Problems, field: string, labels: { readonly [key: string]: string }): Labels {
  const keys = Object.keys(labels);
  if (keys.length === 0) return NO_LABELS;
  if (keys.length > LABELS_MAX) {
    problems.push({ field, description: `must have at most ${LABELS_MAX} entries` });
    return NO_LABELS;
  }
  return keys.sort().map((key) => {
    const value = labels[key] ?? '';
    const keyProblem = LABEL_KEY.test(key) ? undefined : 'keys must match [A-Za-z0-9._/-]{1,63}';
    const description = keyProblem ?? textProblem(value, 0, FREE_TEXT_BYTES_MAX);
    if (description !== undefined) {
      problems.push({ field: `${field}[${JSON.stringify(clipText(key, SHOWN_KEY_BYTES))}]`, description });
    }
    return [key, value] as const;
  });
}
