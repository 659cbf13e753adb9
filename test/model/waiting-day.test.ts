// A day of ten thousand runs of tenants of very different sizes on the lane, against a model that keeps one list and sorts it each time.
// And the leader goes with thousands waiting: the next one goes on where it was.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Command } from '../../src/kernel/command.ts';
import { expireCommand } from '../../src/lane/expire-command.ts';
import { expectAudited } from '../support/audited-lane.ts';
import { granted } from '../support/kernel-driver.ts';
import { LaneWorld } from '../support/lane-world.ts';
import { settle } from '../support/manual-time.ts';
import { NaiveDay, type Run, runsOfDay } from '../support/naive-day.ts';
import { per } from '../support/windows.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const RUN_COUNT = 10_000;
const TREE = 't' as never;

class Day {
  readonly model: NaiveDay;
  readonly #world: LaneWorld;
  /** Of runs that were granted something, first come first. */
  readonly #ends: { readonly atMs: number; readonly no: number; readonly id: string; readonly actual: number }[] = [];
  readonly #answering: Promise<void>[] = [];
  /** What each run was told: an amount, or a reason. */
  readonly told = new Map<number, string>();

  constructor(world: LaneWorld, model: NaiveDay) {
    this.#world = world;
    this.model = model;
  }

  async begin(run: Run): Promise<void> {
    const { make, lane } = this.#world;
    const { no, tenant, max, min, priority, waitMs } = run;
    this.model.begin(run, this.#world.nowMs);
    const asked = { min, priority, waitMs, key: `run ${no}`, ttlMs: 86_400_000 };
    const answering = lane.submit(make.reserve(`t/${tenant}`, max, asked));
    this.#answering.push(answering.then((answer) => this.#tell(run, answer)));
    await this.#rest();
  }

  /** Resolves when every run was told something. */
  async answered(): Promise<void> {
    await Promise.all(this.#answering);
  }

  /** Ends the runs whose time is over, one after the other. */
  async endThrough(atMs: number): Promise<void> {
    for (let next = this.#ends[0]; next !== undefined && next.atMs <= atMs; next = this.#ends[0]) {
      this.#ends.shift();
      await this.passTo(next.atMs);
      this.model.end(next.no, next.actual, this.#world.nowMs);
      await this.#world.lane.submit(this.#world.make.settle(next.id, next.actual));
      await this.#rest();
    }
  }

  /** Lets time pass up to an instant, stopping wherever the queue has to be looked at. */
  async passTo(atMs: number): Promise<void> {
    const world = this.#world;
    for (;;) {
      const dueMs = world.lane.cache.peek(TREE)?.state.queue?.dueMs ?? Number.POSITIVE_INFINITY;
      if (dueMs > atMs) break;
      world.nowMs = Math.max(world.nowMs, dueMs);
      this.model.look(world.nowMs);
      await world.lane.submit(expireCommand(TREE));
      await this.#rest();
    }
    world.nowMs = atMs;
  }

  #tell({ no, lastsMs, actual }: Run, answer: Answer): void {
    if (answer.kind !== 'reservation') {
      this.told.set(no, answer.kind === 'refusal' ? 'refused' : answer.kind);
      return;
    }
    const { id, figures } = answer.reservation;
    const grantedMicros = Number(figures.grantedMicros);
    const end = { atMs: this.#world.nowMs + lastsMs, no, id, actual: Math.min(actual, grantedMicros) };
    const at = this.#ends.findIndex((each) => each.atMs > end.atMs);
    this.#ends.splice(at === -1 ? this.#ends.length : at, 0, end);
    this.told.set(no, String(grantedMicros));
  }

  // A key that is not known is looked for first.
  async #rest(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await settle();
    if (this.model.told.size !== this.told.size) for (let turn = 0; turn < 10; turn += 1) await settle();
    if (this.model.told.size !== this.told.size) expect(this.told).toEqual(this.model.told);
  }
}

test('ten thousand runs of a day are told what the model tells them, when it does', { timeout: 240_000 }, async () => {
  const world = await new LaneWorld().open([], 0);
  const { make, lane } = world;
  const tenants = Array.from({ length: 12 }, (_, no) => ({ name: `tenant-${no}`, weight: 1 + (no % 3) }));
  await lane.submit(make.create('t', { limits: { hourly: per('hour', 9_000) }, shape: { maxActive: 25 } }));
  for (const { name, weight } of tenants) await lane.submit(make.create(`t/${name}`, { weight }));
  const day = new Day(world, new NaiveDay({ hourly: 9_000n, slots: 25, tenants, ageMs: 60_000 }));
  const runs = runsOfDay({ seed: 20_261_130, count: RUN_COUNT, tenants, startMs: world.nowMs });
  for (const run of runs) {
    await day.endThrough(run.atMs);
    await day.passTo(run.atMs);
    await day.begin(run);
  }
  await day.endThrough(world.nowMs + 86_400_000);
  await day.passTo(world.nowMs + 86_400_000);
  await day.answered();
  expect(day.told).toEqual(day.model.told);
  expect(day.told.size).toBe(RUN_COUNT);
  // The day has had its crowds: many waited, and many in vain.
  expect(day.model.waitedCount).toBeGreaterThan(RUN_COUNT / 10);
  expect([...day.told.values()].filter((each) => each === 'refused').length).toBeGreaterThan(RUN_COUNT / 50);
  await expectAudited(world);
});

test('with thousands waiting the next leader grants in the old order, each once', async () => {
  const world = await new LaneWorld().open(['t'], 100);
  const { make, lane } = world;
  const { id } = granted(await lane.submit(make.reserve('t', 100))).reservation;
  const commands = Array.from({ length: 3_000 }, (_, no) =>
    make.reserve('t', 100, { key: `w${no}`, waitMs: 600_000, priority: no % 3 === 0 ? 'critical' : 'normal' }),
  );
  const first = commands.map((command) => lane.submit(command));
  for (let turn = 0; turn < 60; turn += 1) await settle();
  expect(lane.waitingCount).toBe(3_000);
  world.memory.database.lease = { ...world.memory.database.lease, epoch: 7 };
  await lane.submit(make.getBudget('t'));
  const told = await Promise.all(first);
  expect(told.every((answer) => answer.kind === 'refusal' && answer.reason === 'NOT_LEADER')).toBe(true);
  world.epoch = 7;
  const order: number[] = [];
  let live = id;
  const faults: unknown[] = [];
  const tellAgain = async (command: Command, no: number): Promise<void> => {
    live = granted(await lane.submit(make.again(command))).reservation.id;
    order.push(no);
  };
  commands.toReversed().forEach((command, at) => {
    tellAgain(command, 2_999 - at).catch((error: unknown) => faults.push(error));
  });
  for (let turn = 0; turn < 60; turn += 1) await settle();
  expect(lane.waitingCount).toBe(3_000);
  for (let no = 0; no < 300; no += 1) {
    await lane.submit(make.release(live));
    for (let turn = 0; turn < 3; turn += 1) await settle();
  }
  expect(faults).toEqual([]);
  expect(order).toEqual(Array.from({ length: 300 }, (_, no) => 3 * no));
  await expectAudited(world);
});
