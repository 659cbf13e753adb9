// Where budgetctl writes and how: colours only for a terminal that wants them, a width only where there is one. Commands
// write through this and nothing else, so that tests see every byte and pipes get plain text.
import { styleText } from 'node:util';

/** Meaning of a piece of text; the terminal decides whether that shows. */
export type Tone = 'plain' | 'heading' | 'faint' | 'good' | 'warning' | 'bad' | 'settled' | 'held';

/** A place to write to. */
export interface Terminal {
  /** Cells in a line; undefined where lines are not limited (a pipe or a file). */
  readonly columns: number | undefined;
  /** Writes one or more lines of result to the standard output. */
  out(text: string): void;
  /** Writes one or more lines about the run to the standard error. */
  err(text: string): void;
  /** The text with the colour of its tone, or as it is. */
  paint(tone: Tone, text: string): string;
}

/** The part of a stream that a terminal needs. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Narrower than this nothing can be laid out: the width is taken to be at least this many cells. */
const COLUMNS_MIN = 40;

const FORMATS = {
  plain: [],
  heading: ['bold'],
  faint: ['dim'],
  good: ['green'],
  warning: ['yellow'],
  bad: ['red'],
  settled: ['cyan'],
  held: ['yellow'],
} as const satisfies Record<Tone, Parameters<typeof styleText>[0]>;

/**
 * A terminal over two streams. Colour needs a TTY on `stdout`, no NO_COLOR in the environment (any non-empty value, as
 * no-color.org says), and a TERM other than `dumb`.
 */
export function createTerminal(
  stdout: OutputStream,
  stderr: OutputStream,
  environment: Readonly<Record<string, string | undefined>>,
): Terminal {
  const isTty = stdout.isTTY === true;
  const isColoured = isTty && (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb';
  return {
    columns: isTty && stdout.columns !== undefined ? Math.max(stdout.columns, COLUMNS_MIN) : undefined,
    out: (text) => void stdout.write(`${text}\n`),
    err: (text) => void stderr.write(`${text}\n`),
    paint: (tone, text) =>
      isColoured && tone !== 'plain' ? styleText([...FORMATS[tone]], text, { validateStream: false }) : text,
  };
}
