// The contract's part on what reservations keep of prices: it stands in their rows from whichever entry said it last, beside
// rows that keep nothing.
import { expect, it } from 'vitest';
import type { Entry, Extended } from '../../src/kernel/entry.ts';
import type { PricedUsage, PriceRecord } from '../../src/kernel/price.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import type { ContractWorld } from './contract-world.ts';
import { enqueued, granted, held, path, rid, START_MS, settled, threeLevels } from './sample-entries.ts';

const HELD = held(100n, START_MS + 50_000);

const PRICE: PriceRecord = {
  pins: { rowHashes: ['a row', 'another "row"'] },
  inputTokensMax: 2n ** 60n,
  outputTokensMax: 4_096,
  outputIsDefault: true,
  choices: 1,
};
const MORE: PriceRecord = {
  pins: {
    rowHashes: ['third, {row} \\'],
    aliases: [{ provider: 'openai', model: 'best', target: { provider: 'azure', model: 'gpt-4o' } }],
    unitRowHash: 'a unit',
    serviceTier: 'flex',
    inferenceGeo: 'us',
    cacheTtl: '1h',
  },
  inputTokensMax: 7n,
  outputTokensMax: 8,
  outputIsDefault: false,
  choices: 3,
};
const PRICED: PricedUsage = {
  provider: 'openai',
  model: 'gpt-4o',
  rowHash: 'a row',
  source: 'reported',
  buckets: {
    uncachedInput: 1n,
    cacheRead: 2n,
    cacheWrite5m: 3n,
    cacheWrite1h: 4n,
    audioInput: 5n,
    audioCacheRead: 6n,
    output: 2n ** 53n + 1n,
    audioOutput: 8n,
    webSearches: 9n,
    fileSearches: 10n,
  },
  micros: 2n ** 62n,
};

/** Prices of reservations. */
export function describePriced(c: ContractWorld): void {
  const grant = (seq: number, name: string, price: PriceRecord | undefined) => {
    const entry = granted({ seq }, rid(name), c.onRun(), HELD);
    return { ...entry, reservation: { ...entry.reservation, price } };
  };
  const settle = (seq: number, name: string, priced: PricedUsage | undefined) => ({
    ...settled({ seq }, rid(name), [1, 2, 3], HELD),
    priced,
  });
  const extend = (seq: number, name: string, price: PriceRecord | undefined): Extended => {
    const { headroom } = grant(seq, name, undefined);
    const { atMs, actor, key, personal } = settle(seq, name, undefined);
    const common = { seq, atMs, actor, key, personal };
    const change = { addMicros: 0n, minMicros: 0n, revisions: [], headroom, effects: [] };
    return { ...common, type: 'Extended', id: rid(name), figures: HELD, price, ...change };
  };
  /** Price and what was charged, by name, as rows, loads and the audit have them. */
  const kept = async (...names: readonly string[]) => {
    const query = { treeId: c.treeId, budget: path(c.treeId), state: undefined, holder: undefined, after: undefined };
    const listed = await c.store.listReservations({ ...query, countMax: 100 });
    const loaded = (await c.load({ reservationIds: names.map(rid) })).reservations;
    const audited: Reservation[] = [];
    for await (const each of c.store.readReservations(c.treeId)) audited.push(each);
    return [listed, loaded, audited].map((reservations) =>
      names.map((name) => {
        const found = reservations.find(({ id }) => id === rid(name));
        return [found?.price, found?.priced];
      }),
    );
  };
  const everywhere = (expected: unknown) => [expected, expected, expected];

  it('reservations keep what they were priced by and what was charged, in one step or many', async () => {
    const steps: Entry[][] = [
      [...threeLevels(c.treeId), grant(4, 'plain', undefined), grant(5, 'priced', PRICE), grant(6, 'done', PRICE)],
      [settle(7, 'done', PRICED), settle(8, 'plain', undefined), extend(9, 'priced', MORE)],
      [extend(10, 'priced', undefined), grant(11, 'quick', MORE), settle(12, 'quick', PRICED)],
    ];
    await c.start(steps[0] ?? []);
    for (const step of steps) await c.project(step);
    expect(await kept('plain', 'priced', 'done', 'quick')).toStrictEqual(
      everywhere([
        [undefined, undefined],
        [MORE, undefined],
        [PRICE, PRICED],
        [MORE, PRICED],
      ]),
    );
  });

  it('what waits keeps its price, and so does its grant', async () => {
    const waiting = enqueued({ seq: 4 }, rid('first'), c.onRun(), START_MS + 30_000);
    const priced = { ...waiting, reservation: { ...waiting.reservation, price: PRICE } };
    const base = [...threeLevels(c.treeId), priced];
    await c.start(base);
    await c.project(base);
    expect(await kept('first')).toStrictEqual(everywhere([[PRICE, undefined]]));
    const entry = granted({ seq: 5 }, rid('first'), { ...c.onRun(), enqueuedSeq: 4 }, HELD);
    await c.project([{ ...entry, reservation: { ...entry.reservation, price: PRICE } }]);
    expect(await kept('first')).toStrictEqual(everywhere([[PRICE, undefined]]));
  });
}
