// What is written for callers and for operators names every word that PRICE_UNKNOWN says why in, and no other.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PRICE_UNKNOWN_WORDS } from '../../../src/lane/price-unknown-words.ts';

const textOf = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

function between(text: string, start: string, end: string): string {
  const from = text.indexOf(start);
  const until = text.indexOf(end, from);
  if (from < 0 || until < 0) throw new Error(`nothing between ${start} and ${end}`);
  return text.slice(from + start.length, until);
}

const wordsOf = (text: string, word: RegExp): string[] => [...text.matchAll(word)].map(([, each = '']) => each).sort();
const sorted = [...PRICE_UNKNOWN_WORDS].sort();

it('the contract names them', () => {
  const listed = between(textOf('proto/budgetd/v1/reservation.proto'), 'why of PRICE_UNKNOWN is', ';');
  expect(wordsOf(listed, /"(\w+)"/g)).toEqual(sorted);
});

it('the page on prices names them, each with what helps', () => {
  const table = between(textOf('docs/prices.md'), '| `why` ', '\n\n');
  const firstCells = table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|')[1] ?? '');
  expect(wordsOf(firstCells.filter((cell) => !cell.includes('with `unit`')).join('\n'), /`(\w+)`/g)).toEqual(sorted);
});
