// The name of a window, which a limit has that was given none. Its own file because it is part of the contract: no two
// different windows have the same name, and a name never changes.
import type { WindowRule } from '../../kernel/window.ts';

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
