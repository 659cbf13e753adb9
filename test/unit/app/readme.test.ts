// The documentation against what it documents: the README's configuration table and example, and in every page the files,
// links and scenario cases that it names.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { SETTINGS } from '../../../src/app/config.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'clients/typescript/README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

function anchorsOf(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

test('methods that comments of the contract and the pages name are there', () => {
  const protos = readdirSync(join(ROOT, 'proto/budgetd/v1')).map((name) => read(`proto/budgetd/v1/${name}`));
  const known = new Set(
    protos.flatMap((text) => [...text.matchAll(/(?:rpc|message|enum) (\w+)/g)].map(([, name]) => name)),
  );
  const named = [...protos, ...PAGES.map(read)].flatMap((text) =>
    [
      ...text.matchAll(/\b(?:Add|Apply|Batch|Close|Create|Get|List|Resume|Retire|Suspend|Top|Update|Watch)[A-Z]\w+/g),
    ].map(([name]) => name),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('the README has every setting, in order, as --help shows it', () => {
  const rows = read('README.md').match(/^\| `(?:BUDGETD_|DATABASE_)\w+` .*$/gm);
  // The formatter pads columns.
  expect(rows?.map((row) => row.replaceAll(/ +/g, ' '))).toEqual(
    SETTINGS.map(
      (setting) =>
        `| \`${setting.name}\` | ${setting.default === '' ? 'none' : `\`${setting.default}\``} | ${setting.meaning} |`,
    ),
  );
});

test('the README shows the TypeScript example as it is', () => {
  expect(read('README.md')).toContain(`\`\`\`ts\n${read('clients/typescript/example.ts')}\`\`\`\n`);
});

test.each(PAGES)('%s: every file that it names is there', (page) => {
  const named = [...read(page).matchAll(/`((?:src|sql|test|proto|docs|clients|scripts|bench)\/[\w./-]+)`/g)];
  const missing = named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path)));
  expect(missing).toEqual([]);
});

test.each(PAGES)('%s: every link within the project leads somewhere', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
  const broken = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('docs/semantics.md names cases that exist, and leaves none of the core out', () => {
  const namesIn = (file: string): readonly string[] =>
    (parse(read(`test/scenarios/cases/${file}`)) as readonly { readonly name: string }[]).map(({ name }) => name);
  const text = read('docs/semantics.md').replaceAll(/\s+/g, ' ');
  const cited = [...text.matchAll(/[Cc]ases? ("[^.;:)]+)/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
  );
  const core = namesIn('core.yaml');
  const names = new Set([...core, ...namesIn('windows-and-shapes.yaml')]);
  expect(cited.filter((name) => !names.has(name))).toEqual([]);
  expect(core.filter((name) => !text.includes(`"${name}"`))).toEqual([]);
});
