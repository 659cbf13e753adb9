// Colour appears exactly where a person can see it and has not said no.
import { expect, it } from 'vitest';
import { createTerminal } from '../../../src/app/cli/terminal.ts';

const silent = { write: (): boolean => true };
const tty = { ...silent, isTTY: true, columns: 100 };
const RED = '\u001b[31mno\u001b[39m';

it.each([
  ['a terminal', tty, {}, RED],
  ['a terminal with an empty NO_COLOR', tty, { NO_COLOR: '' }, RED],
  ['NO_COLOR', tty, { NO_COLOR: '1' }, 'no'],
  ['a dumb terminal', tty, { TERM: 'dumb' }, 'no'],
  ['a pipe', silent, {}, 'no'],
])('paints for %s', (_, stdout, environment, painted) => {
  expect(createTerminal(stdout, silent, environment).paint('bad', 'no')).toBe(painted);
});

it('leaves plain text as it is even in colour', () => {
  expect(createTerminal(tty, silent, {}).paint('plain', 'x')).toBe('x');
});

it('has a width only where it is a terminal, and never one that nothing fits in', () => {
  expect(createTerminal(tty, silent, {}).columns).toBe(100);
  expect(createTerminal({ ...tty, columns: 7 }, silent, {}).columns).toBe(40);
  expect(createTerminal({ ...silent, columns: 100 }, silent, {}).columns).toBeUndefined();
});
