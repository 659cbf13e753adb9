// Files of people are UTF-8 or refused, wherever they are read: nothing in them becomes another character.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseTemplate } from '../../../src/app/cli/template-json.ts';
import { readText, Utf8Lines } from '../../../src/app/read-text.ts';
import { loadTokens } from '../../../src/app/token-file.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'budgetd-text-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(content: Buffer | string): string {
  const path = join(folder, 'file');
  writeFileSync(path, content);
  return path;
}

const latin1 = (text: string): string => file(Buffer.from(text, 'latin1'));

describe('a file', () => {
  it('is read as it is', () => {
    const text = 'naïve €\n😀 \ufffd\r\n';
    expect(readText(file(text))).toBe(text);
    expect(readText(file(''))).toBe('');
  });

  it('that is not UTF-8 is refused, with the line', () => {
    expect(() => readText(latin1('a\nb\r\ncafé\nd'))).toThrow('line 3 is not UTF-8');
    expect(() => readText(latin1(`${'x'.repeat(2_000_000)}é`))).toThrow('it is not UTF-8');
    expect(() => readText(join(folder, 'none'))).toThrow('ENOENT');
  });

  it('of a template, and of tokens, is one', () => {
    expect(() => parseTemplate(latin1('{\n"kind": "café"}'))).toThrow('line 2 is not UTF-8');
    const { problems } = loadTokens(undefined, latin1('- name: ops\n  role: admin\n  token: cafécafécafécafé\n'));
    expect(problems).toEqual([expect.stringContaining("can't be read: line 3 is not UTF-8")]);
  });
});

it('lines are those of the whole, in whatever parts it comes', () => {
  const bytes = fc.array(fc.constantFrom(0x0a, 0x0d, 0x61, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xff), { maxLength: 30 });
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 8 }), (all, size) => {
      const whole = Buffer.from(all);
      const lines = new Utf8Lines();
      const found: number[] = [];
      for (let at = 0; at < whole.length; at += size) found.push(...lines.add(whole.subarray(at, at + size)));
      found.push(...lines.end());
      // Each byte as one character, so that lines can be told without decoding them.
      const expected = whole
        .toString('latin1')
        .split(/\r\n|\n|\r/)
        .flatMap((line, no) => {
          const text = Buffer.from(line, 'latin1');
          return Buffer.from(text.toString('utf8')).equals(text) ? [] : [no + 1];
        });
      expect(found).toEqual(expected);
    }),
  );
});
