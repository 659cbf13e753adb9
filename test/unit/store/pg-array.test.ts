// Array literals as PostgreSQL reads them: everything that has a meaning there is escaped.
import { expect, it } from 'vitest';
import { scalarArray, textArray } from '../../../src/store/pg-array.ts';

it.each([
  [[], '{}'],
  [[1, -2, 3n, true, false, undefined], '{1,-2,3,true,false,NULL}'],
  [[0, 0n], '{0,0}'],
  [[9_223_372_036_854_775_807n], '{9223372036854775807}'],
])('numbers, case %#', (values, text) => {
  expect(scalarArray(values)).toBe(text);
});

it.each([
  [[], '{}'],
  [['a', undefined, ''], '{"a",NULL,""}'],
  [['NULL', 'a,b', '{}'], '{"NULL","a,b","{}"}'],
  [['"', '\\', '\\"'], '{"\\"","\\\\","\\\\\\""}'],
])('texts, case %#', (values, text) => {
  expect(textArray(values)).toBe(text);
});
