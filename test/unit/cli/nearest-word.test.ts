// What was most likely meant by a mistyped word, and that nothing is guessed where no word is near.
import { expect, it } from 'vitest';
import { didYouMean, nearestWord } from '../../../src/app/cli/nearest-word.ts';

const WORDS = ['limits', 'labels', 'kind', 'weight', 'floor', 'max_active', 'max_lease'];

it.each([
  ['limts', 'limits'],
  ['limit', 'limits'],
  ['Limits', 'limits'],
  ['wieght', 'weight'],
  ['label', 'labels'],
  ['knid', 'kind'],
  ['max_activ', 'max_active'],
  ['max-lease', 'max_lease'],
  ['owner', undefined],
  ['mint', undefined],
  ['k', undefined],
  ['', undefined],
])('%j is most likely %j', (typed, meant) => {
  expect(nearestWord(typed, WORDS)).toBe(meant);
});

it('is said only where there is one', () => {
  expect(didYouMean('florr', WORDS)).toBe(' (did you mean floor?)');
  expect(didYouMean('nothing', WORDS)).toBe('');
});
