// YAML 1.2 read into values that know where they stand, so that every complaint about a file can name its line. Whole numbers
// become bigint: amounts reach past what a double holds.
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import type { FileProblems, Position } from './file-problems.ts';

/** A value of a file and where it begins. */
export type Located =
  | { readonly kind: 'scalar'; readonly at: Position; readonly value: ScalarValue }
  | { readonly kind: 'list'; readonly at: Position; readonly items: readonly Located[] }
  | { readonly kind: 'map'; readonly at: Position; readonly entries: readonly LocatedEntry[] };

type ScalarValue = string | bigint | number | boolean | null;

/** One entry of a map; `at` is where its key begins. */
export interface LocatedEntry {
  readonly key: string;
  readonly at: Position;
  readonly value: Located;
}

/** Deeper than any budget and template: an anchor that holds itself ends here. */
const DEPTH_MAX = 64;

/** More than any file has: anchors in anchors, each meant often, end here. */
const VALUES_MAX = 1_000_000;

const START: Position = { line: 1, column: 1 };

/** Reads one YAML document. Undefined where it is not well formed; `problems` says why, as often as that is so. */
export function readLocatedYaml(text: string, problems: FileProblems): Located | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    intAsBigInt: true,
    lineCounter: lines,
    prettyErrors: false,
    // Looked for here, where the place of each is known.
    uniqueKeys: false,
  });
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const faults = [...document.errors, ...document.warnings];
  for (const { pos, message } of faults) problems.add(positionAt(pos[0]), message);
  if (document.errors.length > 0) return undefined;

  const positionOf = (node: unknown, fallback: Position): Position => {
    const start = (node as Node | null)?.range?.[0];
    return start === undefined ? fallback : positionAt(start);
  };
  let valueCount = 0;
  let tooMuchAt: Position | undefined;
  const locate = (node: unknown, fallback: Position, depth: number): Located => {
    const at = positionOf(node, fallback);
    const nothing: Located = { kind: 'scalar', at, value: null };
    valueCount += 1;
    if (depth > DEPTH_MAX || valueCount > VALUES_MAX) tooMuchAt ??= at;
    if (tooMuchAt !== undefined) return nothing;
    // Where the alias stands, not its anchor: that is what has to be mended.
    if (isAlias(node)) return { ...locate(node.resolve(document), at, depth + 1), at };
    if (isSeq(node)) return { kind: 'list', at, items: node.items.map((item) => locate(item, at, depth + 1)) };
    if (isMap(node)) return { kind: 'map', at, entries: entriesOf(node, at, depth) };
    return isScalar(node) ? { kind: 'scalar', at, value: node.value as ScalarValue } : nothing;
  };
  const entriesOf = (map: YAMLMap, at: Position, depth: number): LocatedEntry[] => {
    const lineOf = new Map<string, number>();
    return map.items.flatMap(({ key, value }): LocatedEntry[] => {
      const keyAt = positionOf(key, at);
      if (!isScalar(key)) {
        problems.add(keyAt, 'a key must be a plain word');
        return [];
      }
      const name = keyText(key.value, key.source);
      const before = lineOf.get(name);
      if (before !== undefined) problems.add(keyAt, `${name} is in line ${before} already`);
      lineOf.set(name, keyAt.line);
      return before === undefined ? [{ key: name, at: keyAt, value: locate(value, keyAt, depth + 1) }] : [];
    });
  };
  const located = locate(document.contents, START, 0);
  if (tooMuchAt === undefined) return located;
  problems.add(tooMuchAt, 'is nested too deep, or repeats too much');
  return undefined;
}

// As it is written: `007` is a name, not a number.
function keyText(value: unknown, source: string | undefined): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}
