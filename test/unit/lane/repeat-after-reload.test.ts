// A key was searched for and found, and then the tree had to be read again: what the search found is gone with it, and the
// repeat must not be judged afresh. Found by a storm of serialization failures (docs/faults.md).
import { expect, it } from 'vitest';
import type { AppendResult } from '../../../src/store/port.ts';
import { granted } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

it('a repeat is answered from memory after the tree was dropped between its search and its answer', async () => {
  const world = await new LaneWorld().open();
  const first = granted(await world.lane.submit(world.make.reserve('t', 60, { key: 'k' })));
  await world.project();
  world.lane.reset();
  await world.lane.submit(world.make.getBudget('t'));
  // The search comes back while an append is under way, so that the repeat shares the next batch with another command.
  const append = held<AppendResult>();
  world.appendFates.push(append.fate, () => Promise.resolve({ outcome: 'conflict' }));
  const before = world.lane.submit(world.make.reserve('t', 1));
  const repeat = world.lane.submit(world.make.reserve('t', 60, { key: 'k' }));
  await settle();
  const after = world.lane.submit(world.make.reserve('t', 2));
  append.letGo();
  granted(await before);
  granted(await after);
  const again = granted(await repeat);
  expect(again).toMatchObject({ replayed: true, reservation: { id: first.reservation.id } });
});
