// What every window of every budget counts, in every period there has been, against sums over the reservations alone: by the time of
// their admission in lifetime, range and calendar windows, by the exact times of what they spent in rolling ones.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BudgetState, Counter, WindowDef } from '../../src/kernel/budget.ts';
import type { ReservationId } from '../../src/kernel/names.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import type { RollingRule } from '../../src/kernel/window.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { budgetOf, type KernelDriver } from '../support/kernel-driver.ts';
import { type Spend, spendOfJournal } from '../support/spend-of-journal.ts';
import { charges } from '../support/sum-history.ts';
import { tellStory } from '../support/tell-story.ts';
import { UTC_CALENDAR } from '../support/utc-calendar.ts';

type Sums = readonly [held: bigint, settled: bigint, overrun: bigint];

const sumsOf = (counters: readonly Omit<Counter, 'windowNo' | 'periodMs'>[]): Sums =>
  counters.reduce<Sums>(
    ([held, settled, overrun], each) => [
      held + each.heldMicros,
      settled + each.settledMicros,
      overrun + each.overrunMicros,
    ],
    [0n, 0n, 0n],
  );

/** The period in which a window counts a reservation; undefined where it does not. */
function periodIn({ rule, firstPeriodMs }: WindowDef, { createMs }: Reservation): number | undefined {
  switch (rule.kind) {
    case 'lifetime':
      return 0;
    case 'range':
      return createMs >= rule.startMs && createMs < rule.endMs ? rule.startMs : undefined;
    case 'calendar': {
      const { startMs } = UTC_CALENDAR.period(rule, createMs);
      return startMs < firstPeriodMs ? undefined : startMs;
    }
    case 'rolling':
      throw new Error('a rolling window has no periods');
  }
}

function expectPeriods(budget: BudgetState, window: WindowDef, charging: readonly Reservation[]): void {
  const counters = budget.counters.filter(({ windowNo }) => windowNo === window.no);
  const periods = new Set([
    ...counters.map(({ periodMs }) => periodMs),
    ...charging.map((each) => periodIn(window, each)),
  ]);
  for (const periodMs of periods) {
    if (periodMs === undefined) continue;
    const counted = counters.filter((each) => each.periodMs === periodMs);
    const admitted = charging.filter((each) => periodIn(window, each) === periodMs);
    expect(counted.length).toBeLessThanOrEqual(1);
    expect(sumsOf(counted), `${budget.def.path} ${JSON.stringify(window.rule)} ${periodMs}`).toEqual(
      sumsOf(admitted.map(({ figures }) => figures)),
    );
  }
}

/** When each window of a budget came to be, by its number. */
function sinceOf({ journal }: KernelDriver, budgetNo: number): Map<number, number> {
  const since = new Map<number, number>();
  for (const entry of journal) {
    if (!('def' in entry) || entry.def.no !== budgetNo) continue;
    for (const { no } of entry.def.windows) if (!since.has(no)) since.set(no, entry.atMs);
  }
  return since;
}

const total = (spends: readonly Spend[], fromMs: (spend: Spend) => boolean): bigint =>
  spends.filter(fromMs).reduce((sum, { micros }) => sum + micros, 0n);

function expectRolling(
  driver: KernelDriver,
  { rule, sinceMs, counter }: { readonly rule: RollingRule; readonly sinceMs: number; readonly counter: Counter },
  charging: readonly Reservation[],
  spends: ReadonlyMap<ReservationId, readonly Spend[]>,
): void {
  const { nowMs } = driver;
  expect(counter.heldMicros).toBe(sumsOf(charging.map(({ figures }) => figures))[0]);
  const counted = counter.settledMicros + counter.overrunMicros;
  let least = 0n;
  let most = 0n;
  for (const { id, figures } of charging) {
    const own = spends.get(id) ?? [];
    least += total(own, ({ atMs }) => atMs > nowMs - rule.durationMs);
    // What was spent before the window came to be may be taken for as late as that, but what a lapse assumed.
    const latest = (atMs: number) => (atMs < sinceMs && atMs !== figures.reclaimMs ? sinceMs : atMs);
    most += total(own, ({ atMs }) => latest(atMs) > nowMs - rule.durationMs - rule.stepMs);
  }
  expect(counted).toBeGreaterThanOrEqual(least);
  expect(counted).toBeLessThanOrEqual(most);
}

it('every window counts in every period what the reservations say', () => {
  const seen = { range: 0, rolling: 0, calendar: 0, forgotten: 0, apart: 0 };
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      tellStory(story, {
        after: (driver) => {
          driver.recordLapses();
          const spends = spendOfJournal(driver.journal);
          for (const budget of driver.state.budgets()) {
            const charging = [...driver.state.reservations()].filter((each) => charges(each, budget.def.path));
            const since = sinceOf(driver, budget.def.no);
            const { standings } = budgetOf(driver.decide(driver.make.getBudget(budget.def.path)).answer);
            for (const window of budget.def.windows) {
              if (window.rule.kind === 'rolling') continue;
              const { childNo } = window;
              const counted = charging.filter(
                ({ accounts }) => childNo === undefined || accounts.some(({ budgetNo }) => budgetNo === childNo),
              );
              if (childNo !== undefined && counted.length < charging.length) seen.apart += 1;
              expectPeriods(budget, window, counted);
            }
            for (const { rule, limit, counter } of standings) {
              if (rule.kind !== 'lifetime' && counter.settledMicros > 0n) seen[rule.kind] += 1;
              if (rule.kind !== 'rolling') continue;
              const sinceMs = since.get(limit.windowNo) ?? 0;
              expectRolling(driver, { rule, sinceMs, counter }, charging, spends);
              const [, settled] = sumsOf(charging.map(({ figures }) => figures));
              if (counter.settledMicros < settled) seen.forgotten += 1;
            }
          }
        },
      });
    }),
    { numRuns: 500 },
  );
  // The stories must come to where the property could fail.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
