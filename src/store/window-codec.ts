// Window rules as JSON with named fields, as they stand in definitions and in the templates within them. Its own file because
// both the numbered windows of a budget and the limits of a template are made of them.
import type { CalendarUnit, WindowRule } from '../kernel/window.ts';
import { integerOf, integerText, quote, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

const UNITS: ReadonlySet<string> = new Set<CalendarUnit>(['hour', 'day', 'week', 'month']);

/** The fields of a rule, without the braces around them. */
export function ruleFields(rule: WindowRule): string {
  switch (rule.kind) {
    case 'lifetime':
      return '"kind":"lifetime"';
    case 'range':
      return `"kind":"range","startMs":${integerText(rule.startMs)},"endMs":${integerText(rule.endMs)}`;
    case 'rolling':
      return `"kind":"rolling","durationMs":${integerText(rule.durationMs)},"stepMs":${integerText(rule.stepMs)}`;
    case 'calendar':
      return `"kind":"calendar","unit":"${rule.unit}","timeZone":${quote(rule.timeZone)}`;
  }
}

/** Reads what ruleFields wrote, out of the object that holds it. Throws CorruptJournalError for anything else. */
export function ruleOf(fields: Readonly<Record<string, unknown>>): WindowRule {
  switch (fields['kind']) {
    case 'lifetime':
      return { kind: 'lifetime' };
    case 'range':
      return { kind: 'range', startMs: integerOf(fields['startMs']), endMs: integerOf(fields['endMs']) };
    case 'rolling':
      return { kind: 'rolling', durationMs: integerOf(fields['durationMs']), stepMs: integerOf(fields['stepMs']) };
    case 'calendar':
      return { kind: 'calendar', unit: unitOf(fields['unit']), timeZone: stringOf(fields['timeZone']) };
    default:
      throw new CorruptJournalError(`unknown window: ${JSON.stringify(fields)}`);
  }
}

function unitOf(value: unknown): CalendarUnit {
  if (typeof value === 'string' && UNITS.has(value)) return value as CalendarUnit;
  throw new CorruptJournalError(`unknown unit of a calendar: ${JSON.stringify(value)}`);
}
