// One writer at a time: who holds the lease leads, who loses it is told, and nobody names the wrong leader.
import { describe, expect, it } from 'vitest';
import { Writer } from '../../../src/lane/writer.ts';
import { MemoryDatabase } from '../../../src/store/memory-database.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { ManualTime } from '../../support/manual-time.ts';

function rivals() {
  const time = new ManualTime();
  const database = new MemoryDatabase();
  const writer = (name: string) => {
    const store = createMemoryStore({ database, nowMs: time.nowMs });
    const told: string[] = [];
    const each = new Writer({
      store,
      holder: name,
      address: `${name}:1`,
      storeClock: undefined,
      log: () => undefined,
      onLead: (epoch) => told.push(`leads ${epoch}`),
      onLost: () => told.push('lost'),
      monotonicMs: time.nowMs,
      sleep: time.sleep,
    });
    return { writer: each, told, store };
  };
  return { time, a: writer('a'), b: writer('b') };
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
    a.writer.fenced();
    a.writer.fenced();
    expect([a.writer.epoch, a.writer.leaderAddress, a.told]).toEqual([undefined, '', ['leads 1', 'lost']]);
    await b.writer.start();
    await time.elapse(1_500);
    expect(a.writer.leaderAddress).not.toBe('');
  });

  it('gives the lease back when it stops, and the next one has it at once', async () => {
    const { time, a, b } = rivals();
    await a.writer.start();
    const stopped = a.writer.stop();
    await time.elapse(1_500);
    await stopped;
    await b.writer.start();
    expect(b.writer.epoch).toBe(2);
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
