// More work than the lane can do: who is turned away, and that what waits is bounded wherever it waits.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import type { Command } from '../../../src/kernel/command.ts';
import type { AppendResult, Loaded } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

/** As many as may wait (DEPTH_MAX in lane.ts). */
const FULL = 32_768;

/** What became of commands so far, by name. */
class Watched {
  readonly world: LaneWorld;
  readonly fates = new Map<string, string>();
  readonly #answers: Promise<void>[] = [];

  constructor(world: LaneWorld) {
    this.world = world;
  }

  submit(name: string, command: Command): void {
    const told = (answer: Answer) => {
      this.fates.set(name, answer.kind === 'refusal' ? answer.reason : answer.kind);
    };
    this.#answers.push(this.world.lane.submit(command).then(told));
  }

  /** Reads, which are quick to make and to decide. */
  flood(make: Commands, count: number): void {
    for (let no = 1; no <= count; no++) this.submit(`${make.treeId}${no}`, make.getBudget(make.treeId));
  }

  async all(): Promise<void> {
    await Promise.all(this.#answers);
  }

  get shed(): string[] {
    return [...this.fates].filter(([, fate]) => fate === 'OVERLOADED').map(([name]) => name);
  }
}

/** A world in which an append is under way until it is let go; no batch is decided ahead, so that all others wait. */
async function busy() {
  const world = await new LaneWorld({ batchCountMax: 2 * FULL }).open(['t', 'u', 'v'], 1_000_000);
  const { id } = granted(await world.lane.submit(world.make.reserve('t', 1))).reservation;
  const append = held<AppendResult>();
  world.appendFates.push(append.fate);
  const first = world.lane.submit(world.make.reserve('t', 1));
  await settle();
  return { world, watched: new Watched(world), id, first, letGo: append.letGo };
}

// Tens of thousands of commands: seconds on a busy machine.
const LARGE = { timeout: 30_000 };

describe('a full queue', LARGE, () => {
  it('sends away the newest of whoever floods, not whoever comes last, and new work before what ends it', async () => {
    const { watched, id, world, first, letGo } = await busy();
    const [t, u, v] = [world.make, new Commands('u'), new Commands('v')];
    watched.flood(t, FULL - 1);
    watched.submit('quiet', u.reserve('u', 1));
    expect(world.lane.depth).toBe(FULL);
    watched.submit('one more of the flood', t.getBudget('t'));
    watched.submit('a newcomer', v.reserve('v', 1));
    watched.submit('settle', t.settle(id, 1));
    watched.submit('suspend', t.suspend('t'));
    await settle();
    expect(watched.shed).toEqual(['one more of the flood', `t${FULL - 1}`, `t${FULL - 2}`, `t${FULL - 3}`]);
    expect(world.lane.depth).toBe(FULL);
    letGo();
    granted(await first);
    await watched.all();
    expect(['quiet', 'a newcomer', 'settle', 'suspend'].map((name) => watched.fates.get(name))).toEqual([
      'reservation',
      'reservation',
      'reservation',
      'budget',
    ]);
  });

  it('of nothing but ending work lets no more in', async () => {
    const { watched, id, world, letGo } = await busy();
    for (let no = 1; no <= FULL; no++) watched.submit(`renew ${no}`, world.make.renew(id, 60_000));
    watched.submit('settle', world.make.settle(id, 1));
    watched.submit('reserve', world.make.reserve('t', 1));
    await settle();
    expect(watched.shed).toEqual(['settle', 'reserve']);
    letGo();
    await watched.all();
  });
});

describe('commands that wait for records', LARGE, () => {
  it('are counted, and give way like those in the queue', async () => {
    const world = await new LaneWorld().open(['t', 'u'], 1_000_000);
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 1))).reservation;
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const watched = new Watched(world);
    watched.flood(world.make, FULL);
    await settle();
    expect(world.lane.depth).toBe(FULL);
    watched.submit('one more of the flood', world.make.reserve('t', 1));
    watched.submit('settle', world.make.settle(id, 1));
    await settle();
    expect(watched.shed).toEqual(['one more of the flood', `t${FULL}`]);
    // The other tree's load is quick: it is not held up by the flood that waits for the slow one.
    granted(await world.lane.submit(new Commands('u').reserve('u', 1)));
    expect(watched.shed).toEqual(['one more of the flood', `t${FULL}`, `t${FULL - 1}`]);
    load.letGo();
    await watched.all();
    expect(watched.fates.get('settle')).toBe('reservation');
    expect(world.lane.depth).toBe(0);
  });
});

describe('a hold', () => {
  it('is not placed for a caller that has waited for longer than callers do', async () => {
    const world = await new LaneWorld().open(['t']);
    const { id } = granted(await world.lane.submit(world.make.reserve('t', 1))).reservation;
    world.lane.reset();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const early = [
      world.make.reserve('t', 1),
      world.make.extend(id, 1),
      world.make.settle(id, 1),
      world.make.getBudget('t'),
    ].map((command) => world.lane.submit(command));
    await world.time.elapse(1);
    const later = world.lane.submit(world.make.reserve('t', 1));
    await world.time.elapse(10_000);
    load.letGo();
    const answers = await Promise.all(early);
    expect(answers.map((answer) => (answer.kind === 'refusal' ? answer.reason : answer.kind))).toEqual([
      'OVERLOADED',
      'OVERLOADED',
      'reservation',
      'budget',
    ]);
    expect(refused(answers[0] as Answer).retryAfterMs).toBeGreaterThan(0);
    granted(await later);
  });
});
