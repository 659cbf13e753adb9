// The contract's part on windows, rates and runs: which counters a load brings of them, and what entries make of them.
import { describe, expect, it } from 'vitest';
import type { Account, BudgetDef, WindowDef } from '../../src/kernel/budget.ts';
import type { BudgetChange, Effect, Entry, Granted, Settled } from '../../src/kernel/entry.ts';
import type { ReservationFigures } from '../../src/kernel/reservation.ts';
import { rollingRule } from '../../src/kernel/window.ts';
import type { LoadRequest } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  created,
  definition,
  granted,
  held,
  path,
  renewed,
  rid,
  START_MS,
  settled,
  updated,
} from './sample-entries.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;
const ROLLING = rollingRule(HOUR_MS);
const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
const RANGE = { kind: 'range', startMs: START_MS - HOUR_MS, endMs: START_MS + 9 * DAY_MS } as const;

const LIFETIME: WindowDef = { no: 0, rule: { kind: 'lifetime' }, firstPeriodMs: 0 };
const WINDOWS: readonly WindowDef[] = [
  LIFETIME,
  { no: 1, rule: DAY, firstPeriodMs: START_MS },
  { no: 2, rule: ROLLING, firstPeriodMs: 0 },
  { no: 3, rule: RANGE, firstPeriodMs: RANGE.startMs },
];

const sums = (heldMicros: bigint, settledMicros: bigint, overrunMicros = 0n) => ({
  heldMicros,
  settledMicros,
  overrunMicros,
});
const at = (windowNo: number, periodMs: number): Account => ({ budgetNo: 1, windowNo, periodMs });
const moving = (accounts: readonly Account[], heldMicros: bigint, settledMicros: bigint, active = 0): Effect => ({
  ...sums(heldMicros, settledMicros),
  active,
  accounts,
});

/** Windows, rates and what runs ask for. */
export function describeWindows(c: ContractWorld): void {
  const root = (over: Partial<BudgetDef> = {}) =>
    definition(1, c.treeId, undefined, { windows: WINDOWS, windowNoMax: 3, ...over });
  const onRoot = () => ({ path: c.treeId as string, nos: [1] });

  /** A hold of 10 on the root in the periods of `dayMs`. */
  const grant = (seq: number, name: string, dayMs: number, atMs = dayMs): Granted => {
    const accounts = [at(0, 0), at(1, dayMs), at(2, 0), at(3, RANGE.startMs)];
    const entry = granted({ seq, atMs }, rid(name), onRoot(), held(10n, dayMs + DAY_MS));
    return { ...entry, reservation: { ...entry.reservation, accounts }, effects: [moving(accounts, 10n, 0n, 1)] };
  };
  /** Its settlement at `atMs`. */
  const settle = (seq: number, name: string, dayMs: number, atMs: number, micros = 10n): Settled => ({
    ...settled({ seq, atMs }, rid(name), [1], held(10n, dayMs + DAY_MS)),
    figures: {
      ...held(10n, dayMs + DAY_MS),
      state: 'SETTLED',
      heldMicros: 0n,
      settledMicros: micros,
      releasedMicros: 10n - micros,
      endMs: atMs,
    },
    effects: [
      moving([at(0, 0), at(1, dayMs), at(3, RANGE.startMs)], -10n, micros, -1),
      moving([at(2, 0)], -10n, 0n),
      moving([at(2, Math.floor(atMs / ROLLING.stepMs) * ROLLING.stepMs)], 0n, micros),
    ],
  });
  const load = async (over: Partial<LoadRequest> = {}) => {
    const { budgets } = await c.load({ paths: [path(c.treeId)], ...over });
    expect(budgets).toHaveLength(1);
    return budgets[0];
  };

  describe('load', () => {
    it('brings of a budget the latest periods, the steps that still count, and what is asked for by name', async () => {
      const first = START_MS;
      const second = START_MS + DAY_MS;
      const third = START_MS + 2 * DAY_MS;
      const lateMs = third + 2 * HOUR_MS;
      const entries = [
        created({ seq: 1 }, root()),
        grant(2, 'a', first, first + 2),
        grant(3, 'b', first, first + 3),
        settle(4, 'a', first, first + MINUTE_MS),
        grant(5, 'c', second),
        settle(6, 'c', second, second + MINUTE_MS),
        grant(7, 'd', third),
        settle(8, 'd', third, lateMs - HOUR_MS + ROLLING.stepMs),
        grant(9, 'e', third, lateMs),
        settle(10, 'e', third, lateMs, 4n),
      ];
      await c.start(entries);
      await c.project(entries);
      const steps = [
        { ...sums(0n, 10n), windowNo: 2, periodMs: lateMs - HOUR_MS + ROLLING.stepMs },
        { ...sums(0n, 4n), windowNo: 2, periodMs: lateMs },
      ];
      const lifetime = { ...sums(10n, 34n), windowNo: 0, periodMs: 0 };
      const today = { ...sums(0n, 14n), windowNo: 1, periodMs: third };
      const others = [
        { ...sums(10n, 0n), windowNo: 2, periodMs: 0 },
        { ...sums(10n, 34n), windowNo: 3, periodMs: RANGE.startMs },
      ];
      expect(await load()).toMatchObject({ counters: [lifetime, today, ...others], steps, movedMs: lateMs });
      const ofFirst = { ...sums(10n, 10n), windowNo: 1, periodMs: first };
      const ofSecond = { ...sums(0n, 10n), windowNo: 1, periodMs: second };
      const withFirst = { counters: [lifetime, ofFirst, today, ...others], steps };
      expect(await load({ paths: [], reservationIds: [rid('b')] })).toMatchObject(withFirst);
      expect(await load({ paths: [], periods: [at(1, second)] })).toMatchObject({
        counters: [lifetime, ofSecond, today, ...others],
        steps,
      });
      // Of a period that nothing moved in there is nothing to bring; a latest one that is named comes once.
      expect(await load({ paths: [], periods: [at(1, second - DAY_MS * 9), at(1, third)] })).toMatchObject({
        counters: [lifetime, today, ...others],
      });
    });

    it('leaves out windows and rates that an edit took away', async () => {
      const rates = [{ no: 1, kind: 'requests', count: 1, perMs: 1_000, burst: 5 } as const];
      const grantEntry = grant(2, 'a', START_MS);
      const entries = [
        created({ seq: 1 }, root({ rates, rateNoMax: 1 })),
        { ...grantEntry, rateMoves: [{ budgetNo: 1, rateNo: 1, level: 4_000n }] },
        settle(3, 'a', START_MS, START_MS + 1),
        grant(4, 'b', START_MS, START_MS + 2),
      ];
      await c.start(entries);
      await c.project(entries);
      expect((await load())?.rateLevels).toStrictEqual([{ no: 1, level: 4_000n, atMs: START_MS }]);
      const edit = updated({ seq: 5 }, root({ windows: [LIFETIME], rates: [], rateNoMax: 1 }), false);
      await c.project([edit]);
      const lifetime = { ...sums(10n, 10n), windowNo: 0, periodMs: 0 };
      const expected = { counters: [lifetime], steps: [], rateLevels: [] };
      expect(await load()).toMatchObject(expected);
      expect(await load({ paths: [], reservationIds: [rid('b')] })).toMatchObject(expected);
    });
  });

  it('project keeps the last level of a rate, whatever its size, further budgets and the number of renewals', async () => {
    const huge = 9_007_199_254_740_991n * 9_007_199_254_740_991n;
    const rates = [1, 2].map((no) => ({ no, kind: 'tokens', count: 1, perMs: no, burst: 5 }) as const);
    const grantEntry = grant(2, 'a', START_MS);
    const also = ['with "quotes"', 'b\\c', 'd,e'].map((name) => path(`${c.treeId}/${name}`));
    const level = (rateNo: number, value: bigint) => ({ budgetNo: 1, rateNo, level: value });
    const move = renewed({ seq: 4 }, [[rid('a'), held(10n, START_MS), START_MS + 99]]);
    const figures = { ...(move.moves[0]?.figures as ReservationFigures), renewalCount: 7 };
    const entries: Entry[] = [
      created({ seq: 1 }, root({ rates, rateNoMax: 2 })),
      { ...grantEntry, reservation: { ...grantEntry.reservation, also }, rateMoves: [level(1, 3n), level(2, huge)] },
      { ...grant(3, 'b', START_MS, START_MS + 3), rateMoves: [level(1, 2n)] },
      { ...move, moves: [{ ...(move.moves[0] as (typeof move.moves)[0]), figures }] },
    ];
    await c.start(entries);
    for (const entry of entries) await c.project([entry]);
    expect((await load())?.rateLevels).toStrictEqual([
      { no: 1, level: 2n, atMs: START_MS + 3 },
      { no: 2, level: huge, atMs: START_MS },
    ]);
    const loaded = await c.load({ reservationIds: [rid('a'), rid('b')] });
    const [a, b] = loaded.reservations.toSorted((x, y) => (x.id < y.id ? -1 : 1));
    expect(a).toMatchObject({ also, figures });
    expect(b).toMatchObject({ also: [], figures: { renewalCount: 0 } });
    expect((await c.load({ withTail: true })).tail).toStrictEqual([]);
  });

  it('project begins the counters of a new window with what its entry says, and moves them on', async () => {
    const edit: BudgetChange = {
      ...updated({ seq: 2 }, root(), false),
      opening: [
        { windowNo: 1, periodMs: START_MS, ...sums(3n, 4n, 5n) },
        { windowNo: 2, periodMs: 0, ...sums(3n, 0n) },
        { windowNo: 2, periodMs: START_MS, ...sums(0n, 6n, 7n) },
      ],
    };
    const entries = [created({ seq: 1 }, root({ windows: [LIFETIME] })), edit, grant(3, 'a', START_MS, START_MS + 3)];
    await c.start(entries);
    await c.project(entries);
    expect(await load()).toMatchObject({
      counters: [
        { ...sums(10n, 0n), windowNo: 0 },
        { ...sums(13n, 4n, 5n), windowNo: 1 },
        { ...sums(13n, 0n), windowNo: 2 },
        { ...sums(10n, 0n), windowNo: 3 },
      ],
      steps: [{ windowNo: 2, periodMs: START_MS, ...sums(0n, 6n, 7n) }],
    });
  });

  it('keeps what counts a child apart, the lifetime of it too, and brings it with its budget', async () => {
    const apart: readonly WindowDef[] = [LIFETIME, DAY, ROLLING].map((rule, i) => ({
      no: 4 + i,
      rule: 'rule' in rule ? rule.rule : rule,
      firstPeriodMs: rule === DAY ? START_MS : 0,
      childNo: 2,
    }));
    const childShares = [{ childNo: 2, floorMicros: 5n, sharePercent: 40 }];
    const def = root({ windows: [...WINDOWS, ...apart], windowNoMax: 6, childShares });
    const accounts = [at(0, 0), at(4, 0), at(5, START_MS), at(6, 0)];
    const entry = grant(2, 'a', START_MS);
    const entries: Entry[] = [created({ seq: 1 }, def), { ...entry, effects: [moving(accounts, 10n, 0n, 1)] }];
    await c.start(entries);
    await c.project(entries);
    const loaded = await load();
    expect(loaded?.def).toStrictEqual(def);
    expect(loaded?.counters).toMatchObject([
      { ...sums(10n, 0n), windowNo: 0 },
      { ...sums(10n, 0n), windowNo: 4, periodMs: 0 },
      { ...sums(10n, 0n), windowNo: 5, periodMs: START_MS },
      { ...sums(10n, 0n), windowNo: 6, periodMs: 0 },
    ]);
  });

  it('project counts open children by what entries say', async () => {
    const closed = (seq: number, no: number, openChildren: -1 | 0): BudgetChange => ({
      ...updated({ seq }, definition(no, `${c.treeId}/${no}`, 1, { closed: true, revision: 2 }), false),
      type: 'BudgetClosed',
      openChildren,
    });
    const entries = [
      created({ seq: 1 }, root()),
      ...[2, 3, 4].map((no) => created({ seq: no }, definition(no, `${c.treeId}/${no}`, 1))),
      closed(5, 3, -1),
      closed(6, 3, 0),
    ];
    await c.start(entries);
    for (const entry of entries) await c.project([entry]);
    // Being made is no movement of the budget above.
    expect(await load()).toMatchObject({ openChildCount: 2, movedMs: START_MS + 1 });
  });
}
