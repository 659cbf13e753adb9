// The parser must take every key of the format and refuse every other one, with the file and the line.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CaseFileError, parseScenarios } from '../../scenarios/runner/parse-scenarios.ts';

function problemsOf(text: string): readonly string[] {
  try {
    parseScenarios(text, 'f.yaml');
  } catch (error) {
    if (error instanceof CaseFileError) return error.problems;
    throw error;
  }
  return [];
}

/** A file of one scenario whose first step stands on line 4. */
const withStep = (step: string): string => `- name: n
  budgets: [{name: s, limits: [{amount: 1}]}]
  steps:
    - ${step}
`;

const withBudget = (budget: string): string => `- name: n
  budgets: [${budget}]
  steps: [{do: verify}]
`;

describe('what the format has', () => {
  test('the shared cases are read whole', () => {
    const text = readFileSync(new URL('../../scenarios/cases/core.yaml', import.meta.url), 'utf8');
    const scenarios = parseScenarios(text, 'core.yaml');
    expect(scenarios).toHaveLength(text.match(/^- name:/gm)?.length ?? 0);
    const written = text.match(/\{?do: /g)?.length ?? 0;
    const read = scenarios.flatMap(({ steps }) =>
      steps.flatMap((step) => [step, ...(step.do === 'parallel' ? step.steps : [])]),
    );
    expect(read).toHaveLength(written);
  });

  test.each([
    '{do: reserve, as: A, budget: s, key: k, max: 9, min: 1, ttl: 10s, priority: critical, wait: 30s, tokens: 5, tool_calls: 1}',
    '{do: reserve, budget: s, max: 9, alternatives: [{label: small, max: 2}], also: [s], dry_run: true}',
    '{do: reserve, as: A, budget: s, max: 9, wait: 1s, expect: {pending: true}}',
    '{do: reserve, budget: s, max: -1, key: none, expect: {error: INVALID_ARGUMENT, reason: INVALID_FIELD, budget: s, retry: false}}',
    '{do: reserve, budget: "s//x", max: "9223372036854775807", expect: {granted: 1, held: 1, state: ACTIVE, label: l, expires_in: 60}}',
    '{do: create_budget, name: t, kind: run, limits: [{amount: 1, window: {calendar: week}}], mode: warn}',
    '{do: set_limit, budget: s, window: {rolling: 1h}, amount: 5}',
    '{do: top_up, budget: s, key: t, window: lifetime, add: 5, expect: {error: NOT_FOUND}}',
    '{do: suspend, budget: s}',
    '{do: resume, budget: s, key: r}',
    '{do: close, budget: s}',
    '{do: advance, by: 1h30m}',
    '{do: advance, to: 2026-03-03T00:00:00Z}',
    '{do: restart}',
    '{do: store_down}',
    '{do: store_up}',
    '{do: check, balances: {s: {held: 0, settled: 0, overrun: 0, available: 1}}, budgets: 1, alerts: {s: 2}}',
    '{do: parallel, repeat: 3, steps: [{do: reserve, budget: s, max: 1}], expect: {granted_count: 1, refused_count: 2, granted_total: 1, reasons: {X: 2}, ok_count: 1}}',
  ])('step %s', (step) => {
    expect(problemsOf(withStep(step))).toEqual([]);
  });

  test.each([
    '{do: extend, reservation: A, key: e, add: 5, min: 1, expect: {granted: 6, same_as: A}}',
    '{do: settle, reservation: A, actual: 5, keep_open: true, retain: 2, expect: {overrun: 0, late: false}}',
    '{do: settle, reservation: A, usage_unknown: true, expect: {estimated: true, released: 0}}',
    '{do: release, reservation: A}',
    '{do: renew, reservation: A, ttl: 10s, started: true}',
    '{do: approve, reservation: A, key: a, by: "x@example.com", top_up: 5}',
    '{do: reject, reservation: A, by: x}',
    '{do: adjust, reservation: A, actual: 5}',
    '{do: check, reservations: {A: {state: EXPIRED, late: true}}}',
    '{do: advance, by: 5s, expect: {resolves: {A: {error: RESOURCE_EXHAUSTED, reason: QUEUE_TIMEOUT}}}}',
    '{do: restart, expect: {resolves: A}}',
  ])('step after a reserve: %s', (step) => {
    const reserve = '{do: reserve, as: A, budget: s, max: 1, wait: 5s, expect: {pending: true}}';
    expect(problemsOf(withStep(`${reserve}\n    - ${step}`))).toEqual([]);
  });

  test.each([
    '{name: s, uncapped: true, on_expiry: charge_started, max_reservation: 5, max_active: 2}',
    '{name: s, limits: [{amount: 1, window: {calendar: day, tz: Asia/Shanghai}}, {amount: 2}], settled: 1, held: 1}',
    '{name: s, limits: [{amount: 1, window: {range: [2026-03-02T09:00:00Z, 2026-03-03T09:00:00Z]}}]}',
    '{name: s, uncapped: true, rates: [{tokens: 5, per: 60s, burst: 9}], mode: observe, on_exhaustion: park, overrun: reject}',
    '{name: s, uncapped: true, weight: 2, floor: 5, kept: {critical: 3}, max_children: 2, max_depth: 3, tolerance: 5}',
    '{name: s, uncapped: true, child_template: {kind: run, limits: [{amount: 1}]}, approval_above: 5, approval_ttl: 24h, alert_at: [80]}',
  ])('budget %s', (budget) => {
    expect(problemsOf(withBudget(budget))).toEqual([]);
  });

  test('defaults, exact amounts, and words that other YAML versions would turn into something else', () => {
    const [scenario] = parseScenarios(
      `- name: n
  settings: {reaper: off}
  budgets: [{name: s, limits: [{amount: "9007199254740993"}]}]
  steps: [{do: reserve, as: y, budget: s, max: 9007199254740993}]
`,
      'f.yaml',
    );
    expect(scenario).toMatchObject({ startMs: Date.UTC(2026, 2, 2, 9), graceMs: 0, reaper: 'off' });
    expect(scenario?.budgets[0]?.fields.limits).toEqual([
      { amountMicros: 9007199254740993n, window: { kind: 'lifetime' } },
    ]);
    expect(scenario?.steps[0]).toMatchObject({ as: 'y', maxMicros: 9007199254740993n, key: undefined });
  });
});

describe('what it has not', () => {
  test.each([
    ['{do: reserve, budget: s, maximum: 1}', 'reserve has no key "maximum"'],
    ['{do: reserve, budget: s, max: 1, expect: {grant: 1}}', 'expect has no key "grant"'],
    ['{do: suspend, budget: s, expect: {granted: 1}}', 'expect has no key "granted"'],
    ['{do: restart, expect: {state: ACTIVE}}', 'expect has no key "state"'],
    ['{do: reserve, budget: s, max: 1, expect: {error: EXHAUSTED}}', 'error: must be one of'],
    ['{do: check, balances: {s: {hold: 1}}}', 'a balance has no key "hold"'],
    ['{do: reserve, budget: s, max: 1.5}', 'max: must be a whole number'],
    ['{do: reserve, budget: s, max: "9223372036854775808"}', 'max: must fit int64'],
    ['{do: reserve, budget: s, max: 1, ttl: 10}', '"10" is no duration'],
    ['{do: reserve, max: 1}', 'reserve needs the key "budget"'],
    ['{do: explode}', 'there is no verb "explode"'],
    ['{do: toString}', 'there is no verb "toString"'],
    ['{budget: s}', 'a step needs the key "do"'],
    ['{do: settle, reservation: A, actual: 1}', '"A" is no "as" of an earlier step'],
    ['{do: reserve, as: A, budget: s, max: 1, expect: {same_as: A}}', '"A" is no "as" of an earlier step'],
    ['{do: reserve, as: A, budget: s, max: 1, expect: {pending: true}}', 'pending: true needs a wait'],
    ['{do: advance, by: 1s, to: 2026-03-03T00:00:00Z}', 'advance takes either by or to'],
    ['{do: advance, by: -1s}', 'advance can only go forward'],
    ['{do: advance, to: 2026-03-03}', 'is no UTC instant'],
    ['{do: advance, by: 1s, expect: {resolves: {B: {granted: 1}}}}', '"B" is no waiting reserve'],
    ['{do: parallel, steps: [{do: restart}]}', 'parallel sends calls only'],
    ['{do: parallel, repeat: 2, steps: [{do: suspend, budget: s}, {do: resume, budget: s}]}', 'exactly one step'],
    ['{do: parallel, repeat: 2, steps: [{do: reserve, as: A, budget: s, max: 1}]}', 'can have no as'],
    ['{do: set_limit, budget: s, window: {calendar: year}, amount: 1}', 'calendar: must be one of'],
    ['{do: set_limit, budget: s, window: {rolling: 1h, tz: UTC}, amount: 1}', 'tz goes with calendar only'],
    ['{do: reserve, do: reserve, budget: s}', 'unique'],
  ])('%s', (step, complaint) => {
    const problems = problemsOf(withStep(step));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^f\.yaml:4: /);
    expect(problems[0]).toContain(complaint);
  });

  test.each([
    ['{name: s, limit: 5}', 'a budget has no key "limit"'],
    ['{name: s, limits: [{amount: 1, windows: lifetime}]}', 'a limit has no key "windows"'],
    ['{name: s/t}', 'its parent must be listed before it'],
    ['{name: s}, {name: s}', 'listed twice'],
    ['{name: s, on_expiry: refund}', 'on_expiry: must be one of'],
    ['{name: s, rates: [{requests: 1, tokens: 2, per: 1s}]}', 'a rate counts one of'],
  ])('budget %s', (budget, complaint) => {
    expect(problemsOf(withBudget(budget))).toEqual([expect.stringMatching(/^f\.yaml:2: /)]);
    expect(problemsOf(withBudget(budget))[0]).toContain(complaint);
  });

  test('every bad scenario is named, each with its own line', () => {
    const text = `- name: one
  steps: [{do: nothing}]
- name: two
  steps: [{do: verify}]
- name: three
  colour: red
  steps: [{do: verify}]
`;
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^f\.yaml:2: steps: there is no verb "nothing"/),
      expect.stringMatching(/^f\.yaml:6: a scenario has no key "colour"/),
    ]);
  });

  test.each(['', 'name: n', '- [', '- name: n'])('the file %j', (text) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(/^f\.yaml:\d+: /)]);
  });
});
