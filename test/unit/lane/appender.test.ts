import { describe, expect, it } from 'vitest';
import { Appender } from '../../../src/lane/appender.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { type AppendResult, StoreUnavailableError } from '../../../src/store/port.ts';
import { ManualTime } from '../../support/manual-time.ts';

const down = () => Promise.reject(new StoreUnavailableError('cut'));
const fault = () => Promise.reject(new Error('permission denied'));
const fine = (): Promise<AppendResult> => Promise.resolve({ outcome: 'committed', heads: [] });

function withFates(...fates: readonly (() => Promise<AppendResult>)[]) {
  const time = new ManualTime();
  const left = [...fates];
  const store = { ...createMemoryStore(), append: () => (left.shift() ?? fine)() };
  const logged: string[] = [];
  const log = (_: string, message: string) => logged.push(message);
  const appender = new Appender({ store, log, epoch: () => 1, monotonicMs: time.nowMs, sleep: time.sleep });
  return { appender, time, left, logged };
}

describe('looking for a store that is down', () => {
  it('goes on until it answers', async () => {
    const { appender, time } = withFates(down, down, down);
    appender.readFailed();
    appender.readFailed();
    await time.elapse(300);
    expect([appender.storeDown, time.sleeperCount]).toEqual([true, 1]);
    await time.elapse(100);
    expect([appender.storeDown, time.sleeperCount]).toEqual([false, 0]);
  });

  it('does not end with nobody let in for ever, where the store answers with a fault', async () => {
    const { appender, time, logged } = withFates(down, fault);
    appender.readFailed();
    await time.elapse(200);
    expect(appender.storeDown).toBe(false);
    expect(logged).toContain('the store answers with a fault');
  });

  it('ends when stopped', async () => {
    const { appender, time } = withFates(down, down, down, down, down);
    appender.readFailed();
    await time.elapse(100);
    appender.stop();
    await time.elapse(1_000);
    expect(time.sleeperCount).toBe(0);
  });
});

describe('append', () => {
  it('that fails after an outage leaves the door open', async () => {
    const { appender, time } = withFates(down, fault);
    const append = expect(appender.append(1, [])).rejects.toThrow('permission denied');
    await time.elapse(100);
    await append;
    expect(appender.storeDown).toBe(false);
  });

  it('gives up after four seconds, and then looks for the store', async () => {
    const { appender, time } = withFates(...Array.from({ length: 45 }, () => down));
    const append = expect(appender.append(1, [])).rejects.toThrow(StoreUnavailableError);
    await time.elapse(3_900);
    expect(time.sleeperCount).toBe(1);
    await time.elapse(200);
    await append;
    expect(appender.storeDown).toBe(true);
    await time.elapse(1_000);
    expect(appender.storeDown).toBe(false);
  });
});
