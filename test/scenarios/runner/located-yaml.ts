// YAML 1.2 read into values that know their line, so that every complaint about a case file can name one. Whole numbers
// become bigint: amounts reach past what a double holds.
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';

/** A value of a case file and the line it stands on, counted from 1. */
export type Located =
  | { readonly kind: 'scalar'; readonly line: number; readonly value: string | bigint | number | boolean | null }
  | { readonly kind: 'list'; readonly line: number; readonly items: readonly Located[] }
  | { readonly kind: 'map'; readonly line: number; readonly entries: ReadonlyMap<string, LocatedEntry> };

/** One entry of a map; `line` is the line of its key. */
interface LocatedEntry {
  readonly line: number;
  readonly value: Located;
}

/** Thrown where a case file does not follow the format. The message needs the file's name in front of it. */
export class CaseFormatError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = 'CaseFormatError';
    this.line = line;
  }
}

/** Reads one YAML document. Throws CaseFormatError where it is not well formed, or has none or several documents. */
export function readLocatedYaml(text: string): Located {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: '1.2', intAsBigInt: true, lineCounter: lines, prettyErrors: false });
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined) throw new CaseFormatError(lines.linePos(problem.pos[0]).line, problem.message);

  const locate = (node: unknown, fallbackLine: number): Located => {
    const line = lineOf(node, fallbackLine);
    if (isAlias(node)) return locate(node.resolve(document), line);
    if (isSeq(node)) return { kind: 'list', line, items: node.items.map((item) => locate(item, line)) };
    if (isMap(node)) {
      const entries = new Map<string, LocatedEntry>();
      for (const pair of node.items) {
        const keyLine = lineOf(pair.key, line);
        if (!isScalar(pair.key)) throw new CaseFormatError(keyLine, 'a key must be a plain word');
        entries.set(String(pair.key.value), { line: keyLine, value: locate(pair.value, keyLine) });
      }
      return { kind: 'map', line, entries };
    }
    return { kind: 'scalar', line, value: isScalar(node) ? scalarValue(node.value, line) : null };
  };
  const lineOf = (node: unknown, fallbackLine: number): number => {
    const start = (node as Node | null)?.range?.[0];
    return start === undefined ? fallbackLine : lines.linePos(start).line;
  };
  return locate(document.contents, 1);
}

function scalarValue(value: unknown, line: number): string | bigint | number | boolean | null {
  switch (typeof value) {
    case 'string':
    case 'bigint':
    case 'number':
    case 'boolean':
      return value;
    default:
      if (value === null) return null;
      throw new CaseFormatError(line, `a value of type ${typeof value} has no place in a case file`);
  }
}
