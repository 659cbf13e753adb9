// The contract's part on windows, rates and runs: which counters a load brings, what a new window has to start from, and which
// budgets have been idle for long.
import { describe, expect, it } from 'vitest';
import { type Account, type BudgetDef, NO_SHAPE, type WindowDef } from '../../src/kernel/budget.ts';
import type { BudgetChange, Effect, Entry, Granted, Settled } from '../../src/kernel/entry.ts';
import type { ReservationFigures } from '../../src/kernel/reservation.ts';
import { rollingRule } from '../../src/kernel/window.ts';
import type { IdleBudget, LoadRequest } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  appendTo,
  created,
  definition,
  granted,
  held,
  path,
  released,
  renewed,
  rid,
  START_MS,
  settled,
  threeLevels,
  tree,
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

  describe('readHistory', () => {
    const hold = (seq: number, name: string, micros: bigint, atMs: number): Granted =>
      granted({ seq, atMs }, rid(name), c.onRun(), held(micros, atMs + DAY_MS));

    it('sums up what was admitted from an instant on, in the whole subtree and from beside it', async () => {
      const other = created({ seq: 4 }, definition(4, `${c.treeId}/teamx`, 1));
      const beside = granted({ seq: 8, atMs: START_MS + 80 }, rid('beside'), { path: `${c.treeId}/teamx`, nos: [1, 2, 4] }, held(100n, 1));
      const inside = granted({ seq: 9, atMs: START_MS + 90 }, rid('inside'), c.onRun(), held(1_000n, 1));
      const entries: Entry[] = [
        ...threeLevels(c.treeId),
        other,
        hold(5, 'early', 1n, START_MS + 50),
        hold(6, 'open', 10n, START_MS + 60),
        hold(7, 'done', 10n, START_MS + 70),
        { ...beside, reservation: { ...beside.reservation, also: [path(`${c.treeId}/team`)] } },
        { ...inside, reservation: { ...inside.reservation, also: [path(`${c.treeId}/team`)] } },
        granted({ seq: 10, atMs: START_MS + 100 }, rid('not'), { path: `${c.treeId}/teamx`, nos: [1, 4] }, held(10_000n, 1)),
        settled({ seq: 11 }, rid('done'), [1, 2, 3], held(10n, START_MS + 70 + DAY_MS)),
      ];
      await c.start(entries);
      await c.project(entries);
      const need = (fromMs: number) => ({ rule: DAY, fromMs });
      const history = await c.store.readHistory(c.treeId, 2, [need(START_MS + 60), need(START_MS)]);
      expect(history).toStrictEqual({
        seq: 11,
        sums: [
          { rule: DAY, fromMs: START_MS + 60, ...sums(1_110n, 10n), steps: [] },
          { rule: DAY, fromMs: START_MS, ...sums(1_111n, 10n), steps: [] },
        ],
      });
      const range = { rule: { kind: 'range', startMs: START_MS, endMs: START_MS + 60 } as const, fromMs: START_MS };
      expect((await c.store.readHistory(c.treeId, 2, [range])).sums).toMatchObject([sums(1n, 0n)]);
      const ofRun = await c.store.readHistory(c.treeId, 3, [need(START_MS + 61)]);
      expect(ofRun.sums).toMatchObject([sums(1_000n, 10n)]);
      const ofNobody = await c.store.readHistory(c.treeId, 9, [need(0)]);
      expect(ofNobody).toMatchObject({ seq: 11, sums: [sums(0n, 0n)] });
    });

    it('spreads what settled over the steps of when it did, and counts all that is held', async () => {
      const hour = { rule: ROLLING, fromMs: START_MS + HOUR_MS };
      const change = (seq: number, name: string, figures: Partial<ReservationFigures>): Entry => ({
        ...settled({ seq, atMs: START_MS + 3 * HOUR_MS }, rid(name), [1, 2, 3], held(0n, 1)),
        figures: { ...held(0n, 1), ...figures },
        effects: [],
      });
      const nowMs = START_MS + 3 * HOUR_MS;
      const entries: Entry[] = [
        ...threeLevels(c.treeId),
        ...['old', 'first', 'same', 'part', 'late', 'over', 'past'].map((name, i) =>
          hold(4 + i, name, 0n, START_MS + 4 + i),
        ),
        hold(11, 'held', 9n, START_MS + 11),
        change(12, 'old', { state: 'SETTLED', settledMicros: 1n, endMs: hour.fromMs - 1 }),
        change(13, 'first', { state: 'SETTLED', settledMicros: 2n, endMs: hour.fromMs }),
        change(14, 'same', { state: 'SETTLED', settledMicros: 4n, endMs: hour.fromMs + ROLLING.stepMs - 1 }),
        change(15, 'part', { settledMicros: 8n }),
        change(16, 'late', {
          state: 'EXPIRED',
          late: true,
          settledMicros: 48n,
          estimatedMicros: 16n,
          overrunMicros: 3n,
          endMs: hour.fromMs + 5 * ROLLING.stepMs,
        }),
        change(17, 'over', { state: 'SETTLED', settledMicros: 0n, overrunMicros: 64n, endMs: nowMs }),
        change(18, 'past', { state: 'EXPIRED', late: true, settledMicros: 384n, estimatedMicros: 128n, endMs: START_MS }),
      ];
      await c.start(entries);
      await c.project(entries);
      const step = (periodMs: number, settledMicros: bigint, overrunMicros = 0n) => ({
        periodMs,
        settledMicros,
        overrunMicros,
      });
      expect(await c.store.readHistory(c.treeId, 1, [hour])).toStrictEqual({
        seq: 18,
        sums: [
          {
            ...hour,
            ...sums(9n, 0n),
            steps: [
              step(hour.fromMs, 6n),
              step(hour.fromMs + 5 * ROLLING.stepMs, 16n),
              step(nowMs, 8n + 32n + 256n, 3n + 64n),
            ],
          },
        ],
      });
    });

    it('says how far it was projected, and of a tree that nobody knows that it is nowhere', async () => {
      const entries = [...threeLevels(c.treeId), hold(4, 'a', 5n, START_MS + 4)];
      await c.start(entries);
      await c.project(entries.slice(0, 3));
      const needs = [{ rule: DAY, fromMs: 0 }];
      expect(await c.store.readHistory(c.treeId, 3, needs)).toMatchObject({ seq: 3, sums: [sums(0n, 0n)] });
      expect(await c.store.readHistory(tree(`${c.treeId}-none`), 1, needs)).toMatchObject({ seq: 0, sums: [sums(0n, 0n)] });
      expect((await c.store.readHistory(c.treeId, 3, [])).sums).toStrictEqual([]);
    });
  });

  describe('idleBudgets', () => {
    // Later than everything else in this store, so that a cursor leaves the rest out.
    const farMs = 8_000_000_000_000;
    const from: IdleBudget = { treeId: tree(''), budgetNo: 0, path: path('x'), lookMs: farMs };
    const closing = (no: number, over: Partial<BudgetDef> = {}) =>
      definition(no, no === 1 ? c.treeId : `${c.treeId}/${no}`, no === 1 ? undefined : 1, {
        createMs: farMs,
        shape: { ...NO_SHAPE, closeAfterMs: 1_000 },
        ...over,
      });
    const makeAll = (nos: readonly number[]) => nos.map((no) => created({ seq: no, atMs: farMs + no }, closing(no)));
    const idleAt = async (nowMs: number, after = from, countMax = 9) => await c.store.idleBudgets(farMs + nowMs, after, countMax);
    const nosAt = async (nowMs: number) => (await idleAt(nowMs)).filter(({ treeId }) => treeId === c.treeId).map(({ budgetNo }) => budgetNo).sort();

    it('finds what has had no hold and no movement for long enough, again and again until it is closed', async () => {
      const entries: Entry[] = makeAll([1, 2, 3, 4]);
      const onTwo = { path: `${c.treeId}/2`, nos: [1, 2] };
      const hold = held(5n, farMs + 99_000);
      const later: Entry[] = [
        granted({ seq: 5, atMs: farMs + 500 }, rid('a'), onTwo, hold),
        { ...updated({ seq: 6, atMs: farMs + 600 }, closing(4, { closed: true }), false), type: 'BudgetClosed', openChildren: -1 },
      ];
      await c.start([...entries, ...later]);
      await c.project(entries);
      expect(await nosAt(1_000)).toStrictEqual([]);
      expect(await nosAt(1_003)).toStrictEqual([1, 2, 3]);
      await c.project(later);
      // A hold keeps its own budget and those above it; one that is closed is not to be closed.
      expect(await nosAt(1_600)).toStrictEqual([3]);
      expect(await nosAt(1_600)).toStrictEqual([3]);
      const free = released({ seq: 7, atMs: farMs + 2_000 }, rid('a'), [1, 2], hold);
      await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: (await c.load()).head, entries: [free] });
      await c.project([free]);
      expect(await nosAt(2_999)).toStrictEqual([3]);
      expect(await nosAt(3_000)).toStrictEqual([1, 2, 3]);
      const patient = updated({ seq: 8, atMs: farMs + 3_000 }, closing(3, { shape: NO_SHAPE, revision: 2 }), false);
      await c.project([patient]);
      expect(await nosAt(9_000)).toStrictEqual([1, 2]);
      await c.store.quarantine(c.treeId, 'broken');
      expect(await nosAt(9_000)).toStrictEqual([]);
    });

    it('pages after a cursor', async () => {
      const entries = makeAll([1, 2, 3, 4, 5]);
      await c.start(entries);
      await c.project(entries);
      const seen: number[] = [];
      for (let after = from; ; ) {
        const page = await idleAt(100_000, after, 2);
        expect(page.length).toBeLessThanOrEqual(2);
        seen.push(...page.filter(({ treeId }) => treeId === c.treeId).map(({ budgetNo }) => budgetNo));
        const last = page.at(-1);
        if (last === undefined) break;
        expect(last.path).toBe(last.budgetNo === 1 ? last.treeId : `${last.treeId}/${last.budgetNo}`);
        after = last;
      }
      expect(seen.sort()).toStrictEqual([1, 2, 3, 4, 5]);
      await c.store.quarantine(c.treeId, 'done');
    });
  });
}
