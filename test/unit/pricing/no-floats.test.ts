// The linter's rule against floats in pricing, tried on lines that it must refuse and on lines that it must let pass.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The lines that the linter refuses in a file of that name, under the project's own settings in a folder of its own. */
function refusedLines(file: string, lines: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'budgetd-lint-'));
  try {
    for (const path of ['biome.json', 'scripts/no-floats.grit']) cpSync(path, join(folder, path));
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), `${lines.join('\n')}\n`);
    const { stdout } = spawnSync(
      resolve('node_modules/.bin/biome'),
      ['lint', '--vcs-enabled=false', '--reporter=github', '--max-diagnostics=100', file],
      { cwd: folder, encoding: 'utf8' },
    );
    const refused = new Set(
      [...stdout.matchAll(/^::error title=plugin.*?,line=(\d+)/gm)].map(([, line]) => Number(line)),
    );
    return lines.filter((_, index) => refused.has(index + 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const FLOATS = [
  'export const a = 1.5;',
  'export const b = 1e3;',
  'export const c = 5 / 2;',
  'export const d = 5n / 2n;',
  'export const e = 5 % 2;',
  'export const f = 2 ** 3;',
  "export const g = Number('1.5');",
  "export const h = parseFloat('1.5');",
  "export const i = +'1.5';",
  'export const j = Math.round(2);',
];
const WHOLE = [
  'export const k = 1_000;',
  'export const l = 0xe0;',
  'export const m = 5n * 2n;',
  'export const n = Math.min(1, 2);',
];

describe('the linter', () => {
  it('refuses floats in pricing, line by line, and nothing else', () => {
    expect(refusedLines('src/pricing/example.ts', [...FLOATS, ...WHOLE])).toEqual(FLOATS);
  });

  it('leaves other rooms alone', () => {
    expect(refusedLines('src/lane/example.ts', ['export const a = 5 / 2;', 'export const b = 1.5;'])).toEqual([]);
  });
});
