// The format of a file of budgets: what each form means, and what is told of everything that is wrong in one.
import { describe, expect, it } from 'vitest';
import { FileProblems, formatProblem } from '../../../../src/app/cli/budgets-file/file-problems.ts';
import { readBudgetsFile, unitsOfTrees } from '../../../../src/app/cli/budgets-file/read-budgets-file.ts';
import { NO_SHAPE } from '../../../../src/kernel/budget.ts';

function read(content: string) {
  const problems = new FileProblems();
  const budgets = readBudgetsFile(content, problems);
  const units = unitsOfTrees(budgets, () => undefined, problems);
  return { budgets, units, problems: problems.sorted().map((problem) => formatProblem('f', problem)) };
}

const termsOf = (content: string) => {
  const { budgets, problems } = read(content);
  expect(problems).toEqual([]);
  return budgets[0]?.terms;
};

describe('a file', () => {
  it('names budgets by nesting, by path, and both', () => {
    const nested =
      'budgets:\n  acme:\n    budgets:\n      a:\n        budgets: { b: { kind: run }, c/d: }\n  acme/x/y: {}\n  7:\n';
    expect(read(nested).budgets.map(({ path, terms }) => [path, terms.budgetKind])).toEqual([
      ['acme', ''],
      ['acme/a', ''],
      ['acme/a/b', 'run'],
      ['acme/a/c/d', ''],
      ['acme/x/y', ''],
      ['7', ''],
    ]);
  });

  it('says everything that a call says', () => {
    const content = `
budgets:
  acme:
    unit: credits
    kind: tenant
    owner: finance
    labels: { env: prod, cost-centre: "4711" }
    limits:
      - 10 credits
      - daily=2.5 credits/day@Europe/Amsterdam
      - 1500000
      - { amount: 7, window: rolling:1h30m, name: burst }
      - { amount: 100000u, window: 2026-03-01 }
    rates: [60 requests/1m, 1000 tokens/10s burst 2000]
    shape: { max_reservation: 0.5 credits, max_active: 4, max_children: 3, max_depth: 2, max_lease: 10m, max_renewals: 0, close_after: 7d }
    on_expiry: charge_started
    overrun: reject
    enforcement: { mode: soft, tolerance: 1u, on_exhaustion: degrade, kept: { critical: 3, normal: 1 credits } }
    alert_at: [50, 100]
    child_template: { kind: run, limits: [1 credits], child_template: { uncapped: true } }
`
      .replace('2026-03-01 }', 'range:2026-03-01..2026-04-01 }')
      .replace('      - 1500000\n', '');
    expect(termsOf(content)).toMatchObject({
      budgetKind: 'tenant',
      uncapped: false,
      limits: [
        { name: 'lifetime', rule: { kind: 'lifetime' }, amountMicros: 10_000_000n },
        {
          name: 'daily',
          rule: { kind: 'calendar', unit: 'day', timeZone: 'Europe/Amsterdam' },
          amountMicros: 2_500_000n,
        },
        { name: 'burst', rule: { kind: 'rolling', durationMs: 5_400_000 }, amountMicros: 7n },
        { name: 'range:2026-03-01T00:00:00Z..2026-04-01T00:00:00Z', amountMicros: 100_000n },
      ],
      rates: [
        { kind: 'requests', count: 60, perMs: 60_000, burst: 60 },
        { kind: 'tokens', count: 1_000, perMs: 10_000, burst: 2_000 },
      ],
      shape: {
        maxReservationMicros: 500_000n,
        maxActive: 4,
        maxChildren: 3,
        maxDepth: 2,
        maxLeaseMs: 600_000,
        maxRenewals: 0,
        closeAfterMs: 604_800_000,
      },
      onExpiry: 'charge_started',
      overrun: 'reject',
      enforcement: {
        mode: 'soft',
        toleranceMicros: 1n,
        onExhaustion: 'degrade',
        kept: [
          { priority: 'critical', micros: 3n },
          { priority: 'normal', micros: 1_000_000n },
        ],
      },
      alertAt: [50, 100],
      childTemplate: { budgetKind: 'run', childTemplate: { uncapped: true, childTemplate: undefined } },
    });
    expect(read(content).budgets[0]?.message).toMatchObject({
      unit: 'credits',
      owner: 'finance',
      labels: { env: 'prod', 'cost-centre': '4711' },
    });
  });

  it('takes what is left out for the default', () => {
    expect(termsOf('budgets: { acme: }')).toEqual({
      budgetKind: '',
      uncapped: false,
      limits: [],
      rates: [],
      shape: NO_SHAPE,
      onExpiry: 'release',
      overrun: 'record',
      enforcement: { mode: 'enforce', toleranceMicros: 0n, onExhaustion: 'block', kept: [] },
      alertAt: [80, 100],
      weight: 1,
      floorMicros: 0n,
      sharePercent: undefined,
      models: { allowed: undefined, maxTier: undefined },
      childTemplate: undefined,
    });
  });

  it('no model and every model are not the same', () => {
    const allowedIn = (models: string) => termsOf(`budgets: { a: { models: ${models} } }`)?.models;
    expect(allowedIn('{ allowed: [] }')).toEqual({ allowed: [], maxTier: undefined });
    expect(allowedIn('{ max_tier: flex }')).toEqual({ allowed: undefined, maxTier: 'flex' });
  });

  it('keeps amounts that a double can not hold', () => {
    const limits = 'budgets: { a: { limits: [9223372036854775807, { amount: 9007199254740993, window: day }] } }';
    expect(termsOf(limits)?.limits.map(({ amountMicros }) => amountMicros)).toEqual([
      9_223_372_036_854_775_807n,
      9_007_199_254_740_993n,
    ]);
  });

  it('may say something once and mean it often', () => {
    const terms = termsOf('budgets:\n  a: &run { kind: run, limits: [1u] }\n  b: *run\n');
    expect(read('budgets:\n  a: &run { kind: run, limits: [1u] }\n  b: *run\n').budgets[1]?.terms).toEqual(terms);
  });

  it.each([
    ['budgets: { a: { unit: EUR, limits: [1u] } }', 'EUR'],
    ['budgets: { a: { limits: [1 EUR/day] } }', 'EUR'],
    ['budgets: { a: { limits: [1 EUR/day, 2 EUR] } }', 'EUR'],
    ['budgets: { a: { limits: [5u] } }', 'USD'],
  ])('counts in what its root says, or its amounts do: %s', (content, unit) => {
    expect([...read(content).units.values()]).toEqual([unit]);
  });
});

describe('what is wrong in a file', () => {
  const inBudget = (fields: string): string => `budgets:\n  acme:\n${fields.replace(/^/gm, '    ')}\n`;

  it.each([
    ['a: b\n', 'f:1:1: unknown key a; there are: budgets'],
    ['- a\n', 'f:1:1: must hold the key budgets'],
    ['budgets: [a]', 'f:1:10: must hold keys with values'],
    ['budgets:\n  a b: {}\n', 'f:2:3: a b is no path: each segment must match [A-Za-z0-9_-][A-Za-z0-9._-]{0,62}'],
    ['budgets:\n  a: 5\n', 'f:2:6: must hold keys with values'],
    ['budgets:\n  ? [a]\n  : {}\n', 'f:2:5: a key must be a plain word'],
    ['budgets:\n  acme:\n  acme:\n', 'f:3:3: acme is in line 2 already'],
    ['budgets:\n  acme:\n    budgets: { a: }\n  acme/a:\n', 'f:4:3: acme/a is in line 3 already'],
    ['budgets:\n  a: &a { budgets: *a }\n', 'f:2:20: is nested too deep, or repeats too much'],
    [
      inBudget('limts: []'),
      /^f:3:5: unknown key limts \(did you mean limits\?\); there are: unit, owner, labels, kind, .*, shape, .*, budgets$/,
    ],
    [
      inBudget('shape: { max_activ: 1 }'),
      /^f:3:14: unknown key max_activ in shape \(did you mean max_active\?\); there are: max_reservation, max_active,/,
    ],
    [inBudget('shape: 5'), 'f:3:12: shape must hold keys with values'],
    [inBudget('shape.max_active: 5'), /^f:3:5: unknown key shape.max_active; there are/],
    [inBudget('child_template: { owner: me }'), /^f:3:23: unknown key owner; there are: kind, uncapped/],
    [
      inBudget('limits: [{ amount: 5, windw: day }]'),
      'f:3:27: unknown key windw (did you mean window?); there are: name, amount, window',
    ],
    [inBudget('limits: [{ window: day }]'), 'f:3:14: limits[0] must have an amount'],
    [inBudget('limits: 5'), 'f:3:13: limits must be a list'],
    [inBudget('limits:\n- 1.5'), /^f:4:7: limits\[0\] is not an amount: write "2.5 USD"/],
    [inBudget('limits: [{ amount: 1.5 }]'), /^f:3:24: limits\[0\] is not an amount: write "2.5 USD"/],
    [inBudget('limits: [{ amount: 1e3 }]'), /^f:3:24: limits\[0\] is not an amount/],
    [inBudget('limits: [{ amount: "2.5" }]'), /^f:3:24: limits\[0\]: "2.5" has no unit: write "2.5 USD"/],
    [inBudget('limits: [5/day]'), /^f:3:14: limits\[0\]: "5" has no unit/],
    [inBudget('limits: [{ amount: -1 }]'), 'f:3:24: limits[0] must be 0 to 9223372036854775807 micro-units'],
    [inBudget('limits: [9223372036854775808]'), 'f:3:14: limits[0] must be 0 to 9223372036854775807 micro-units'],
    [inBudget('limits: [9223372036854775808u]'), /^f:3:14: limits\[0\]: "9223372036854775808u" is more than/],
    [inBudget('limits: [0.0000001 USD]'), /^f:3:14: limits\[0\]: "0.0000001 USD" has more than 6 decimals/],
    [inBudget('limits: [1 USD/fortnight]'), /^f:3:14: limits\[0\]: "fortnight" is not a window/],
    [
      inBudget('limits: [1 USD/day@Mars]'),
      'f:3:14: limits[0].window.calendar.time_zone must be the name of an IANA time zone',
    ],
    [inBudget('limits: [1 USD, 2 USD]'), /^f:3:21: limits\[1\].name must be unique in its budget/],
    [inBudget('rates: [60 requests]'), /^f:3:13: rates\[0\]: "60 requests" is not a rate/],
    [inBudget('rates: [1 requests/1m, 2 requests/60s]'), 'f:3:28: rates[1] must differ from the others in kind or per'],
    [inBudget('shape: { max_active: "1" }'), 'f:3:26: shape.max_active must be a whole number from 0 to 2147483647'],
    ...['0', '1.5', '1000001', '-1'].map((weight): [string, string] => [
      inBudget(`weight: ${weight}`),
      'f:3:13: weight must be a whole number from 1 to 1000000',
    ]),
    ...['0', '40%', '101'].map((percent): [string, string] => [
      inBudget(`share_percent: ${percent}`),
      'f:3:20: share_percent must be a whole number from 1 to 100',
    ]),
    [inBudget('shape: { max_depth: 16 }'), 'f:3:25: shape.max_depth must be a whole number from 0 to 15'],
    [inBudget('shape: { max_lease: 60 }'), 'f:3:25: shape.max_lease must be a length of time: write 60s, 5m or 1h30m'],
    [inBudget('shape: { max_lease: 25h }'), 'f:3:14: shape.max_lease must be 1 s to 24 h'],
    [inBudget('floor: 0.25'), /^f:3:12: floor is not an amount: write "2.5 USD", or micro-units/],
    [
      inBudget('limits: ["-8 USD"]'),
      /^f:3:14: limits\[0\]: "-8 USD" is not an amount: write "2.5 USD", or micro-units/,
    ],
    [inBudget('alert_at: [50, 0.5]'), 'f:3:20: alert_at[1] must be a whole number from 1 to 1000'],
    [
      inBudget('child_template: { enforcement: { mode: hard } }'),
      'f:3:44: child_template.enforcement.mode must be one of observe, warn, soft, enforce',
    ],
    [inBudget('overrun: rejct'), 'f:3:14: overrun must be one of record, reject (did you mean reject?)'],
    [inBudget('uncapped: yes'), 'f:3:15: uncapped must be true or false'],
    [inBudget('kind: 5'), 'f:3:11: kind must be text: put it in quotes'],
    [inBudget('kind: "?"'), /^f:3:5: kind must have up to 63/],
    [inBudget('on_expiry: keep'), 'f:3:16: on_expiry must be one of release, charge, charge_started'],
    [inBudget('labels: { a: 5 }'), 'f:3:18: labels["a"] must be text: put it in quotes'],
    [inBudget('labels: { "a b": x }'), /^f:3:15: labels\["a b"\] keys must match/],
    [
      inBudget('enforcement: { kept: { urgent: 1u } }'),
      'f:3:28: enforcement.kept.urgent must be one of background, normal, interactive, critical',
    ],
    [inBudget('enforcement: { kept: { background: 1u } }'), /^f:3:28: enforcement.kept\[0\].priority/],
    [
      inBudget('models: { allowed: [gpt-4o] }'),
      'f:3:25: models.allowed[0] must be a provider id, a slash and a model id',
    ],
    [inBudget('alert_at: [100, 50]'), 'f:3:21: alert_at[1] must be above the one before it'],
    [
      inBudget('child_template: { limits: [1 USD/day@X] }'),
      /^f:3:32: child_template.limits\[0\].window.calendar.time_zone/,
    ],
    [inBudget('limits: [1 USD]\nenforcement: { tolerance: 1 EUR }'), 'f:4:31: the tree acme counts in USD, not in EUR'],
    [inBudget('limits: [1u, 10 usd/day]'), 'f:3:18: the unit usd must not be USD in another case: write USD'],
    [inBudget('unit: Usd'), 'f:3:5: the unit Usd must not be USD in another case: write USD'],
    [inBudget('unit: usd\nlimits: [1 USD]'), 'f:3:5: the unit usd must not be USD in another case: write USD'],
    // The odd one, wherever it stands.
    [inBudget('limits: [32 EUR/day, 100 USD]\nfloor: 2 USD'), 'f:3:14: the tree acme counts in USD, not in EUR'],
    [inBudget('limits: [1 usd/day, 100 USD]'), 'f:3:14: the unit usd must not be USD in another case: write USD'],
    [inBudget('limits: [25k]'), 'f:3:14: k is not the unit USD: write all digits of the amount'],
    [inBudget('unit: EUR\nlimits: [1 M, 2 EUR/day]'), 'f:4:14: M is not the unit EUR: write all digits of the amount'],
    [inBudget('unit: EUR\nlimits: [1 USD/day]'), 'f:4:14: the tree acme counts in EUR, not in USD'],
    [inBudget('budgets: { a: { unit: USD } }'), 'f:3:21: unit is set on the root of a tree only'],
  ])('is told with its line: %j', (content, expected) => {
    const { problems } = read(content);
    expect(problems).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
  });

  it.each([
    ['unit: usd\nlimits: [1 usd]', 'usd', []],
    ['limits: [1 usd]', 'usd', []],
    ['limits: [1u]', 'usd', []],
    ['limits: [1 k]', 'k', []],
    [
      'unit: USD\nlimits: [1 Usd]',
      'usd',
      ['f:3:5: the tree acme counts in usd, not in USD', 'f:4:14: the tree acme counts in usd, not in Usd'],
    ],
  ])('is not the unit of a tree that is there: %j', (fields, unit, expected) => {
    const problems = new FileProblems();
    const budgets = readBudgetsFile(inBudget(fields), problems);
    expect([...unitsOfTrees(budgets, () => unit, problems).values()]).toEqual([unit]);
    expect(problems.sorted().map((problem) => formatProblem('f', problem))).toEqual(expected);
  });

  it.each([
    ['unit: usd\nlimits: [1 usd]', 'usd', 0],
    ['limits: [1 usd, 2 usd/day, 5u/month]', 'usd', 0],
    ['limits: [1 usd, 2 usd/day, 5 USD/month]', 'USD', 2],
    ['unit: usd\nlimits: [1 USD, 2 USD/day, 3u/month]\nfloor: 1 USD', 'USD', 1],
    ['unit: usd\nlimits: [1 usd, 2 USD/day]', 'USD', 2],
  ])('is what the file says where nobody has looked for the tree: %j', (fields, unit, count) => {
    const problems = new FileProblems();
    const budgets = readBudgetsFile(inBudget(fields), problems);
    expect([...unitsOfTrees(budgets, undefined, problems).values()]).toEqual([unit]);
    expect(problems.count).toBe(count);
  });

  it('is told all at once, in the order of the file', () => {
    const content = inBudget(
      'kind: 5\nlimits: [1.5, 1 USD/x]\nbudgets:\n  a: { nope: 1, rates: [x] }\n  b: { kind: "?" }',
    );
    expect(read(content).problems.map((problem) => problem.split(': ')[0])).toEqual([
      'f:3:11',
      'f:4:14',
      'f:4:19',
      'f:6:12',
      'f:6:29',
      'f:7:12',
    ]);
  });

  it.each([
    ['kind: 5\nlimits: [1 USD/day@Mars]\nshape: { max_depth: 99 }', ['f:3:11', 'f:4:14', 'f:5:25']],
    ['child_template: { kind: 5, limits: [1 USD/day@Mars], rates: [x] }', ['f:3:29', 'f:3:41', 'f:3:66']],
    ['limits: [1 USD/dya, 2 USD/day@Mars]\nkind: 5', ['f:3:14', 'f:3:25', 'f:4:11']],
    // Whether its name is one of the others is not known.
    ['limits: [1 USD/dya, 2 USD]', ['f:3:14']],
    // Once each.
    ['limits: [{}, { amount: x }]\nenforcement: { kept: { urgent: 1u } }', ['f:3:14', 'f:3:28', 'f:4:28']],
  ])('is told once, and does not hide what is wrong elsewhere: %j', (fields, places) => {
    expect(read(inBudget(fields)).problems.map((problem) => problem.split(': ')[0])).toEqual(places);
  });

  it('is told of the unit and not of the amounts that are right, with what else is wrong in them, without a service too', () => {
    const problems = new FileProblems();
    const budgets = readBudgetsFile(inBudget('unit: usd\nlimits: [1 USD, 2 USD/day@Mars, 3 USD/dya]'), problems);
    unitsOfTrees(budgets, undefined, problems);
    expect(problems.sorted().map((problem) => formatProblem('f', problem))).toEqual([
      'f:3:5: the unit usd must not be USD in another case: write USD',
      'f:4:21: limits[1].window.calendar.time_zone must be the name of an IANA time zone',
      expect.stringMatching(/^f:4:37: limits\[2\]: "dya" is not a window/),
    ]);
  });

  it('is told where it is no YAML at all', () => {
    expect(read('budgets: {\n').problems[0]).toMatch(/^f:2:1: /);
  });
});
