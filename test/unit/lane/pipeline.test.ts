// A batch that is decided while the one before it is being committed: sent only after that one's commit, answered only after
// its own, and taken back with it whatever its end was.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/kernel/answer.ts';
import type { Command } from '../../../src/kernel/command.ts';
import { type AppendResult, type Loaded, StoreUnavailableError } from '../../../src/store/port.ts';
import { Commands } from '../../support/commands.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { held, LaneWorld } from '../../support/lane-world.ts';
import { settle } from '../../support/manual-time.ts';

const kindOf = (answer: Answer) => (answer.kind === 'refusal' ? answer.reason : answer.kind);
const conflict = () => Promise.resolve({ outcome: 'conflict' } as const);

/** Everything that goes on without time passing, however many turns it takes. */
async function settleAll(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await settle();
}

/** A first batch with the store until it is let go with a fate, and a second one decided on it. */
class TwoUnderWay {
  readonly world: LaneWorld;
  readonly #first: { command: Command; append: ReturnType<typeof held<AppendResult>> };
  fate: (real: () => Promise<AppendResult>) => Promise<AppendResult> = (real) => real();
  answers: Promise<Answer>[] = [];

  constructor(world: LaneWorld, first: Command) {
    this.world = world;
    this.#first = { command: first, append: held<AppendResult>() };
  }

  /** `seconds`: as many as a batch takes. */
  async begin(seconds: readonly Command[]): Promise<this> {
    const { world } = this;
    const { command, append } = this.#first;
    world.appendFates.unshift((real) => append.fate(() => this.fate(real)));
    this.answers.push(world.lane.submit(command));
    await settleAll();
    for (const second of seconds) this.answers.push(world.lane.submit(second));
    await settleAll();
    expect([world.appends.length, world.lane.depth]).toEqual([1, 0]);
    return this;
  }

  letGo(fate = this.fate): Promise<Answer[]> {
    this.fate = fate;
    this.#first.append.letGo();
    return Promise.all(this.answers);
  }
}

async function twoUnderWay(world?: LaneWorld): Promise<TwoUnderWay> {
  const open = world ?? (await new LaneWorld({ batchCountMax: 2 }).open());
  const { make } = open;
  return new TwoUnderWay(open, make.reserve('t', 50)).begin([make.reserve('t', 30), make.reserve('t', 40)]);
}

async function heldMicros(world: LaneWorld): Promise<bigint> {
  const answer = await world.lane.submit(world.make.getBudget('t'));
  if (answer.kind !== 'budget') throw new Error(`a budget is answered as ${answer.kind}`);
  expect(world.memory.database.tree('t' as never).head.seq).toBe(
    (await world.memory.readEntries('t' as never, 0, Number.MAX_SAFE_INTEGER)).length,
  );
  return answer.lifetime.heldMicros;
}

describe('decided ahead', () => {
  it('is decided on what the first leaves, sent when that is committed, and before its answers are out', async () => {
    const two = await twoUnderWay();
    const { world } = two;
    const sentBy: number[] = [];
    const first = two.answers[0]?.then(() => sentBy.push(world.appends.length));
    const answers = await two.letGo();
    await first;
    expect(answers.map(kindOf)).toEqual(['reservation', 'reservation', 'CAPACITY_HELD']);
    expect(sentBy).toEqual([2]);
    expect(world.appends[1]?.batch[0]?.expected.seq).toBe(2);
    expect(await heldMicros(world)).toBe(80n);
  });

  it('is answered after its own commit', async () => {
    const two = await twoUnderWay();
    const second = held<AppendResult>();
    two.world.appendFates.push(second.fate);
    let told = 0;
    const counted = two.answers.map((answer) => answer.then(() => (told += 1)));
    const all = two.letGo();
    await settleAll();
    expect([two.world.appends.length, told]).toEqual([2, 1]);
    second.letGo();
    await all;
    await Promise.all(counted);
  });

  it('answers a repeat of a key that is being committed with the same grant', async () => {
    const world = await new LaneWorld({ batchCountMax: 1 }).open();
    const { make } = world;
    const first = make.reserve('t', 50, { key: 'k' });
    const two = await new TwoUnderWay(world, first).begin([make.reserve('t', 50, { key: 'k' })]);
    const [grant, again] = (await two.letGo()).map(granted);
    expect(again).toMatchObject({ replayed: true, reservation: { id: grant?.reservation.id } });
    expect(await heldMicros(world)).toBe(50n);
  });

  it('goes on and on, and what has ended still leaves memory', async () => {
    const world = await new LaneWorld({ batchCountMax: 4 }).open(['t'], 1_000_000);
    const { make } = world;
    const cycle = async (): Promise<void> => {
      for (let no = 0; no < 400; no++) {
        const { id } = granted(await world.lane.submit(make.reserve('t', 1))).reservation;
        granted(await world.lane.submit(make.settle(id, 1)));
      }
    };
    await Promise.all(Array.from({ length: 8 }, cycle));
    expect(world.lane.cache.peek('t' as never)?.state.counts().reservations).toBeLessThanOrEqual(2_010);
    expect(await heldMicros(world)).toBe(0n);
  }, 30_000);
});

describe('with the first', () => {
  it('that lost a race, it is decided again, behind it', async () => {
    const two = await twoUnderWay();
    const answers = await two.letGo(conflict);
    expect(answers.map(kindOf)).toEqual(['reservation', 'reservation', 'CAPACITY_HELD']);
    expect(two.world.loads).toHaveLength(1);
    expect(await heldMicros(two.world)).toBe(80n);
  });

  it('it is taken back in every tree that it touched', async () => {
    const world = await new LaneWorld({ batchCountMax: 2 }).open(['t', 'u']);
    const elsewhere = { ...new Commands('u').reserve('u', 40), treeId: 'u' as never };
    const seconds = [world.make.reserve('t', 30), elsewhere];
    const two = await new TwoUnderWay(world, world.make.reserve('t', 50)).begin(seconds);
    expect((await two.letGo(conflict)).map(kindOf)).toEqual(['reservation', 'reservation', 'reservation']);
    expect(await heldMicros(world)).toBe(80n);
    expect(world.lane.cache.peek('u' as never)?.state.budgetAt('u' as never)?.counters[0]?.heldMicros).toBe(40n);
  });

  it('that lost five races, it does not share the blame', async () => {
    const two = await twoUnderWay();
    two.world.appendFates.push(conflict, conflict, conflict, conflict);
    const answers = await two.letGo(conflict);
    expect(kindOf(answers[0] as Answer)).toBe('CONTENTION');
    expect(answers.slice(1).map(kindOf)).toEqual(['reservation', 'reservation']);
  });

  it('whose key was known, it is decided again without its effect', async () => {
    const world = await new LaneWorld({ batchCountMax: 2 }).open();
    const { make } = world;
    const known = granted(await world.lane.submit(make.reserve('t', 20, { key: 'k' }))).reservation.id;
    await world.project();
    world.lane.cache.peek('t' as never)?.state.evictRemembered(0);
    world.appends.length = 0;
    const again = new TwoUnderWay(world, make.reserve('t', 20, { key: 'k' }));
    const two = await again.begin([make.reserve('t', 70), make.reserve('t', 10)]);
    const answers = await two.letGo();
    expect(granted(answers[0] as Answer)).toMatchObject({ replayed: true, reservation: { id: known } });
    expect(answers.slice(1).map(kindOf)).toEqual(['reservation', 'reservation']);
    expect(await heldMicros(world)).toBe(100n);
  });

  it('that was fenced, nothing of it is written', async () => {
    const two = await twoUnderWay();
    const answers = await two.letGo(() => Promise.resolve({ outcome: 'fenced' }));
    expect(answers.map(kindOf)).toEqual(['NOT_LEADER', 'NOT_LEADER', 'NOT_LEADER']);
    expect(await two.world.memory.readEntries('t' as never, 0, 99)).toHaveLength(1);
    expect(two.world.fencedCount).toBe(1);
  });

  it('whose outcome is never known, it is refused as well, and memory is what the journal says', async () => {
    const two = await twoUnderWay();
    const { world } = two;
    const all = two.letGo(async (real) => {
      await real();
      world.memory.faults.isDown = true;
      throw new StoreUnavailableError('cut');
    });
    await world.time.elapse(10_000);
    expect((await all).map(kindOf)).toEqual(Array(3).fill('STORE_UNAVAILABLE'));
    world.memory.faults.isDown = false;
    await world.time.elapse(200);
    expect(await heldMicros(world)).toBe(50n);
  });

  it('whose answer was lost, it waits for the outcome and then goes on', async () => {
    const two = await twoUnderWay();
    const all = two.letGo(async (real) => {
      await real();
      throw new StoreUnavailableError('cut');
    });
    await two.world.time.elapse(200);
    expect((await all).map(kindOf)).toEqual(['reservation', 'reservation', 'CAPACITY_HELD']);
    expect(two.world.appends.map(({ batch }) => batch[0]?.expected.seq)).toEqual([1, 1, 2]);
    expect(await heldMicros(two.world)).toBe(80n);
  });

  it('that failed by a fault, it is decided again without it', async () => {
    const two = await twoUnderWay();
    const told = Promise.allSettled(two.answers);
    two.letGo(() => Promise.reject(new Error('poisoned'))).catch(() => undefined);
    const [first, ...rest] = await told;
    expect(first).toMatchObject({ status: 'rejected', reason: new Error('poisoned') });
    expect(rest.map((each) => each.status === 'fulfilled' && kindOf(each.value))).toEqual([
      'reservation',
      'reservation',
    ]);
    expect(await heldMicros(two.world)).toBe(70n);
  });

  it('committed by a leader that is one no more, it is not sent under the next epoch', async () => {
    const two = await twoUnderWay();
    const { world } = two;
    const all = two.letGo(async (real) => {
      const result = await real();
      world.memory.database.lease = { ...world.memory.database.lease, epoch: 2 };
      world.epoch = 2;
      world.lane.reset();
      return result;
    });
    expect((await all).map(kindOf)).toEqual(['reservation', 'reservation', 'CAPACITY_HELD']);
    // Decided on what was loaded by the leader that it is now.
    expect([world.loads.length, world.appends.map(({ epoch }) => epoch)]).toEqual([1, [1, 2]]);
    expect(await heldMicros(world)).toBe(80n);
  });
});

describe('a fault of its own', () => {
  it('fails it in its turn, and not the first', async () => {
    const world = await new LaneWorld({ batchCountMax: 2 }).open();
    const { make } = world;
    // No store can hold such a text: the batch can't even be made ready.
    const bad = { ...make.reserve('t', 30), holder: '\0' };
    const two = await new TwoUnderWay(world, make.reserve('t', 50)).begin([bad, make.reserve('t', 40)]);
    const told = Promise.allSettled(two.answers);
    two.letGo().catch(() => undefined);
    expect((await told).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await heldMicros(world)).toBe(90n);
  });

  it('loses a race alone', async () => {
    const two = await twoUnderWay();
    two.world.appendFates.push(conflict);
    expect((await two.letGo()).map(kindOf)).toEqual(['reservation', 'reservation', 'CAPACITY_HELD']);
    expect(await heldMicros(two.world)).toBe(80n);
  });
});

describe('a fault after the commit of the first', () => {
  it('fails its callers alone, and memory is what the journal says', async () => {
    const two = await twoUnderWay();
    const { world } = two;
    const tree = world.lane.cache.peek('t' as never);
    if (tree === undefined) throw new Error('the tree is not in memory');
    const broken = new Error('broken');
    Object.defineProperty(tree, 'committed', {
      value: () => {
        // The next commit finds the class's own again.
        Reflect.deleteProperty(tree, 'committed');
        throw broken;
      },
      configurable: true,
    });
    const told = Promise.allSettled(two.answers);
    two.letGo().catch(() => undefined);
    expect((await told)[0]).toMatchObject({ status: 'rejected', reason: broken });
    expect(kindOf(await world.lane.submit(world.make.reserve('t', 1)))).toBe('reservation');
    expect(refused(await world.lane.submit(world.make.getReservation('absent0000'))).reason).toBe(
      'RESERVATION_NOT_FOUND',
    );
    expect(await heldMicros(world)).toBe(81n);
    expect(world.logged).toContain('the lane failed');
  });
});

describe('is not decided ahead', () => {
  /** A first batch under way, and as many commands waiting as a batch takes. */
  async function waiting(world: LaneWorld, first: Command): Promise<{ letGo: () => void; all: Promise<Answer[]> }> {
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const answers = [world.lane.submit(first)];
    await settleAll();
    for (let no = 0; no < 2; no++) answers.push(world.lane.submit(world.make.reserve('t', 1)));
    await settleAll();
    return { letGo: append.letGo, all: Promise.all(answers) };
  }

  it('while records have come that can only be taken in between batches', async () => {
    const world = await new LaneWorld({ batchCountMax: 2 }).open();
    const load = held<Loaded>();
    world.loadFates.push(load.fate);
    const missing = world.lane.submit(world.make.getReservation('absent0000'));
    await settleAll();
    const append = held<AppendResult>();
    world.appendFates.push(append.fate);
    const answers = [world.lane.submit(world.make.reserve('t', 1))];
    await settleAll();
    load.letGo();
    await settleAll();
    for (let no = 0; no < 2; no++) answers.push(world.lane.submit(world.make.reserve('t', 1)));
    await settleAll();
    expect([world.appends.length, world.lane.depth]).toEqual([1, 3]);
    append.letGo();
    expect((await Promise.all(answers)).map(kindOf)).toEqual(Array(3).fill('reservation'));
    expect(refused(await missing).reason).toBe('RESERVATION_NOT_FOUND');
  });

  it('while the first records more lapses than one batch takes: who waits for the rest comes first', async () => {
    const world = await new LaneWorld({ batchCountMax: 2 }).open(['t'], 1_000_000);
    for (let no = 0; no < 1_001; no++) granted(await world.lane.submit(world.make.reserve('t', 1, { ttlMs: 1_000 })));
    world.appends.length = 0;
    world.nowMs += 5_000;
    const { letGo, all } = await waiting(world, world.make.reserve('t', 7));
    expect([world.appends.length, world.lane.depth]).toEqual([1, 2]);
    letGo();
    expect((await all).map(kindOf)).toEqual(Array(3).fill('reservation'));
    expect(await heldMicros(world)).toBe(9n);
  });

  it('where fewer wait than a batch takes: they go on gathering', async () => {
    const world = await new LaneWorld({ batchCountMax: 3 }).open();
    const { letGo, all } = await waiting(world, world.make.reserve('t', 7));
    expect([world.appends.length, world.lane.depth]).toEqual([1, 2]);
    letGo();
    await all;
    expect(world.appends).toHaveLength(2);
  });
});
