// Files of people as text. Its own file because bytes that are no UTF-8 must be told of wherever one is read: read as if they were, they
// would become other characters than those that were meant, in names, labels and secrets.
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';

/** The text of a file; `0` is the standard input. Throws the system's error, or one that names the line that is not UTF-8. */
export function readText(file: string | 0): string {
  const bytes = readFileSync(file);
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const lines = new Utf8Lines();
  const [line] = [...lines.add(bytes), ...lines.end()];
  throw new RangeError(line === undefined ? 'it is not UTF-8' : `line ${line} is not UTF-8`);
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Longer lines than this are not looked at any further, nor is what follows. */
const LINE_BYTES_MAX = 1_048_576;

/** Finds the lines that are not UTF-8 in bytes that come in parts. They end with CR LF, LF or CR, and are counted from 1. */
export class Utf8Lines {
  #line = 1;
  /** Of the last line, whose end has not come. */
  #rest: Buffer = Buffer.alloc(0);
  #isOver = false;

  /** Takes a part; gives the lines that end in it and are not UTF-8. */
  add(part: Buffer): number[] {
    if (this.#isOver) return [];
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    // A CR at the end may be half of a CR LF.
    const body = bytes.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
    const end = Math.max(body.lastIndexOf(LINE_FEED), body.lastIndexOf(CARRIAGE_RETURN)) + 1;
    this.#rest = bytes.subarray(end);
    this.#isOver = this.#rest.length > LINE_BYTES_MAX;
    return this.#check(bytes.subarray(0, end));
  }

  /** What is left is the last line; gives it where it is not UTF-8. */
  end(): number[] {
    return this.#isOver ? [] : this.#check(this.#rest);
  }

  #check(bytes: Buffer): number[] {
    const isGood = isUtf8(bytes);
    const wrong: number[] = [];
    for (let start = 0, at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      const isEnd = byte === LINE_FEED || (byte === CARRIAGE_RETURN && bytes[at + 1] !== LINE_FEED);
      if (!isEnd && at < bytes.length - 1) continue;
      if (!isGood && !isUtf8(bytes.subarray(start, at + 1))) wrong.push(this.#line);
      if (isEnd) this.#line += 1;
      start = at + 1;
    }
    return wrong;
  }
}
