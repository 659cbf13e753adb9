// Reading a provider's report, which is untrusted: only own fields of plain objects, counts that are whole numbers, and of
// everything that is wrong the first. Nothing here throws or puts a value right.
import { isText, isWhole } from '../whole.ts';
import type { UsageProblem, UsageProblemCode } from './usage.ts';

/** The first fault of one report, as soon as there is one. */
export interface Faults {
  first: UsageProblem | undefined;
}

/** An object within a report. */
export interface Report {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Where it is in the whole, "" for the whole itself. */
  readonly path: string;
  readonly faults: Faults;
}

/** Longest word of a report, such as a service tier. */
const WORD_LENGTH_MAX = 64;

/** Whether a value is a word. */
export function isWord(value: unknown): value is string {
  return typeof value === 'string' && isText(value, WORD_LENGTH_MAX);
}

/** The value as an object to read; undefined where there is none, which is a fault unless it is null or absent. */
export function reportOf(value: unknown, path: string, faults: Faults): Report | undefined {
  if (value === undefined || value === null) return undefined;
  if (isFields(value)) return { fields: value, path, faults };
  fault(faults, 'usage_incomplete', path, 'must be an object');
  return undefined;
}

/** Whether a value is an object with fields. */
export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own field; undefined where it is absent or null, which reports use alike. */
export function field(report: Report | undefined, name: string): unknown {
  if (report === undefined || !Object.hasOwn(report.fields, name)) return undefined;
  return report.fields[name] ?? undefined;
}

/** An object within an object; undefined where there is none. */
export function child(report: Report | undefined, name: string): Report | undefined {
  if (report === undefined) return undefined;
  return reportOf(field(report, name), pathOf(report, name), report.faults);
}

/** Whether there is a list. */
export function hasList(report: Report | undefined, name: string): report is Report {
  return Array.isArray(field(report, name));
}

/** The objects of a list; none where there is no list. */
export function children(report: Report, name: string): readonly Report[] {
  const list = field(report, name);
  if (list === undefined) return [];
  if (!Array.isArray(list)) {
    fault(report.faults, 'usage_incomplete', pathOf(report, name), 'must be a list');
    return [];
  }
  const found: Report[] = [];
  for (const [index, item] of list.entries()) {
    const path = `${pathOf(report, name)}[${index}]`;
    if (isFields(item)) found.push({ fields: item, path, faults: report.faults });
    else fault(report.faults, 'usage_incomplete', path, 'must be an object');
  }
  return found;
}

/** A count; undefined where it is absent. What is no whole number is a fault. */
export function count(report: Report | undefined, name: string): bigint | undefined {
  const value = field(report, name);
  if (value === undefined || report === undefined) return undefined;
  // The one 0 of all reports: most counts are it, and each that is made anew takes memory.
  if (isWhole(value)) return value === 0 ? 0n : BigInt(value);
  fault(report.faults, 'invalid_count', pathOf(report, name), 'must be a whole number from 0 to 2^53 - 1');
  return undefined;
}

/** A count, 0 where it is absent. */
export function countOrZero(report: Report | undefined, name: string): bigint {
  return count(report, name) ?? 0n;
}

/** Counts that a price depends on. All absent: there is no usage. Some absent: it is incomplete. Both are faults. */
export function need(report: Report, names: readonly string[]): readonly bigint[] {
  const first = names.find((name) => field(report, name) === undefined);
  if (first === undefined) return names.map((name) => countOrZero(report, name));
  if (names.every((name) => field(report, name) === undefined)) {
    fault(report.faults, 'usage_missing', report.path, 'holds no counts');
  } else fault(report.faults, 'usage_incomplete', pathOf(report, first), 'must be there');
  return names.map(() => 0n);
}

/** A word; undefined where it is absent. */
export function word(report: Report | undefined, name: string): string | undefined {
  const value = field(report, name);
  if (value === undefined || report === undefined) return undefined;
  if (isWord(value)) return value;
  fault(
    report.faults,
    'usage_incomplete',
    pathOf(report, name),
    `must be a word of at most ${WORD_LENGTH_MAX} characters`,
  );
  return undefined;
}

/** Notes a fault unless `holds`. */
export function require(report: Report, holds: boolean, name: string, text: string): void {
  if (!holds) fault(report.faults, 'inconsistent_usage', pathOf(report, name), text);
}

/** Notes a fault where `isUsed`: it is billed in a way that no bucket stands for. */
export function refuse(report: Report, isUsed: boolean, name: string, text: string): void {
  if (isUsed) fault(report.faults, 'unsupported_modality', pathOf(report, name), text);
}

/** Notes a fault, if it is the first. */
export function fault(faults: Faults, code: UsageProblemCode, path: string, text: string): void {
  faults.first ??= { code, field: path === '' ? 'usage' : path, text };
}

const pathOf = (report: Report, name: string): string => (report.path === '' ? name : `${report.path}.${name}`);
