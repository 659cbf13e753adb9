// What a search of the journal is worth: a key that was not found is fresh only as long as nobody else can have written, and
// one that was found is answered from what was found and from nothing else.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/kernel/entry.ts';
import type { AppendResult, Loaded } from '../../../src/store/port.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { type Fate, held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

/** A search that reads at once and arrives when it is let go. */
function readNowArriveLater(): { readonly fate: Fate<readonly Entry[]>; readonly letGo: () => void } {
  const gate = held<void>();
  return {
    letGo: gate.letGo,
    fate: async (real) => {
      const found = await real();
      await gate.fate(() => Promise.resolve());
      return found;
    },
  };
}

/** Another leader grants `key`, and its entries are projected: only a search of the journal finds the key then. */
async function grantElsewhere(world: LaneWorld, key: string): Promise<string> {
  const other = await new LaneWorld().open([]);
  other.memory.database.trees.set('t' as never, world.memory.database.tree('t' as never));
  const answer = await other.lane.submit(other.make.reserve('t', 60, { key, id: 'other00000' }));
  await world.project();
  return granted(answer).reservation.id;
}

describe('a search under way while this process lost and regained the lane', () => {
  it('says nothing about a key that another leader has granted meanwhile', async () => {
    const world = await new LaneWorld().open();
    granted(await world.lane.submit(world.make.reserve('t', 30)));
    const search = readNowArriveLater();
    world.searchFates.push(search.fate);
    const waiting = world.lane.submit(world.make.reserve('t', 80, { min: 80, key: 'k' }));
    await settle();
    expect(world.searches).toHaveLength(1);
    world.lane.reset();
    const id = await grantElsewhere(world, 'k');
    // The tree is in memory again, full, when the search arrives.
    expect(refused(await world.lane.submit(world.make.reserve('t', 11))).reason).toBe('CAPACITY_HELD');
    search.letGo();
    expect(refused(await waiting)).toMatchObject({ reason: 'IDEMPOTENCY_KEY_REUSED', reservationId: `t:${id}` });
    expect(world.searches).toHaveLength(2);
  });
});

describe('a command whose key was searched for', () => {
  it('and not found is searched for again where a race was lost since', async () => {
    const world = await new LaneWorld().open();
    granted(await world.lane.submit(world.make.reserve('t', 30)));
    // The search comes back while an append is under way. The next batch loses to another leader, who grants the key.
    const append = held<AppendResult>();
    world.appendFates.push(append.fate, async () => {
      await grantElsewhere(world, 'k');
      return { outcome: 'conflict' };
    });
    const before = world.lane.submit(world.make.reserve('t', 1));
    const waiting = world.lane.submit(world.make.reserve('t', 80, { key: 'k' }));
    await settle();
    const after = world.lane.submit(world.make.reserve('t', 2));
    append.letGo();
    granted(await before);
    granted(await after);
    expect(refused(await waiting).reason).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(world.searches).toHaveLength(2);
  });

  it('and found is not taken for fresh when its answer has left memory again', async () => {
    const world = await new LaneWorld().open();
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 90, { key: 'k' }))).reservation;
    await world.project();
    const state = world.lane.cache.peek('t' as never)?.state;
    state?.evictRemembered(0);
    state?.evictReservation(id);
    // What was found is answered with its reservation, for which it waits.
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const again = world.lane.submit(world.make.reserve('t', 90, { key: 'k' }));
    await settle();
    expect([world.searches.length, world.loads.length]).toEqual([1, 1]);
    state?.evictRemembered(0);
    load.letGo();
    expect(granted(await again)).toMatchObject({ replayed: true, reservation: { id } });
  });
});
