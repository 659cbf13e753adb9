// What is wrong in a file, each with its line and column, so that all of it is told at once and in the order of the file.

/** A place in a file; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong. */
export interface FileProblem {
  readonly at: Position;
  readonly message: string;
}

/** Collects problems. */
export class FileProblems {
  readonly #all: FileProblem[] = [];

  get count(): number {
    return this.#all.length;
  }

  add(at: Position, message: string): void {
    this.#all.push({ at, message });
  }

  /** In the order of the file. */
  sorted(): readonly FileProblem[] {
    return this.#all.toSorted(({ at: a }, { at: b }) => a.line - b.line || a.column - b.column);
  }
}

/** `budgets.yaml:3:5: unknown key`, as compilers write it and editors read it. */
export function formatProblem(file: string, { at, message }: FileProblem): string {
  return `${file}:${at.line}:${at.column}: ${message}`;
}
