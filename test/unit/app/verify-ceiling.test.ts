// The auditor's reading of the first promise: which entries break it, in every mode, and which may pass an amount.
import { expect, it } from 'vitest';
import { CeilingCheck } from '../../../src/app/verify-ceiling.ts';
import { apply } from '../../../src/kernel/apply.ts';
import { ENFORCED, type Enforcement } from '../../../src/kernel/enforcement.ts';
import type { Entry } from '../../../src/kernel/entry.ts';
import { TreeState } from '../../../src/kernel/tree-state.ts';
import {
  created,
  definition,
  granted,
  held,
  rid,
  START_MS,
  settled,
  tree,
  updated,
} from '../../store/sample-entries.ts';

const LIMITS = [{ no: 1, name: 'cap', windowNo: 0, amountMicros: 100n, topUp: undefined }];
const root = (enforcement: Partial<Enforcement>) =>
  definition(1, 't', undefined, { limits: LIMITS, enforcement: { ...ENFORCED, ...enforcement } });
const grant = (seq: number, micros: bigint) =>
  granted({ seq }, rid(`r${seq}`), { path: 't', nos: [1] }, held(micros, START_MS + 50_000));

/** What the check finds over a whole journal. */
function problemsOf(entries: readonly Entry[]): string[] {
  const state = new TreeState(tree('t'), { seq: 0, atMs: 0, budgetCount: 0 });
  const check = new CeilingCheck(state);
  return entries.flatMap((entry) => {
    const problems = check.problems(entry);
    apply(state, entry);
    return problems;
  });
}

it.each<[string, Partial<Enforcement>, bigint, string[]]>([
  ['enforce, at the amount', {}, 100n, []],
  ['enforce, past it', {}, 101n, ['entry 2 takes t to 101, past 100 of cap']],
  ['enforce, whatever is tolerated', { toleranceMicros: 5n }, 101n, ['entry 2 takes t to 101, past 100 of cap']],
  ['soft, within its tolerance', { mode: 'soft', toleranceMicros: 5n }, 105n, []],
  ['soft, past it', { mode: 'soft', toleranceMicros: 5n }, 106n, ['entry 2 takes t to 106, past 105 of cap']],
  ['warn', { mode: 'warn' }, 1_000n, []],
  ['observe', { mode: 'observe' }, 1_000n, []],
  ['kept capacity is within the amount', { kept: [{ priority: 'critical', micros: 60n }] }, 100n, []],
])('a grant under %s', (_, enforcement, micros, problems) => {
  expect(problemsOf([created({ seq: 1 }, root(enforcement)), grant(2, micros)])).toStrictEqual(problems);
});

it('a hold from before the mode was set may settle, and the next grant breaks the ceiling', () => {
  const entries = [
    created({ seq: 1 }, root({ mode: 'observe' })),
    grant(2, 300n),
    updated({ seq: 3 }, { ...root({}), revision: 2 }, false),
    settled({ seq: 4 }, rid('r2'), [1], held(300n, START_MS + 50_000)),
  ];
  expect(problemsOf(entries)).toStrictEqual([]);
  expect(problemsOf([...entries, grant(5, 1n)])).toStrictEqual(['entry 5 takes t to 301, past 100 of cap']);
});
