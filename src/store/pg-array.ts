// Values as PostgreSQL array literals. A row set goes to the server as one literal a column, or one for all its numbers, and
// is put together there: several times cheaper than one parameter a value or one JSON object a row.

/** An array of numbers, amounts or booleans; undefined becomes NULL. */
export function scalarArray(values: readonly (number | bigint | boolean | undefined)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ',';
    text += values[i] ?? 'NULL';
  }
  return `${text}}`;
}

const ESCAPED = /["\\]/g;
const PLAIN = /^[0-9A-Za-z ._/-]*$/;

/** A string as an element of an array literal. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : `"${text.replace(ESCAPED, '\\$&')}"`;
}

/** An array of strings; undefined becomes NULL. */
export function textArray(values: readonly (string | undefined)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ',';
    const value = values[i];
    text += value === undefined ? 'NULL' : quoted(value);
  }
  return `${text}}`;
}
