// Definitions are refused where a word in them is none that this program wrote: a window, a unit or a policy that is not
// understood would be counted wrongly. What comes back as it was is the property in entry-codec.test.ts.
import { describe, expect, it } from 'vitest';
import { NO_SHAPE } from '../../../src/kernel/budget.ts';
import { ENFORCED } from '../../../src/kernel/enforcement.ts';
import { ANY_MODEL } from '../../../src/kernel/price.ts';
import { rollingRule } from '../../../src/kernel/window.ts';
import { budgetDefOf, budgetDefText } from '../../../src/store/budget-def-codec.ts';
import { CorruptJournalError } from '../../../src/store/port.ts';
import { definition } from '../../store/sample-entries.ts';

const def = definition(1, 't', undefined, {
  windows: [
    { no: 0, rule: { kind: 'lifetime' }, firstPeriodMs: 0 },
    { no: 1, rule: { kind: 'calendar', unit: 'day', timeZone: 'Asia/Shanghai' }, firstPeriodMs: 1_767_196_800_000 },
    { no: 2, rule: rollingRule(3_600_000), firstPeriodMs: 0 },
  ],
  rates: [{ no: 1, kind: 'tokens', count: 1_000, perMs: 60_000, burst: 1_000 }],
  shape: { ...NO_SHAPE, maxActive: 3 },
  enforcement: {
    mode: 'soft',
    toleranceMicros: 5n,
    onExhaustion: 'degrade',
    kept: [{ priority: 'critical', micros: 7n }],
  },
  alertAt: [50, 90],
  weight: 7,
  floorMicros: 9n,
  sharePercent: 25,
  childShares: [{ childNo: 2, floorMicros: 4n, sharePercent: 60 }],
  models: { allowed: ['openai/gpt-4o'], maxTier: 'standard' },
  childTemplate: {
    budgetKind: 'run',
    uncapped: false,
    limits: [{ name: 'l', rule: { kind: 'range', startMs: 1, endMs: 2 }, amountMicros: 5n }],
    rates: [],
    shape: NO_SHAPE,
    onExpiry: 'release',
    overrun: 'record',
    enforcement: { ...ENFORCED, mode: 'observe' },
    alertAt: [],
    weight: 3,
    floorMicros: 1n,
    sharePercent: undefined,
    models: { allowed: [], maxTier: undefined },
    childTemplate: undefined,
  },
});

it('a plain definition leaves out what it does not have', () => {
  const text = budgetDefText(definition(1, 't', undefined));
  for (const name of [
    'rates"',
    'shape',
    'childTemplate',
    'topUp',
    'firstPeriodMs',
    'enforcement',
    'alertAt',
    'weight',
    'floor',
    'hare',
    'models',
  ]) {
    expect(text).not.toContain(name);
  }
  const plain = budgetDefOf(JSON.parse(text));
  expect(plain).toStrictEqual(definition(1, 't', undefined));
  // By identity: the usual case is known by it.
  expect(plain.enforcement).toBe(ENFORCED);
  expect(plain.models).toBe(ANY_MODEL);
});

describe('a definition is refused where', () => {
  it.each([
    ['a window is of no known kind', '"kind":"rolling"', '"kind":"rolled"'],
    ['a unit is none of a calendar', '"unit":"day"', '"unit":"fortnight"'],
    ['a window has lost its step', '"stepMs":', '"stepNs":'],
    ['a rate counts what nobody knows', '"kind":"tokens"', '"kind":"tokenz"'],
    ['a bound is no whole number', '"maxActive":3', '"maxActive":3.5'],
    ['a policy is unknown', '"overrun":"record"', '"overrun":"recorded"'],
    ['a mode is unknown', '"mode":"soft"', '"mode":"mild"'],
    ['a mode is missing', '"mode":"soft",', ''],
    ['what happens on exhaustion is unknown', '"onExhaustion":"degrade"', '"onExhaustion":"queue"'],
    ['capacity is kept for nobody known', '"priority":"critical"', '"priority":"vital"'],
    ['a weight is no whole number', '"weight":7', '"weight":7.5'],
    ['a share of a child is no whole number', '"percent":60', '"percent":60.5'],
    ['a child is no number', '"childShares":[{"childNo":2', '"childShares":[{"childNo":"2"'],
    ['a tier is unknown', '"maxTier":"standard"', '"maxTier":"gold"'],
    ['a model is no text', '"allowed":["openai/gpt-4o"]', '"allowed":[4]'],
    ['a floor is no amount', '"floor":9', '"floor":"x"'],
    ['a share that is told of is no whole number', '"alertAt":[50,90]', '"alertAt":[50.5,90]'],
    ['a template has a window that is unknown', '"kind":"range"', '"kind":"ranges"'],
    ['a first period is no time', '"firstPeriodMs":1767196800000', '"firstPeriodMs":"now"'],
  ])('%s', (_, good, bad) => {
    const text = budgetDefText(def);
    expect(budgetDefOf(JSON.parse(text))).toStrictEqual(def);
    expect(text).toContain(good);
    expect(() => budgetDefOf(JSON.parse(text.replace(good, bad)))).toThrow(CorruptJournalError);
  });
});
