// Tables line up, keep to the terminal's width, and let nobody's text out of its cell.
import { expect, it } from 'vitest';
import { printable, widthOf } from '../../../src/app/cli/printable-text.ts';
import { drawTable } from '../../../src/app/cli/table.ts';
import { keepTerminal } from './plain-terminal.ts';

const columns = [
  { title: 'NAME', shrinkTo: 6 },
  { title: 'N', align: 'right' },
  { title: 'HELD', align: 'amount' },
] as const;

it('aligns amounts at the decimal point', () => {
  const rows = [
    ['a', '1', '500'],
    ['bb', '12', '0.25'],
    ['c', '3', '-'],
  ];
  expect(drawTable(columns, rows, keepTerminal().terminal).split('\n')).toEqual([
    'NAME   N    HELD',
    '────  ──  ──────',
    'a      1  500',
    'bb    12    0.25',
    'c      3    -',
  ]);
});

it('cuts only what may be cut, and only on a terminal that is too narrow', () => {
  const rows = [['a-name-that-is-much-longer-than-the-others-are', '1', '9007199254.740993']];
  const widest = (text: string): number => Math.max(...text.split('\n').map((line) => widthOf(line)));
  expect(drawTable(columns, rows, keepTerminal().terminal)).toContain('a-name-that-is-much-longer-than-the-others-are');
  const narrow = drawTable(columns, rows, keepTerminal(40).terminal);
  expect(widest(narrow)).toBe(40);
  expect(narrow).toContain('a-name-that-is-mu…');
  expect(narrow).toContain('9007199254.740993');
});

it('measures wide and combining characters as a terminal draws them', () => {
  expect(widthOf('預算')).toBe(4);
  expect(widthOf('e\u0301')).toBe(1);
  expect(widthOf('🚀')).toBe(2);
  const [, , first, second] = drawTable(
    columns,
    [
      ['預算', '1', '5'],
      ['abcd', '1', '5'],
    ],
    keepTerminal().terminal,
  ).split('\n');
  expect(widthOf(first ?? '')).toBe(widthOf(second ?? ''));
});

it('disarms control characters, escape sequences and turned reading directions', () => {
  expect(printable('a\u001b[2Jb\r\nc\u202ed\u2028e')).toBe('a\ufffd[2Jb\ufffd\ufffdc\ufffdd\ufffde');
  const drawn = drawTable(columns, [['evil\n\u001b[31mname', '1', '5']], keepTerminal(80, false).terminal);
  expect(drawn.split('\n')).toHaveLength(3);
  expect(drawn).not.toContain('\u001b');
});

it('pads by what is seen, not by what colours add', () => {
  const { terminal } = keepTerminal(80, true);
  const drawn = drawTable(
    [{ title: 'A' }, { title: 'B' }],
    [
      [{ text: 'x', tone: 'bad' }, '1'],
      ['yyy', '2'],
    ],
    terminal,
  );
  expect(drawn).toContain('\u001b[31mx\u001b[39m    1');
});
