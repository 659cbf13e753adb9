// Callers that wait in the queue of a tree of a lane in memory, and what is written of them.
import { afterEach, beforeEach, vi } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import { granted } from './kernel-driver.ts';
import { LaneWorld } from './lane-world.ts';
import { settle } from './manual-time.ts';

/** How a caller asks. */
export interface CallerOptions {
  readonly key?: string;
  readonly waitMs?: number;
  readonly ttlMs?: number;
}

/** One whose Reserve may wait. */
export class Caller {
  readonly gone = new AbortController();
  readonly command;
  readonly answering: Promise<Answer>;
  answer: Answer | undefined;
  readonly #world: LaneWorld;

  constructor(world: LaneWorld, max: number, options: CallerOptions) {
    this.#world = world;
    this.command = world.make.reserve('t', max, { waitMs: 60_000, ...options });
    this.answering = this.#ask();
  }

  async #ask(): Promise<Answer> {
    this.answer = await this.#world.lane.submit(this.command, this.gone.signal);
    return this.answer;
  }

  again(signal?: AbortSignal): Promise<Answer> {
    return this.#world.lane.submit(this.#world.make.again(this.command), signal);
  }
}

/** A lane with callers; its timers are vitest's. */
export class WaitingWorld extends LaneWorld {
  #keyCount = 0;

  call(max: number, options: CallerOptions = {}): Caller {
    this.#keyCount += 1;
    return new Caller(this, max, { key: `k${this.#keyCount}`, ...options });
  }

  /** One that is in the queue by then. */
  async wait(max: number, options?: CallerOptions): Promise<Caller> {
    const caller = this.call(max, options);
    await settle();
    if (caller.answer !== undefined) throw new Error('it does not wait');
    return caller;
  }

  async hold(max: number): Promise<string> {
    return granted(await this.lane.submit(this.make.reserve('t', max))).reservation.id;
  }

  release(id: string): Promise<Answer> {
    return this.lane.submit(this.make.release(id));
  }

  /** Lets the coordinator's clock, and the timers, run. */
  async elapse(ms: number): Promise<void> {
    this.nowMs += ms;
    await vi.advanceTimersByTimeAsync(250);
    await settle();
  }

  async typesWritten(): Promise<Entry['type'][]> {
    return (await this.memory.readEntries('t' as never, 1, 999)).map(({ type }) => type);
  }
}

/** Makes a world for each test of a file, with a tree, and timers that the test lets run; puts back what the test replaced. */
export function worldForEach(take: (world: WaitingWorld) => void): void {
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const world = new WaitingWorld();
    await world.open();
    take(world);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}
