// Definitions are refused where a word in them is none that this program wrote: a window, a unit or a policy that is not
// understood would be counted wrongly. What comes back as it was is the property in entry-codec.test.ts.
import { describe, expect, it } from 'vitest';
import { NO_SHAPE } from '../../../src/kernel/budget.ts';
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
  childTemplate: {
    budgetKind: 'run',
    uncapped: false,
    limits: [{ name: 'l', rule: { kind: 'range', startMs: 1, endMs: 2 }, amountMicros: 5n }],
    rates: [],
    shape: NO_SHAPE,
    onExpiry: 'release',
    overrun: 'record',
    childTemplate: undefined,
  },
});

it('a plain definition leaves out what it does not have', () => {
  const text = budgetDefText(definition(1, 't', undefined));
  for (const name of ['rates"', 'shape', 'childTemplate', 'topUp', 'firstPeriodMs']) expect(text).not.toContain(name);
  expect(budgetDefOf(JSON.parse(text))).toStrictEqual(definition(1, 't', undefined));
});

describe('a definition is refused where', () => {
  it.each([
    ['a window is of no known kind', '"kind":"rolling"', '"kind":"rolled"'],
    ['a unit is none of a calendar', '"unit":"day"', '"unit":"fortnight"'],
    ['a window has lost its step', '"stepMs":', '"stepNs":'],
    ['a rate counts what nobody knows', '"kind":"tokens"', '"kind":"tokenz"'],
    ['a bound is no whole number', '"maxActive":3', '"maxActive":3.5'],
    ['a policy is unknown', '"overrun":"record"', '"overrun":"recorded"'],
    ['a template has a window that is unknown', '"kind":"range"', '"kind":"ranges"'],
    ['a first period is no time', '"firstPeriodMs":1767196800000', '"firstPeriodMs":"now"'],
  ])('%s', (_, good, bad) => {
    const text = budgetDefText(def);
    expect(budgetDefOf(JSON.parse(text))).toStrictEqual(def);
    expect(text).toContain(good);
    expect(() => budgetDefOf(JSON.parse(text.replace(good, bad)))).toThrow(CorruptJournalError);
  });
});
