// How many of those who wait are judged for one thing that happens: a few, however many wait. Counted, not timed.
import { beforeEach, describe, expect, test } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Command } from '../../../src/kernel/command.ts';
import { decideQueue } from '../../../src/kernel/decide-queue.ts';
import { QueueDriver } from '../../support/queue-driver.ts';

const COUNT = 200;

let driver: QueueDriver;
let small: string;

/** Does one thing, and returns how many were judged for it and how many were granted what they wait for. */
function judgedFor(command: Command): { readonly judged: number; readonly granted: number } {
  const { state } = driver;
  const { answer, entries } = driver.decide(command);
  if (answer.kind === 'refusal') throw new Error(answer.message);
  for (const entry of entries) apply(state, entry);
  const heads = { left: 100_000 };
  let granted = 0;
  for (let next = decideQueue(state, driver.context(), heads); next.length > 0; ) {
    for (const entry of next) {
      apply(state, entry);
      if (entry.type === 'Granted') granted += 1;
    }
    // What is granted was judged, too.
    heads.left -= 1;
    next = decideQueue(state, driver.context(), heads);
  }
  state.commit();
  return { judged: 100_000 - heads.left, granted };
}

const ways = {
  plain: {},
  kept: { enforcement: { kept: [{ priority: 'critical' as const, micros: 10n }] } },
  floors: {},
};

describe.each(['plain', 'kept', 'floors'] as const)('%s: for one thing among many who wait', (way) => {
  beforeEach(() => {
    driver = new QueueDriver();
    const { make } = driver;
    const template = make.terms({ limits: { run: 1_000_000 } });
    driver.run(make.create('t', { limits: 1_000_000, template, ...ways[way] }));
    if (way === 'floors')
      for (let at = 0; at < 8; at += 1) driver.run(make.create(`t/f${at}`, { floor: 10, uncapped: true }));
    driver.hold('t', 999_000, { priority: 'critical', ttlMs: 86_400_000 });
    small = driver.hold('t', 1, { priority: 'critical', ttlMs: 86_400_000 });
    for (let at = 0; at < COUNT; at += 1) driver.wait(`t/r${at}`, 4_000, { waitMs: 3_600_000 });
    expect(driver.told()).toEqual({});
  });

  test('one that comes is judged alone', () => {
    const command = driver.make.reserve('t/another', 4_000, { waitMs: 60_000, key: 'another' });
    expect(judgedFor(command).judged).toBeLessThanOrEqual(2);
  });

  test('what comes back and is too little is offered to the first of each view', () => {
    expect(judgedFor(driver.make.release(small)).judged).toBeLessThanOrEqual(2);
  });

  test.each([
    ['owner', { owner: 'another' }],
    ['labels', { replaceLabels: true }],
    ['kind', { budgetKind: 'team' as const }],
    ['thresholds of alerts', { alertAt: [10] }],
    ['weight', { weight: 3 }],
    ['what a lapse does', { onExpiry: 'charge' as const }],
  ])('nobody is judged for an edit of %s', (_, edit) => {
    expect(judgedFor(driver.make.update('t', edit as never))).toEqual({ judged: 0, granted: 0 });
  });

  // As whoever applies a file states all of it.
  const stated = () => ({
    rates: [],
    enforcement: { kept: way === 'kept' ? [{ priority: 'critical' as const, micros: 10n }] : [] },
    template: { to: driver.make.terms({ limits: { run: 1_000_000 } }) },
  });

  test('nobody is judged for an edit that states all as it is', () => {
    const edit = driver.make.update('t', { ...stated(), limits: 1_000_000 });
    expect(judgedFor(edit)).toEqual({ judged: 0, granted: 0 });
  });

  test('a limit that is raised by too little, with all else stated as it is, is offered to the first', () => {
    const { judged } = judgedFor(driver.make.update('t', { ...stated(), limits: 1_000_001 }));
    expect(judged).toBeLessThanOrEqual(2);
  });

  test('a limit that is raised by too little is offered to the first', () => {
    const { judged } = judgedFor(driver.make.update('t', { limits: { lifetime: 1_000_001 } }));
    expect(judged).toBeLessThanOrEqual(2);
  });

  test('where all fit, as many are judged as are granted, or a few more', () => {
    const raised = judgedFor(driver.make.update('t', { limits: { lifetime: 1_000_000_000 } }));
    expect(raised.granted).toBe(COUNT);
    expect(raised.judged).toBeLessThanOrEqual(3 * COUNT);
  });

  test('one that is granted has none judged but the next', () => {
    const topUp = judgedFor(driver.make.topUp('t', 4_000));
    expect(topUp.granted).toBeGreaterThan(0);
    expect(topUp.judged).toBeLessThanOrEqual(3 * (topUp.granted + 1));
  });
});
