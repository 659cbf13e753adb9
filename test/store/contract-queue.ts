// The contract's part on what waits: its rows, what a load brings of it, where lists and the reaper find it, and that a grant
// takes the place of its row whole.
import { describe, expect, it } from 'vitest';
import type { ReservationId } from '../../src/kernel/names.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import { type Loaded, ProjectionMismatchError } from '../../src/store/port.ts';
import type { ContractWorld } from './contract-world.ts';
import {
  accountsOn,
  appendTo,
  created,
  definition,
  digest,
  enqueued,
  expired,
  granted,
  held,
  leftQueue,
  path,
  released,
  rid,
  START_MS,
  settled,
  threeLevels,
  tree,
} from './sample-entries.ts';

const UNTIL_MS = START_MS + 30_000;
const ANN = { actingFor: 'Ann', labels: [['a', '1']] } as const;

/** The wait queue. */
export function describeQueue(c: ContractWorld): void {
  /** Three levels and a team that has all its budgets made by a template: nobody has used `new` yet. */
  const start = () => {
    const onNew = { path: `${c.treeId}/team/new`, nos: [1, 2] };
    return {
      base: threeLevels(c.treeId),
      first: enqueued({ seq: 4, personal: ANN }, rid('first'), c.onRun(), UNTIL_MS),
      onNew: enqueued({ seq: 5 }, rid('new'), onNew, UNTIL_MS - 1),
    };
  };
  const byId = (a: Reservation, b: Reservation) => (a.id < b.id ? -1 : 1);

  describe('what waits', () => {
    it('comes along with every tail, whole, with the budgets that it names; and not without', async () => {
      const { base, first, onNew } = start();
      const entries = [...base, first, onNew, granted({ seq: 6 }, rid('live'), c.onRun(), held(1n, START_MS + 9))];
      await c.start(entries);
      await c.project(entries);
      const loaded = await c.load({ withTail: true });
      expect(loaded.reservations.toSorted(byId)).toStrictEqual([first.reservation, onNew.reservation]);
      expect(loaded.budgets.map(({ def }) => def.no).sort()).toStrictEqual([1, 2, 3]);
      expect(loaded.budgets.map(({ activeCount }) => activeCount)).toStrictEqual([1, 1, 1]);
      // Once, however often it is asked for.
      const asked = await c.load({ withTail: true, reservationIds: [rid('first'), rid('live')] });
      expect(asked.reservations.map(({ id }) => id).sort()).toStrictEqual(['first', 'live', 'new'].map(rid).sort());
      expect((await c.load()).reservations).toStrictEqual([]);
      const leases = { afterReclaimMs: Number.NEGATIVE_INFINITY, countMax: 9 };
      expect((await c.load({ leases })).reservations.map(({ id }) => id)).toStrictEqual([rid('live')]);
    });

    it('comes with budgets that were made after it, and those above them', async () => {
      const { base } = start();
      const off = { path: `${c.treeId}/team/new/deep`, nos: [1, 2], also: [path(`${c.treeId}/side/run`)] };
      const entries = [
        ...base,
        enqueued({ seq: 4 }, rid('new'), off, UNTIL_MS),
        created({ seq: 5 }, definition(4, `${c.treeId}/team/new`, 2)),
        created({ seq: 6 }, definition(5, `${c.treeId}/team/new/deep`, 4)),
        created({ seq: 7 }, definition(6, `${c.treeId}/side`, 1)),
        created({ seq: 8 }, definition(7, `${c.treeId}/side/run`, 6)),
        created({ seq: 9 }, definition(8, `${c.treeId}/side/walk`, 6)),
      ];
      await c.start(entries);
      await c.project(entries);
      const nosOf = ({ budgets }: Loaded) => budgets.map(({ def }) => def.no).sort();
      expect(nosOf(await c.load({ withTail: true }))).toStrictEqual([1, 2, 4, 5, 6, 7]);
      expect(nosOf(await c.load())).toStrictEqual([]);
    });

    it('is in the tail while it is not projected', async () => {
      const { base, first } = start();
      await c.start([...base, first]);
      await c.project(base);
      const loaded = await c.load({ withTail: true });
      expect([loaded.reservations, loaded.tail]).toStrictEqual([[], [first]]);
    });

    it.each([
      ['in one go', [9]],
      ['as it goes', [4, 1, 1, 1, 1]],
      ['with the grant and its settlement together', [5, 3]],
    ])('is taken the place of by its grant, all of it: projected %s', async (_, sizes) => {
      const { base, onNew } = start();
      const run = definition(4, `${c.treeId}/team/new`, 2);
      const hold = held(7n, START_MS + 50_000);
      const now = { path: `${c.treeId}/team/new`, nos: [1, 2, 4], enqueuedSeq: 5 };
      const grant = granted({ seq: 7, personal: ANN }, rid('new'), now, hold);
      const entries = [
        ...base,
        granted({ seq: 4 }, rid('other'), c.onRun(), hold),
        onNew,
        created({ seq: 6 }, run),
        grant,
        settled({ seq: 8, personal: { labels: [['a', '2']] } }, rid('new'), [1, 2, 4], hold),
      ];
      await c.start(entries);
      let at = 0;
      for (const size of sizes) {
        await c.project(entries.slice(at, at + size));
        at += size;
      }
      const loaded = await c.load({ withTail: true, reservationIds: [rid('new')] });
      expect(loaded.reservations).toStrictEqual([
        {
          ...grant.reservation,
          queued: undefined,
          accounts: accountsOn(1, 2, 4),
          labels: [['a', '2']],
          figures: {
            ...hold,
            state: 'SETTLED',
            heldMicros: 0n,
            settledMicros: 7n,
            endMs: START_MS + 8,
            outcome: 'succeeded',
          },
        },
      ]);
      expect(loaded.budgets.map(({ def, activeCount }) => [def.no, activeCount]).sort()).toStrictEqual([
        [1, 1],
        [2, 1],
        [4, 0],
      ]);
    });

    it.each([
      ['in one go', [9]],
      ['as it goes', [4, 1, 1]],
    ])('leaves the queue for good: projected %s', async (_, sizes) => {
      const { base, first, onNew } = start();
      const left = leftQueue({ seq: 6, atMs: UNTIL_MS }, rid('first'), rid('new'));
      const entries = [...base, first, onNew, left];
      await c.start(entries);
      let at = 0;
      for (const size of sizes) {
        await c.project(entries.slice(at, at + size));
        at += size;
      }
      expect((await c.load({ withTail: true })).reservations).toStrictEqual([]);
      const loaded = await c.load({ reservationIds: [rid('first'), rid('new')] });
      const [leave] = left.leaves;
      expect(loaded.reservations.toSorted(byId)).toStrictEqual([
        { ...first.reservation, figures: leave?.figures },
        { ...onNew.reservation, figures: leave?.figures },
      ]);
    });

    it('is found by its key where that is what it leads to', async () => {
      const { base, first } = start();
      const left = leftQueue({ seq: 5, key: 'k', personal: ANN }, rid('first'));
      const entries = [...base, first, left];
      await c.start(entries);
      await c.project(entries);
      expect(await c.store.findKeys(c.treeId, [digest('k')])).toStrictEqual([left]);
    });

    it('is granted only where it waits', async () => {
      const { base, first } = start();
      const grant = (seq: number) =>
        granted({ seq }, rid('first'), { ...c.onRun(), enqueuedSeq: 4 }, held(1n, START_MS + 9));
      const entries = [...base, first, leftQueue({ seq: 5 }, rid('first')), grant(6)];
      const head = await c.start(entries.slice(0, 5));
      await c.project(entries.slice(0, 5));
      await appendTo(c.store, c.epoch, { treeId: c.treeId, expected: head, entries: entries.slice(5) });
      await expect(c.project(entries.slice(5))).rejects.toThrow(ProjectionMismatchError);
      expect((await c.load()).projectedSeq).toBe(5);
      expect((await c.load({ reservationIds: [rid('first')] })).reservations[0]?.figures.state).toBe('RELEASED');
    });
  });

  it('lists find what waits by the budget that it names, also one that came after it, or never', async () => {
    const { base, first, onNew } = start();
    const below = { path: `${c.treeId}/team/new/deep`, nos: [1, 2] };
    const hold = held(1n, START_MS + 9);
    const entries = [
      ...base,
      first,
      onNew,
      enqueued({ seq: 6 }, rid('deep'), { ...below, holder: 'deep' }, UNTIL_MS),
      enqueued({ seq: 7 }, rid('never'), { path: `${c.treeId}/team/never`, nos: [1, 2] }, UNTIL_MS),
      created({ seq: 8 }, definition(4, `${c.treeId}/team/new`, 2)),
      granted({ seq: 9 }, rid('own'), { path: `${c.treeId}/team/new`, nos: [1, 2, 4] }, hold),
      leftQueue({ seq: 10 }, rid('never')),
    ];
    await c.start(entries);
    await c.project(entries);
    const list = async (
      at: string,
      over: { readonly state?: 'QUEUED' | 'ACTIVE'; readonly after?: ReservationId } = {},
    ) => {
      const query = {
        treeId: c.treeId,
        budget: path(`${c.treeId}${at}`),
        state: undefined,
        holder: undefined,
        after: undefined,
        countMax: 100,
      };
      return (await c.store.listReservations({ ...query, ...over })).map(({ id }) => id.replaceAll('0', ''));
    };
    expect(await list('')).toStrictEqual(['deep', 'first', 'never', 'new', 'own']);
    expect(await list('/team')).toStrictEqual(['deep', 'first', 'never', 'new', 'own']);
    expect(await list('/team/new')).toStrictEqual(['deep', 'new', 'own']);
    expect(await list('/team/new', { after: rid('deep') })).toStrictEqual(['new', 'own']);
    expect(await list('/team/new', { state: 'QUEUED' })).toStrictEqual(['deep', 'new']);
    expect(await list('/team/new', { state: 'ACTIVE' })).toStrictEqual(['own']);
    expect(await list('/team/never')).toStrictEqual(['never']);
    expect(await list('/team/ne')).toStrictEqual([]);
    expect(await list('/team/run')).toStrictEqual(['first']);
    expect(await list('', { state: 'QUEUED' })).toStrictEqual(['deep', 'first', 'new']);
    const [shown] = await c.store.findReservations(c.treeId, [rid('deep')]);
    expect(shown).toMatchObject({ budget: `${c.treeId}/team/new/deep`, holder: 'deep', queued: { untilMs: UNTIL_MS } });
  });

  it('a tree is due when the first wait is over, or the first lease', async () => {
    const farMs = 9_100_000_000_000;
    const id = tree(`${c.treeId}-due`);
    c.treeId = id;
    const due = async (nowMs: number) =>
      (await c.store.dueTrees(farMs + nowMs, { treeId: tree(''), reclaimMs: farMs }, 9)).map(
        ({ reclaimMs }) => reclaimMs - farMs,
      );
    const hold = held(1n, farMs + 300);
    const entries = [
      created({ seq: 1 }, definition(1, id, undefined)),
      enqueued({ seq: 2 }, rid('a'), { path: id, nos: [1] }, farMs + 200),
      granted({ seq: 3 }, rid('b'), { path: id, nos: [1] }, hold),
      enqueued({ seq: 4 }, rid('c'), { path: id, nos: [1] }, farMs + 100),
      leftQueue({ seq: 5 }, rid('c')),
      leftQueue({ seq: 6 }, rid('a')),
      released({ seq: 7 }, rid('b'), [1], hold),
    ];
    await c.start(entries);
    const dues = [];
    for (const entry of entries) {
      await c.project([entry]);
      dues.push(await due(1_000));
    }
    expect(dues).toStrictEqual([[], [200], [200], [100], [200], [300], []]);
  });

  it('a budget that is waited for is not idle', async () => {
    const id = tree(`${c.treeId}-idle`);
    c.treeId = id;
    const farMs = START_MS + 900_000;
    const shape = { ...definition(1, id, undefined).shape, closeAfterMs: 1_000 };
    const idle = async (nowMs: number) =>
      (await c.store.idleBudgets(nowMs, undefined, 1_000))
        .filter(({ treeId }) => treeId === id)
        .map(({ budgetNo }) => budgetNo);
    const hold = held(1n, START_MS + 9);
    const entries = [
      created({ seq: 1 }, definition(1, id, undefined)),
      created({ seq: 2 }, definition(2, `${id}/a`, 1, { shape })),
      created({ seq: 3 }, definition(3, `${id}/b`, 1, { shape })),
      enqueued({ seq: 4 }, rid('w'), { path: `${id}/a/new/deep`, nos: [1, 2], also: [path(`${id}/off/run`)] }, farMs),
      granted({ seq: 5 }, rid('g'), { path: `${id}/b`, nos: [1, 3] }, hold),
      expired({ seq: 6, atMs: START_MS + 10 }, rid('g'), [1, 3], hold),
      // After it came to wait.
      created({ seq: 7 }, definition(4, `${id}/a/new`, 2, { shape })),
      created({ seq: 8 }, definition(5, `${id}/a/new/deep`, 4, { shape })),
      created({ seq: 9 }, definition(6, `${id}/a/new/deep/er`, 5, { shape })),
      created({ seq: 10 }, definition(7, `${id}/off`, 1, { shape })),
      created({ seq: 11 }, definition(8, `${id}/off/run`, 7, { shape })),
      created({ seq: 12 }, definition(9, `${id}/off/runs`, 7, { shape })),
      leftQueue({ seq: 13, atMs: START_MS + 20_000 }, rid('w')),
    ];
    await c.start(entries);
    await c.project(entries.slice(0, 12));
    expect((await idle(START_MS + 5_000)).sort()).toStrictEqual([3, 6, 9]);
    await c.project(entries.slice(12));
    expect((await idle(START_MS + 60_000)).sort()).toStrictEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });
}
