// No label without end: a lane and an api that see 10,000 budgets, callers and holders make no more series than with one.

import { afterAll, expect, it } from 'vitest';
import { TELEMETRY_LABELS } from '../../../src/app/telemetry-labels.ts';
import { commitTo } from '../../../src/lane/commitment.ts';
import { Lane } from '../../../src/lane/lane.ts';
import type { LaneObserver } from '../../../src/lane/lane-observer.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { startTelemetry, type Telemetry } from '../../../src/telemetry/start-telemetry.ts';
import { Commands } from '../../support/commands.ts';
import { START_MS } from '../../support/kernel-driver.ts';
import { QUIET_TELEMETRY } from '../../support/telemetry-settings.ts';
import { testPricing } from '../../support/test-prices.ts';
import { UTC_CALENDAR } from '../../support/utc-calendar.ts';

const BUDGETS = 10_000;

const telemetry = (await startTelemetry({
  settings: QUIET_TELEMETRY,
  labels: TELEMETRY_LABELS,
  version: '1.2.3',
  warn: () => undefined,
})) as Telemetry;
afterAll(() => telemetry.stop());

async function openLane(observer: LaneObserver): Promise<Lane> {
  const store = createMemoryStore({ nowMs: () => START_MS });
  const { epoch } = await store.holdWriterLease('world', 'here:1', undefined, 60_000);
  return new Lane({
    store,
    clock: { nowMs: () => START_MS },
    graceMs: 0,
    calendar: UTC_CALENDAR,
    implausibleFactor: 1_000,
    queue: { ageMs: 60_000, countMax: 10_000 },
    pricing: testPricing(),
    commit: commitTo,
    log: () => undefined,
    epoch: () => epoch,
    leaderAddress: () => '',
    onFenced: () => undefined,
    onCommitted: () => undefined,
    overload: () => undefined,
    observer,
    monotonicMs: () => performance.now(),
    sleep: () => Promise.resolve(),
  });
}

/** Series of the text: names with their labels. A histogram's buckets count one by one. */
async function series(): Promise<string[]> {
  const text = await telemetry.prometheusText();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.slice(0, line.lastIndexOf(' '))).sort();
}

async function useBudget(lane: Lane, name: string): Promise<void> {
  const make = new Commands(name);
  const reserve = make.reserve(name, 10, { key: `key-${name}`, holder: `holder-${name}` });
  await Promise.all([
    lane.submit(make.create(name, { limits: 15 })),
    lane.submit({ ...reserve, actor: `caller-${name}` }),
    lane.submit(make.reserve(name, 10, { holder: `other-${name}` })),
    lane.submit(make.reserve(`${name}/absent`, 1)),
    lane.submit(make.settle(reserve.id, 5)),
  ]);
  const call = telemetry.api.call('budgetd.v1.ReservationService/Reserve', () => name);
  call.run(() => telemetry.api.refused(`made up for ${name}`));
  call.end(0);
  telemetry.api.call(`made.up/${name}`, () => undefined).end(0);
}

it(`has as many series after ${BUDGETS} budgets as after one`, { timeout: 60_000 }, async () => {
  const lane = await openLane(telemetry.lane);
  await useBudget(lane, 'budget-one');
  const before = await series();
  for (let at = 0; at < BUDGETS; at += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, index) => useBudget(lane, `budget-${at + index}`)));
  }
  expect(await series()).toEqual(before);
  const text = await telemetry.prometheusText();
  expect(text).toContain(`budgetd_decisions_total{command="Reserve",outcome="ok",reason="none"} ${BUDGETS + 1}\n`);
  expect(text).toContain(
    `budgetd_decisions_total{command="Reserve",outcome="refused",reason="CAPACITY_HELD"} ${BUDGETS + 1}\n`,
  );
  expect(text).not.toMatch(/budget-|holder-|caller-|made up/);
  await lane.stop();
});
