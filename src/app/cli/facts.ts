// Lists of named facts, as `get` and the changing commands print them: one a line, values under each other. Its own
// file because budgets, reservations and the server's state are all shown so.
import { printable, widthOf } from './printable-text.ts';
import type { Terminal } from './terminal.ts';

/** A name and its value; facts with an undefined or empty value are left out. */
export type Fact = readonly [name: string, value: string | undefined];

/** Draws the facts that are there. Returns lines without a final line end. */
export function drawFacts(facts: readonly Fact[], terminal: Terminal): string {
  const present = facts.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as const],
  );
  const width = Math.max(0, ...present.map(([name]) => widthOf(name)));
  return present
    .map(([name, value]) => `${terminal.paint('faint', name.padEnd(width))}  ${printable(value)}`)
    .join('\n');
}

/** Labels as `key=value` in the order of their keys. */
export function formatLabels(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key] ?? ''}`)
    .join(' ');
}
