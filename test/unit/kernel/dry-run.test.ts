// A dry run reads and sets no key (DESIGN, promise 3): it answers as the real thing would and leaves no trace.
import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

describe('a dry run', () => {
  it.each([
    ['granted', 60, 60],
    ['granted in part', 300, 10],
  ])('that would be %s answers the same and writes nothing', (_, max, min) => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    const before = driver.balances('t');
    const dry = driver.decide(driver.make.reserve('t', max, { min, dryRun: true, id: 'same000000' }));
    expect(dry.entries).toEqual([]);
    const real = driver.decide(driver.make.reserve('t', max, { min, id: 'same000000' }));
    expect(dry.answer).toEqual({ ...real.answer, dryRun: true });
    expect(granted(dry.answer)).toMatchObject({ dryRun: true, replayed: false });
    expect(driver.balances('t')).toEqual(before);
  });

  it.each([
    ['EXCEEDS_LIMIT', 101],
    ['CAPACITY_HELD', 60],
  ])('that would be refused with %s is, and writes nothing', (reason, max) => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.hold('t', 50);
    const { answer, entries } = driver.decide(driver.make.reserve('t', max, { dryRun: true }));
    expect(refused(answer)).toMatchObject({ reason });
    expect(entries).toEqual([]);
  });
});
