// The month, in UTC, that a line of an invoice belongs to. UTC because providers bill by days of UTC, and a day that was cut by
// another clock can't be cut anew.
import { daysInMonth, wholeOf } from '../whole.ts';

const MINUTES_OF_DAY = 1_440;
const DATE =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d{1,9})?)?(?: ?(?:Z|UTC|([+-])(\d{2}):?(\d{2})))?)?$/;

/**
 * `2026-11` for a date (`2026-11-30`) or an instant (`2026-11-30T23:59:59Z`, `2026-12-01 00:59+01:00`); without a zone it is in
 * UTC. Undefined for all else, days that no month has among it.
 */
export function invoiceMonthOf(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0] = match.slice(1, 4).map(wholeOrZero);
  const [hours = 0, minutes = 0] = match.slice(4, 6).map(wholeOrZero);
  const [offsetHours = 0, offsetMinutes = 0] = match.slice(7, 9).map(wholeOrZero);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hours > 23 || minutes > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offset = offsetHours * 60 + offsetMinutes;
  const minuteOfDay = hours * 60 + minutes + (match[6] === '-' ? offset : -offset);
  if (minuteOfDay < 0 && day === 1) return month === 1 ? monthText(year - 1, 12) : monthText(year, month - 1);
  if (minuteOfDay >= MINUTES_OF_DAY && day === daysInMonth(year, month)) {
    return month === 12 ? monthText(year + 1, 1) : monthText(year, month + 1);
  }
  return monthText(year, month);
}

/** Whether a text is a month as `invoiceMonthOf` gives it. */
export function isInvoiceMonth(text: string): boolean {
  return /^\d{4}-\d{2}$/.test(text) && invoiceMonthOf(`${text}-01`) === text;
}

const wholeOrZero = (digits: string | undefined): number => wholeOf(digits ?? '') ?? 0;

function monthText(year: number, month: number): string {
  return `${year.toString().padStart(4, '0')}-${month.toString().padStart(2, '0')}`;
}
