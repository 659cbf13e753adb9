// Budgets kept in a file, against a real service: what plan shows, what apply does and when it refuses, and that what export prints
// is what is there.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BUDGET_FIELDS } from '../../../src/app/cli/budgets-file/budget-fields.ts';
import { writeBudgetsFile } from '../../../src/app/cli/budgets-file/write-budgets-file.ts';
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type BudgetTerms, NO_SHAPE } from '../../../src/kernel/budget.ts';
import { createRpcClient, type RpcClient } from '../../scenarios/runner/rpc-client.ts';
import { budgetsOf, drawn, newUnit } from '../../support/arbitrary-budgets.ts';
import { createDatabase, type TestDatabase } from '../../support/postgres.ts';
import { ServiceUnderTest } from '../../support/service-under-test.ts';
import { type Result, runCli } from './run-cli.ts';

let database: TestDatabase;
let service: ServiceUnderTest;
let rpc: RpcClient;
let folder: string;

beforeAll(async () => {
  database = await createDatabase();
  service = await ServiceUnderTest.start({ databaseUrl: database.url });
  rpc = createRpcClient(service.grpcPort);
  while ((await rpc.health()) !== 'SERVING') await delay(20);
});

afterAll(async () => {
  rpc.close();
  await service.kill();
  await database.drop();
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'budgetd-file-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

function file(content: string): string {
  const path = join(folder, 'budgets.yaml');
  writeFileSync(path, content);
  return path;
}

const run = (...words: readonly string[]): Promise<Result> =>
  runCli({ address: `127.0.0.1:${service.grpcPort}` }, words);

const plan = (content: string, ...more: string[]) => run('plan', '-f', file(content), ...more);
const apply = (content: string, ...more: string[]) => run('apply', '-f', file(content), '--yes', ...more);

/** Terms that no service refuses here: limits or the word that there are none, and room for what is below. */
function acceptable(terms: BudgetTerms): BudgetTerms {
  const { maxChildren: _, maxDepth: __, closeAfterMs: ___, ...shape } = terms.shape;
  return {
    ...terms,
    uncapped: terms.uncapped || terms.limits.length === 0,
    // Floors that come to more than an amount are refused.
    floorMicros: 0n,
    shape: { ...NO_SHAPE, ...shape },
    childTemplate: terms.childTemplate && acceptable(terms.childTemplate),
  };
}

const get = async (budget: string) => (await rpc.call(BudgetService.method.getBudget, { budget })).budget;

const ACME = `budgets:
  acme:
    kind: tenant
    labels: { env: prod }
    limits: [100 EUR/month, 10 EUR/day]
    budgets:
      triage:
        owner: ops
        limits: [5 EUR]
        shape: { max_active: 4 }
        budgets: { run-1: }
      chat:
        child_template: { kind: run, limits: [2 EUR] }
`;

describe('a file of budgets', () => {
  it('is planned, applied, and then there is no difference', async () => {
    const planned = await plan(ACME);
    const warning =
      /^\S+\.yaml:2:3: warning: acme: the unit EUR has no row in the price book, .* \(budgetctl prices unit EUR\)\n$/;
    expect(planned).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(warning) });
    expect(planned.stdout).toBe(`acme (EUR)
  + acme
      labels: {env: prod}
      kind: tenant
      limits: [100 EUR/month, 10 EUR/day]
  + acme/triage
      owner: ops
      limits: [5 EUR]
      shape.max_active: 4
  + acme/chat
      child_template: {kind: run, limits: [2 EUR]}
  + acme/triage/run-1
4 to create, 0 to change, 0 to close, 0 unchanged.
`);
    const applied = await apply(ACME);
    expect(applied).toMatchObject({ exitCode: 0, stderr: planned.stderr });
    expect(applied.stdout).toBe(`${planned.stdout}acme: 4 created, 0 changed, 0 closed.\n`);
    expect(await get('acme')).toMatchObject({ unit: 'EUR', revision: 1n, openChildren: 2n });
    expect(await plan(ACME)).toEqual({
      exitCode: 0,
      stdout: 'acme (EUR)\n  4 unchanged\nNo difference.\n',
      stderr: '',
    });
    expect((await apply(ACME)).stdout).toBe('acme (EUR)\n  4 unchanged\nNo difference.\n');
    expect((await get('acme'))?.revision).toBe(1n);
  });

  it('shows what differs field by field, and takes away what it does not say any more', async () => {
    await apply(ACME.replaceAll('acme', 'edit'));
    const edited = ACME.replaceAll('acme', 'edit')
      .replace('labels: { env: prod }\n', 'alert_at: []\n')
      .replace('[100 EUR/month, 10 EUR/day]', '[12 EUR/day, 100 EUR/month]')
      .replace('max_active: 4', 'max_active: 5, max_lease: 10m')
      .replace('limits: [2 EUR]', 'limits: [3 EUR], uncapped: false');
    const planned = await plan(edited);
    expect(planned.stdout).toBe(`edit (EUR)
  ~ edit
      labels: {env: prod} -> (default)
      limits: [100 EUR/month, 10 EUR/day] -> [12 EUR/day, 100 EUR/month]
      alert_at: (default) -> []
  ~ edit/triage
      shape.max_active: 4 -> 5
      shape.max_lease: (default) -> 10m
  ~ edit/chat
      child_template.limits: [2 EUR] -> [3 EUR]
  1 unchanged
0 to create, 3 to change, 0 to close, 1 unchanged.
`);
    expect((await apply(edited)).stdout).toContain('edit: 0 created, 3 changed, 0 closed.');
    expect(await get('edit')).toMatchObject({ kind: 'tenant', labels: {}, alertAt: { percent: [] } });
    expect(await get('edit/triage')).toMatchObject({ owner: 'ops', shape: { maxActive: 5 } });
    expect((await plan(edited)).exitCode).toBe(0);
  });

  it('leaves alone what it does not name, and closes it only when it is told to', async () => {
    const whole = ACME.replaceAll('acme', 'prune');
    await apply(whole);
    const reserve = { budget: 'prune/chat/made', maxMicros: 1n, idempotencyKey: 'r' };
    await rpc.call(ReservationService.method.reserve, reserve);
    const [head = '', tail = ''] = [whole.split('      triage:')[0], whole.split('      chat:')[1]];
    const part = `${head}      chat:${tail}`;
    const kept = await plan(part);
    expect(kept).toMatchObject({ exitCode: 0, stderr: '' });
    expect(kept.stdout).toBe(`prune (EUR)
  2 unchanged
  not in the file (left alone): prune/triage, prune/triage/run-1
  below the template of prune/chat (left alone): 1 open budget
No difference.
`);
    const pruned = await apply(part, '--prune');
    expect(pruned.stdout).toContain('  - prune/triage (closed for good, with all below it)\n  2 unchanged\n');
    expect(pruned.stdout).toContain('prune: 0 created, 0 changed, 1 closed.');
    expect((await get('prune/triage/run-1'))?.closedBy).toBe('prune/triage');
    expect((await get('prune/chat/made'))?.closedBy).toBe('');
    expect((await plan(part, '--prune')).exitCode).toBe(0);
    const again = await plan(whole);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain('budgets.yaml:7:7: prune/triage was closed, which is for good');
    expect(again.stderr).toContain('prune/triage/run-1 was closed with prune/triage');
  });

  it('says which runs are closed with a budget that it closes, and which are left alone', async () => {
    await apply(`budgets:
  runs:
    limits: [9 USD]
    budgets:
      kept: { child_template: { kind: run } }
      old: { child_template: { kind: run } }
      team: { budgets: { old: { child_template: { kind: run } } } }
`);
    const made = ['runs/kept/1', 'runs/old/1', 'runs/old/2', 'runs/team/old/1'];
    for (const budget of made)
      await rpc.call(ReservationService.method.reserve, { budget, maxMicros: 1n, idempotencyKey: 'r' });
    const rest = 'budgets: { runs: { limits: [9 USD], budgets: { kept: { child_template: { kind: run } } } } }';
    const planned = await plan(rest, '--prune');
    expect(planned.stdout).toBe(`runs (USD)
  - runs/old (closed for good, with all below it)
      below the template of runs/old: 2 open budgets
  - runs/team (closed for good, with all below it)
      below the template of runs/team/old: 1 open budget
  2 unchanged
  below the template of runs/kept (left alone): 1 open budget
0 to create, 0 to change, 2 to close, 2 unchanged.
`);
    const { trees } = JSON.parse((await plan(rest, '--prune', '--json')).stdout);
    expect(trees).toMatchObject([
      {
        close: ['runs/old', 'runs/team'],
        closedBelowTemplates: [
          { budget: 'runs/old', count: 2 },
          { budget: 'runs/team/old', count: 1 },
        ],
        leftAlone: [],
        belowTemplates: [{ budget: 'runs/kept', count: 1 }],
      },
    ]);
    // Made between the plan that is shown and the answer.
    const confirm = async () => {
      made.push('runs/old/late');
      await rpc.call(ReservationService.method.reserve, {
        budget: 'runs/old/late',
        maxMicros: 1n,
        idempotencyKey: 'r',
      });
      return true;
    };
    const context = { address: `127.0.0.1:${service.grpcPort}` };
    const applied = await runCli(context, ['apply', '-f', file(rest), '--prune'], { confirm });
    expect(applied.exitCode).toBe(0);
    const closedBy = await Promise.all(made.map(async (budget) => (await get(budget))?.closedBy));
    expect(closedBy).toEqual(['', 'runs/old', 'runs/old', 'runs/team', 'runs/old']);
  });

  it('may move a floor from one budget to another, also to a new one and from one that it closes', async () => {
    const floors = (rest: string, limit = 10) =>
      `budgets:\n  floors:\n    limits: [${limit} USD]\n    budgets:\n${rest}`;
    const child = (name: string, floor: number) => `      ${name}: { floor: ${floor} USD }\n`;
    const files = [
      floors(child('b', 4) + child('a', 6)),
      floors(child('b', 6) + child('a', 4)),
      floors(child('c', 2) + child('b', 4) + child('a', 4)),
      floors(child('c', 7) + child('b', 5), 12),
    ];
    for (const content of files) {
      expect(await apply(content, '--prune')).toMatchObject({ exitCode: 0, stderr: '' });
      expect((await plan(content, '--prune')).exitCode).toBe(0);
    }
  });

  it('speaks for a part of a tree, by path, and knows what stands above it', async () => {
    await apply(ACME.replaceAll('acme', 'part'));
    const part = 'budgets: { part/triage: { owner: ops, limits: [500 EUR/day], shape: { max_active: 4 } } }\n';
    const planned = await plan(part);
    expect(planned.stderr).toMatch(
      /budgets.yaml:1:\d+: warning: part\/triage: limit day: 500 EUR is above the 10 EUR of part/,
    );
    expect(planned.stdout).toBe(`part (EUR)
  ~ part/triage
      limits: [5 EUR] -> [500 EUR/day]
  not in the file (left alone): part/triage/run-1
0 to create, 1 to change, 0 to close, 0 unchanged.
`);
    expect((await plan(part.replace('500 EUR', '5 USD'))).stderr).toContain('the tree part counts in EUR');
    expect((await plan('budgets: { part/x/y: }')).stderr).toContain(
      'part/x, above part/x/y, is neither in the file nor there',
    );
  });

  it('is refused whole where a budget changed since the plan, and nothing of that tree is done', async () => {
    await apply(ACME.replaceAll('acme', 'race'));
    const edited = `${ACME.replaceAll('acme', 'race').replace('owner: ops', 'owner: me')}      new: {}\n`;
    const words = ['apply', '-f', file(edited)];
    const result = await runCli({ address: `127.0.0.1:${service.grpcPort}` }, words, {
      confirm: async () => {
        const budget = { budget: 'race/triage', kind: 'agent' };
        await rpc.call(BudgetService.method.updateBudget, {
          budget,
          updateMask: { paths: ['kind'] },
          idempotencyKey: 'x',
        });
        return true;
      },
    });
    expect(result.exitCode).toBe(4);
    expect(result.stderr).toContain('ETAG_MISMATCH');
    await expect(get('race/new')).rejects.toThrow(/race\/new/);
    expect(await get('race/triage')).toMatchObject({ owner: 'ops', kind: 'agent' });
  });

  it('asks before it applies, and does nothing where it is not told yes', async () => {
    const words = ['apply', '-f', file('budgets: { ask: { limits: [1 USD] } }')];
    const nobody = await run(...words);
    expect(nobody).toMatchObject({
      exitCode: 2,
      stderr: 'error: there is nobody to ask: add --yes; nothing was changed\n',
    });
    const change = { confirm: () => Promise.resolve(false) };
    const declined = await runCli({ address: `127.0.0.1:${service.grpcPort}` }, words, change);
    expect(declined).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/Nothing was changed\.\n$/) });
    await expect(get('ask')).rejects.toThrow(/ask/);
  });

  it('is exported as it was applied, without runs as their template makes them', async () => {
    await apply(ACME.replaceAll('acme', 'out'));
    for (const name of ['a', 'b']) {
      const reserve = { budget: `out/chat/${name}`, maxMicros: 1n, idempotencyKey: 'r' };
      await rpc.call(ReservationService.method.reserve, reserve);
    }
    const budget = { budget: 'out/chat/b', owner: 'somebody' };
    await rpc.call(BudgetService.method.updateBudget, {
      budget,
      updateMask: { paths: ['owner'] },
      idempotencyKey: 'x',
    });
    const exported = await run('export', 'out');
    expect(exported).toMatchObject({ exitCode: 0, stderr: '' });
    expect(exported.stdout).toBe(`budgets:
  out:
    unit: EUR
    labels:
      env: prod
    kind: tenant
    limits:
      - 100 EUR/month
      - 10 EUR/day
    budgets:
      chat:
        child_template:
          kind: run
          limits:
            - 2 EUR
        budgets:
          b:
            owner: somebody
            kind: run
            limits:
              - 2 EUR
      triage:
        owner: ops
        limits:
          - 5 EUR
        shape:
          max_active: 4
        budgets:
          run-1: {}
`);
    expect((await plan(exported.stdout)).exitCode).toBe(0);
    expect((await run('export', 'out/triage')).stdout).toMatch(/^budgets:\n {2}out\/triage:\n {4}owner: ops\n/);
    const all = await run('export');
    expect(all.stdout).toContain('\n  out:\n');
    expect((await plan(all.stdout)).exitCode).toBe(0);
  });

  it('is exported as it was applied, whatever is in it', async () => {
    let treeCount = 0;
    const budgets = fc.tuple(fc.array(drawn, { minLength: 1, maxLength: 5 }), newUnit).map(([all, treeUnit]) => {
      treeCount += 1;
      const [root, ...others] = all.map((each) => ({ ...each, terms: acceptable(each.terms) }));
      if (root === undefined) return [];
      // There is nothing above it of which it could have a share.
      const terms = { ...root.terms, sharePercent: undefined };
      return budgetsOf([{ ...root, terms, name: `any-${treeCount}` }, ...others], treeUnit);
    });
    await fc.assert(
      fc.asyncProperty(budgets, async (all) => {
        const [root] = all;
        const content = writeBudgetsFile(all);
        expect(await apply(content)).toMatchObject({ exitCode: 0 });
        const exported = await run('export', root?.budget ?? '');
        expect(exported.stdout).toBe(content);
        const planned = await plan(exported.stdout);
        expect([planned.exitCode, planned.stdout.split('\n').at(-2)]).toEqual([0, 'No difference.']);
      }),
      { numRuns: 15, seed: 20261130 },
    );
  });

  it('is as its documentation shows', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/budgets-file.md'), 'utf8');
    const example = /```yaml\n([^`]+)```/.exec(page)?.[1] ?? '';
    expect(await run('lint', '-f', file(example))).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await apply(example)).stdout).toContain('shop: 5 created, 0 changed, 0 closed.');
    expect((await plan(example)).exitCode).toBe(0);
    const rows = [...page.matchAll(/^\| `([a-z_]+)` /gm)].map(([, key]) => key);
    expect(rows).toEqual([...new Set(BUDGET_FIELDS.map(({ key }) => key.split('.')[0]))]);
  });

  it('fails with 1 for whatever is wrong, also before anything is asked, as does lint', async () => {
    const wrong = await plan('budgets: { a: { limts: [1 USD] } }');
    expect(wrong.exitCode).toBe(1);
    expect(wrong.stderr).toMatch(
      /budgets\.yaml:1:17: unknown key limts \(did you mean limits\?\); .*\nerror: .* has 1 problem\n/,
    );
    const several = await plan('budgets: { a: { limts: [1 USD], limits: [3 EUR/day, 1 USD, 2 USD/hour] } }');
    expect(several.stderr).toMatch(
      /unknown key limts.*\n.*:1:42: the tree a counts in USD, not in EUR\nerror: .* has 2 problems\n/,
    );
    for (const words of [['plan'], ['plan', '-f', '/none'], ['plan', '--nope'], ['lint'], ['lint', '-f', '/none']]) {
      expect((await run(...words)).exitCode).toBe(1);
    }
    writeFileSync(join(folder, 'latin1.yaml'), Buffer.from('budgets:\n  a: { owner: café }\n', 'latin1'));
    const garbled = await run('plan', '-f', join(folder, 'latin1.yaml'));
    expect(garbled).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('line 2 is not UTF-8') });
    expect((await run('plan', '--help')).exitCode).toBe(0);
    const unreachable = await runCli({ address: '127.0.0.1:1' }, ['plan', '-f', file(ACME)]);
    expect(unreachable.exitCode).toBe(1);
    expect((await apply('budgets: { a: { limts: [1 USD] } }')).exitCode).toBe(2);
    expect((await plan(ACME, '--tree', 'other')).stderr).toContain('names no budget of tree other');
    const refused = await apply('budgets: { bare: }');
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toMatch(
      /budgets\.yaml:1:12: refused: bare: uncapped: must be true .*\nerror: tree bare is refused, and nothing of it was changed\n$/,
    );
    const json = await apply('budgets: { bare: }', '--json');
    expect(JSON.parse(json.stderr.slice(json.stderr.indexOf('{')))).toMatchObject({
      error: { fields: [{ field: 'changes[0].create.budget.uncapped' }] },
    });
  });

  it('is planned with what apply would be refused for, by its lines, and nothing is done', async () => {
    await apply(ACME.replaceAll('acme', 'judged'));
    await rpc.call(BudgetService.method.closeBudget, { budget: 'judged/chat', idempotencyKey: 'c' });
    const content = `budgets:
  judged:
    kind: tenant
    labels: { env: prod }
    limits: [100 EUR/month, 10 EUR/day]
    budgets:
      triage: { owner: ops, limits: [5 EUR], shape: { max_active: 4 }, floor: 6 EUR }
      more:
        kind: agent
        floor: 5 EUR
  judged/chat/late: {}
  bare:
    uncapped: false
  fine: { limits: [1 USD] }
`;
    const planned = await plan(content);
    expect(planned.exitCode).toBe(1);
    expect(planned.stdout).toContain('+ judged/more');
    expect(planned.stdout).toMatch(/\n4 to create, 1 to change, 0 to close, 1 unchanged\.\n$/);
    const refusals = planned.stderr.split('\n').filter((line) => line.includes('refused: '));
    expect(refusals.map((line) => line.slice(line.indexOf('budgets.yaml')))).toEqual([
      'budgets.yaml:7:72: refused: judged/triage: floor: the floors under judged would come to 11 EUR, more than the 10 EUR of its limit day',
      'budgets.yaml:13:5: refused: bare: uncapped: must be true where neither the budget nor any above has a limit',
    ]);
    const applied = await apply(content);
    expect(applied.exitCode).toBe(2);
    expect(applied.stderr).toContain(`${refusals[0]}\nerror: tree judged is refused, and nothing of it was changed\n`);
    const alone = await run('create', 'judged/alone', '--floor', '101');
    expect(alone.stderr).toContain(
      'floors under judged would come to 101 EUR, more than the 100 EUR of its limit month',
    );
    const late = await plan(content.replace('floor: 5 EUR', 'floor: 4 EUR'), '--tree', 'judged');
    expect(late.stderr).toMatch(/budgets\.yaml:11:3: refused: judged\/chat\/late: BUDGET_CLOSED: /);
    for (const budget of ['fine', 'judged/more']) await expect(get(budget)).rejects.toThrow(budget);
    const { exitCode, stdout, stderr } = await plan(content, '--json', '--tree', 'bare');
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ refusals: [expect.stringMatching(/:13:5: refused: bare: uncapped: /)] });
  });

  it('is linted without a service', async () => {
    expect(await run('lint', '-f', file(ACME))).toEqual({
      exitCode: 0,
      stdout: '4 budgets, 0 warnings.\n',
      stderr: '',
    });
    const odd = await run('lint', '-f', file('budgets: { a: { limits: [5] } }'));
    expect(odd).toMatchObject({ exitCode: 2, stdout: '1 budget, 1 warning.\n' });
    expect(odd.stderr).toMatch(/budgets\.yaml:1:26: warning: a: 0\.000005 USD/);
  });

  it('is planned for programs too', async () => {
    const { stdout } = await plan('budgets: { acme/triage: { limits: [6 EUR] }, acme/json: }', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      trees: [
        {
          tree: 'acme',
          unit: 'EUR',
          create: ['acme/json'],
          update: [
            {
              budget: 'acme/triage',
              fields: [
                { field: 'owner', before: 'ops', after: '' },
                { field: 'limits', before: '[5 EUR]', after: '[6 EUR]' },
                { field: 'shape.max_active', before: '4', after: '' },
              ],
            },
          ],
          leftAlone: ['acme/triage/run-1'],
        },
      ],
      warnings: [],
      refusals: [],
    });
  });
});
