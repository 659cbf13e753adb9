// One writer at a time: who holds the lease leads, who loses it is told, and nobody names the wrong leader.
import { describe, expect, it } from 'vitest';
import { StoreClock } from '../../../src/lane/clock.ts';
import { Writer } from '../../../src/lane/writer.ts';
import { MemoryDatabase } from '../../../src/store/memory-database.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { ManualTime } from '../../support/manual-time.ts';

function rivals() {
  const time = new ManualTime();
  const database = new MemoryDatabase();
  /** How far the database's clock is ahead of the processes' monotonic one. */
  const world = { aheadMs: 0 };
  const writer = (name: string) => {
    const store = createMemoryStore({ database, nowMs: () => time.nowMs() + world.aheadMs });
    const told: string[] = [];
    const gaps: number[] = [];
    const logged: string[] = [];
    const storeClock = new StoreClock(time.nowMs, (_, message) => logged.push(message));
    const each = new Writer({
      store,
      holder: name,
      address: `${name}:1`,
      storeClock,
      log: (_, message) => logged.push(message),
      onLead: (epoch, gapMs) => {
        told.push(`leads ${epoch}`);
        gaps.push(gapMs);
      },
      onLost: () => told.push('lost'),
      monotonicMs: time.nowMs,
      sleep: time.sleep,
    });
    return { writer: each, told, store, logged, storeClock, gaps };
  };
  return { time, world, database, a: writer('a'), b: writer('b') };
}

describe('Writer', () => {
  it('takes a free lease, keeps it, and is named by the other', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    await time.elapse(60_000);
    expect([a.writer.epoch, b.writer.epoch]).toEqual([1, undefined]);
    expect([a.told, b.told]).toEqual([['leads 1'], []]);
    expect(b.writer.leaderAddress).toBe('a:1');
  });

  it('takes over when the other can no longer renew, which is told so when it comes back', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    a.store.faults.isDown = true;
    await time.elapse(4_500);
    expect(b.writer.epoch).toBeUndefined();
    await time.elapse(3_000);
    expect([b.writer.epoch, b.told]).toEqual([2, ['leads 2']]);
    a.store.faults.isDown = false;
    await time.elapse(1_500);
    expect([a.writer.epoch, a.told]).toEqual([undefined, ['leads 1', 'lost']]);
    expect(a.writer.leaderAddress).toBe('b:1');
  });

  it('that an append found fenced names nobody until it knows', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    a.writer.fenced(1);
    a.writer.fenced(1);
    expect([a.writer.epoch, a.writer.leaderAddress, a.told]).toEqual([undefined, '', ['leads 1', 'lost']]);
    await b.writer.start();
    await time.elapse(1_500);
    expect(a.writer.leaderAddress).not.toBe('');
  });

  it('that was fenced under an epoch keeps a later one', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    a.writer.fenced(1);
    await time.elapse(6_500);
    expect(a.writer.epoch).toBe(2);
    a.writer.fenced(1);
    expect([a.writer.epoch, a.told]).toEqual([2, ['leads 1', 'lost', 'leads 2']]);
    await b.writer.start();
    expect(b.writer.leaderAddress).toBe('a:1');
  });

  it('gives the lease back when it stops, and a standby has it within half a second', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    await time.elapse(700);
    // No time passes: a stop waits for no round.
    await a.writer.stop();
    await time.elapse(500);
    expect(b.writer.epoch).toBe(2);
  });

  it('that is killed is replaced within its lease and half a second', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    await time.elapse(1_600);
    a.store.faults.isDown = true;
    await time.elapse(6_400);
    expect(b.writer.epoch).toBe(2);
  });

  it('renews again and again while its lease still runs, and so outlives a store that is away for long', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    // The last renewal was at 1.5 s; the lease runs until 7.5 s.
    await time.elapse(1_600);
    a.store.faults.isDown = true;
    await time.elapse(5_700);
    a.store.faults.isDown = false;
    await time.elapse(10_000);
    expect([a.writer.epoch, b.writer.epoch, a.told]).toEqual([1, undefined, ['leads 1']]);
    expect(a.logged.filter((message) => /renewed/.test(message)).length).toBeLessThan(10);
  });

  it('that stands by says so once for each leader', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    await time.elapse(30_000);
    expect(b.logged).toHaveLength(1);
    expect(b.logged[0]).toMatch(/another process holds the writer lease/);
  });

  it('stops though the lease cannot be given back', async () => {
    const { time, a } = rivals();
    await a.writer.start();
    a.store.faults.isDown = true;
    const stopped = a.writer.stop();
    await time.elapse(1_500);
    await stopped;
    expect(a.writer.epoch).toBeUndefined();
  });
});

describe("a jump of the database's clock", () => {
  it('that lasts ends the epoch after ten looks, and the next one begins by the new time with a gap as long as the jump', async () => {
    const { time, world, a } = rivals();
    await a.writer.start();
    await time.elapse(3_000);
    world.aheadMs = 3_600_000;
    await time.elapse(13_500);
    expect([a.writer.epoch, a.storeClock.nowMs()]).toEqual([1, 16_500]);
    await time.elapse(1_500);
    expect([a.writer.epoch, a.told]).toEqual([2, ['leads 1', 'lost', 'leads 2']]);
    expect(a.storeClock.nowMs()).toBe(3_618_000);
    expect(a.gaps).toEqual([0, 3_600_000]);
    expect(a.logged.filter((message) => /tied anew/.test(message))).toHaveLength(1);
  });

  it('backwards that lasts makes the time stand still, never go back', async () => {
    const { time, world, a } = rivals();
    world.aheadMs = 3_600_000;
    await a.writer.start();
    await time.elapse(3_000);
    world.aheadMs = 3_500_000;
    // By the database's clock the lease runs longer than it should; it is renewed all the same.
    await time.elapse(15_000);
    expect(a.writer.epoch).toBe(2);
    expect(a.storeClock.nowMs()).toBe(3_618_000);
    await time.elapse(100_000);
    expect(a.storeClock.nowMs()).toBe(3_618_000);
    await time.elapse(1);
    expect(a.storeClock.nowMs()).toBe(3_618_001);
  });

  it('is followed at once by who does not lead', async () => {
    const { time, world, a, b } = rivals();
    await a.writer.start();
    await b.writer.start();
    world.aheadMs = -3_600_000;
    await time.elapse(500);
    expect(b.storeClock.refusedJumpMs).toBe(0);
    expect(a.logged.concat(b.logged).filter((message) => /jumped/.test(message))).toEqual([]);
  });
});
