// A terminal that keeps what is written to it, for tests that hold the picture itself.
import { createTerminal, type Terminal } from '../../../src/app/cli/terminal.ts';

/** A terminal and what was written to it so far. */
export interface KeptTerminal {
  readonly terminal: Terminal;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** A terminal like a pipe's; with `columns` one like a person's, but without colour unless asked for. */
export function keepTerminal(columns?: number, isColoured = false): KeptTerminal {
  let stdout = '';
  let stderr = '';
  const out = {
    write: (text: string): void => {
      stdout += text;
    },
    ...(columns === undefined ? {} : { isTTY: true, columns }),
  };
  const err = {
    write: (text: string): void => {
      stderr += text;
    },
  };
  const terminal = createTerminal(out, err, isColoured ? {} : { NO_COLOR: '1' });
  return { terminal, stdout: () => stdout, stderr: () => stderr };
}
