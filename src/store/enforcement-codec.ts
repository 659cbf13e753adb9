// How far a budget's word binds, and what it tells of, as JSON with named fields, and the words of priorities and modes wherever
// they are stored. Its own file because definitions, templates, entries and projected rows all read them.
import { ENFORCED, type Enforcement, type Kept, type Mode, PRIORITIES, type Priority } from '../kernel/enforcement.ts';
import type { Reason } from '../kernel/refusal.ts';
import type { Shadow } from '../kernel/reservation.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, objectOf, quote, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

const MODES: ReadonlySet<string> = new Set<Mode>(['observe', 'warn', 'soft', 'enforce']);
const PRIORITY_WORDS: ReadonlySet<string> = new Set(PRIORITIES);

/** The members of an object that say what a budget enforces and tells of: nothing where it is as most are. */
export function enforcementMembers(enforcement: Enforcement, alertAt: readonly number[]): string {
  const alerts = alertAt.length === 0 ? '' : `,"alertAt":[${alertAt.map(integerText).join(',')}]`;
  return `${enforcementMember(enforcement)}${alerts}`;
}

function enforcementMember({ mode, toleranceMicros, onExhaustion, kept }: Enforcement): string {
  if (mode === 'enforce' && toleranceMicros === 0n && onExhaustion === 'block' && kept.length === 0) return '';
  const keptTexts = kept.map(({ priority, micros }) => `{"priority":"${priority}","micros":${amountText(micros)}}`);
  return (
    `,"enforcement":{"mode":"${mode}"` +
    (toleranceMicros === 0n ? '' : `,"tolerance":${amountText(toleranceMicros)}`) +
    (onExhaustion === 'block' ? '' : `,"onExhaustion":"${onExhaustion}"`) +
    `${kept.length === 0 ? '' : `,"kept":[${keptTexts.join(',')}]`}}`
  );
}

/** Reads the value of the member `enforcement`; ENFORCED where there is none. Throws CorruptJournalError. */
export function enforcementOf(value: unknown): Enforcement {
  if (value === undefined) return ENFORCED;
  const raw = objectOf(value);
  const { tolerance, onExhaustion, kept } = raw;
  if (onExhaustion !== undefined && onExhaustion !== 'degrade') {
    throw new CorruptJournalError(`unknown on_exhaustion: ${JSON.stringify(onExhaustion)}`);
  }
  return {
    mode: modeOf(raw['mode']),
    toleranceMicros: tolerance === undefined ? 0n : amountOf(tolerance),
    onExhaustion: onExhaustion ?? 'block',
    kept: kept === undefined ? [] : arrayOf(kept).map(keptOf),
  };
}

/** Reads the value of the member `alertAt`; none where it is left out. Throws CorruptJournalError. */
export function alertAtOf(value: unknown): readonly number[] {
  return value === undefined ? [] : arrayOf(value).map(integerOf);
}

/** What enforcement would have said, as a JSON array: mode, reason, budget. */
export function shadowText({ mode, reason, budget }: Shadow): string {
  return `["${mode}","${reason}",${quote(budget)}]`;
}

/** Reads what shadowText wrote. Throws CorruptJournalError. */
export function shadowOf(value: unknown): Shadow {
  const [mode, reason, budget] = arrayOf(value, 3);
  return { mode: modeOf(mode), reason: stringOf(reason) as Reason, budget: stringOf(budget) };
}

/** Reads a priority. Throws CorruptJournalError. */
export function priorityOf(value: unknown): Priority {
  if (typeof value === 'string' && PRIORITY_WORDS.has(value)) return value as Priority;
  throw new CorruptJournalError(`unknown priority: ${JSON.stringify(value)}`);
}

function modeOf(value: unknown): Mode {
  if (typeof value === 'string' && MODES.has(value)) return value as Mode;
  throw new CorruptJournalError(`unknown mode: ${JSON.stringify(value)}`);
}

function keptOf(value: unknown): Kept {
  const kept = objectOf(value);
  return { priority: priorityOf(kept['priority']), micros: amountOf(kept['micros']) };
}
