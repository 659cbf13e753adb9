// Cheaper ways that a Reserve names. Its own file because of its own rules: labels are how their caller tells them apart.
import type { Alternative as AlternativeMessage } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { Alternative } from '../../kernel/request.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkModelCall, frameModelCall } from './model-call.ts';
import { checkMicros, type Problems } from './problems.ts';
import { textProblem } from './text.ts';

const COUNT_MAX = 8;
const LABEL_BYTES_MAX = 63;
const NOT_WITH_AMOUNT = 'must not be set with max_micros';
const NONE: readonly Alternative[] = [];

/** Up to 8 with labels of their own, none above `maxMicros` (undefined: it is by a call, or is noted elsewhere), in the order named. */
export function checkAlternatives(
  problems: Problems,
  field: string,
  stated: readonly AlternativeMessage[],
  maxMicros: bigint | undefined,
): readonly Alternative[] {
  if (stated.length === 0) return NONE;
  if (stated.length > COUNT_MAX) {
    problems.push({ field, description: `must have at most ${COUNT_MAX} entries` });
    return NONE;
  }
  const labels = new Set<string>();
  return stated.map(({ label, maxMicros: asked, modelCall }, index) => {
    const at = `${field}[${index}]`;
    const wrong = textProblem(label, 1, LABEL_BYTES_MAX);
    if (wrong !== undefined) problems.push({ field: `${at}.label`, description: wrong });
    else if (labels.has(label)) problems.push({ field: `${at}.label`, description: 'must be unique' });
    labels.add(label);
    if (modelCall !== undefined) {
      if (asked !== undefined) problems.push({ field: `${at}.model_call`, description: NOT_WITH_AMOUNT });
      return { label, maxMicros: 0n, call: checkModelCall(problems, `${at}.model_call`, modelCall) };
    }
    const micros = checkMicros(problems, `${at}.max_micros`, asked);
    if (maxMicros !== undefined && maxMicros >= 0n && micros > maxMicros) {
      problems.push({ field: `${at}.max_micros`, description: 'must not be above max_micros' });
    }
    return { label, maxMicros: micros };
  });
}

/** Frames them in their order: another order is another request. */
export function frameAlternatives(alternatives: readonly AlternativeMessage[]): string {
  const each = alternatives.map(
    ({ label, maxMicros, modelCall }) =>
      frameText('label', label) + frameValue('max', maxMicros) + frameModelCall(modelCall),
  );
  return each.map((framed) => frameText('alternative', framed)).join('');
}
