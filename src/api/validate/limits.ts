// Limits as a request states them.
import type { Limit } from '../../gen/budgetd/v1/limit_pb.ts';
import type { LimitInput } from '../../kernel/budget.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkMicros, type Problems } from './problems.ts';
import { isWindowName, windowName } from './window-name.ts';
import { checkWindow, frameWindow } from './windows.ts';

const LIMITS_MAX = 16;
const LIMIT_NAME = /^[A-Za-z0-9._:/+-]{1,63}$/;

/** The name of a limit; undefined where it is left out. */
export function checkLimitName(problems: Problems, field: string, name: string): string | undefined {
  if (name === '') return undefined;
  if (!LIMIT_NAME.test(name)) problems.push({ field, description: 'must match [A-Za-z0-9._:/+-]{1,63}' });
  return name;
}

function checkLimit(problems: Problems, field: string, limit: Limit): LimitInput {
  const name = checkLimitName(problems, `${field}.name`, limit.name);
  const problemsBefore = problems.length;
  const rule = checkWindow(problems, `${field}.window`, limit.window);
  const isWindowKnown = problems.length === problemsBefore;
  const amountMicros = checkMicros(problems, `${field}.amount_micros`, limit.amountMicros);
  const ownName = windowName(rule);
  if (isWindowKnown && name !== undefined && name !== ownName && isWindowName(name)) {
    const description = `is what another window is called; this one is ${ownName}`;
    problems.push({ field: `${field}.name`, description });
  }
  return { name: name ?? ownName, rule, amountMicros };
}

/** Up to 16 limits with names of their own. */
export function checkLimits(problems: Problems, field: string, limits: readonly Limit[]): LimitInput[] {
  if (limits.length > LIMITS_MAX) {
    problems.push({ field, description: `must have at most ${LIMITS_MAX} entries` });
    return [];
  }
  const names = new Set<string>();
  return limits.map((limit, index) => {
    const input = checkLimit(problems, `${field}[${index}]`, limit);
    if (names.has(input.name)) {
      const description = `must be unique in its budget: another one is named ${input.name} too`;
      problems.push({ field: `${field}[${index}].name`, description });
    }
    names.add(input.name);
    return input;
  });
}

/** Frames limits as the client set them, in its order. */
export function frameLimits(limits: readonly Limit[]): string {
  const each = limits.map(
    ({ name, window, amountMicros }) =>
      frameText('name', name) + frameWindow(window) + frameValue('amount', amountMicros),
  );
  return each.map((framed) => frameText('limit', framed)).join('');
}
