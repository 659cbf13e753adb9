// The name of a window, which a limit has that was given none. Its own file because it is part of the contract: no two
// different windows have the same name, a name never changes, and no limit may go by the name of a window that it does not have.
import type { WindowRule } from '../../kernel/window.ts';
import { isTimeZone } from '../../lane/calendar.ts';

const PARTS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** "lifetime", "rolling:1h30m", "day", "day:Asia/Shanghai", "range:2026-03-01T00:00:00Z..2026-04-01T00:00:00Z". */
export function windowName(rule: WindowRule): string {
  switch (rule.kind) {
    case 'lifetime':
      return 'lifetime';
    case 'range':
      return `range:${instant(rule.startMs)}..${instant(rule.endMs)}`;
    case 'rolling':
      return `rolling:${length(rule.durationMs)}`;
    case 'calendar':
      return rule.timeZone === 'UTC' ? rule.unit : `${rule.unit}:${rule.timeZone}`;
  }
}

const NAMES = /^(?:lifetime|hour|day|week|month|rolling:(?:[0-9]+[dhms])+|range:.+\.\..+)$/;
const ZONED_NAME = /^(?:hour|day|week|month):(.+)$/;

/** Whether a text is the name of some window, or would be taken for it: "day:UTC" too, although that window is called "day". */
export function isWindowName(text: string): boolean {
  if (NAMES.test(text)) return true;
  const zone = ZONED_NAME.exec(text)?.[1];
  return zone !== undefined && isTimeZone(zone);
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** Every length of whole seconds in exactly one way: largest parts first, none of them 0. */
function length(durationMs: number): string {
  let rest = durationMs;
  let text = '';
  for (const [unit, ms] of PARTS) {
    const count = Math.floor(rest / ms);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * ms;
  }
  return text;
}
