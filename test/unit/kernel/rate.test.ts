import { describe, expect, it } from 'vitest';
import { fillMs, levelAt, type RateDef, type RateInput, unitsAt } from '../../../src/kernel/rate.ts';
import { decodeEntries, encodeEntries } from '../../../src/store/entry-codec.ts';
import { budgetOf, KernelDriver, refused } from '../../support/kernel-driver.ts';
import { DAY_MS, MINUTE_MS } from '../../support/windows.ts';

const perMinute = (kind: RateInput['kind'], count: number, burst = count): RateInput => ({
  kind,
  count,
  perMs: MINUTE_MS,
  burst,
});

function withRates(...rates: readonly RateInput[]): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { uncapped: true, rates }));
  return driver;
}

type Use = Parameters<KernelDriver['make']['reserve']>[2];
const reserve = (driver: KernelDriver, use: Use = {}) => driver.run(driver.make.reserve('t', 1, use));
const left = (driver: KernelDriver, budget = 't') =>
  budgetOf(driver.run(driver.make.getBudget(budget))).rates.map(({ availableCount }) => availableCount);

describe('a rate', () => {
  it('lets a burst through, then as many as come back, each at its millisecond', () => {
    const driver = withRates(perMinute('requests', 2, 3));
    for (let i = 0; i < 3; i += 1) driver.hold('t', 1);
    expect(refused(reserve(driver))).toMatchObject({
      reason: 'RATE_LIMITED',
      budget: 't',
      rate: { kind: 'requests', count: 2, perMs: MINUTE_MS, burst: 3, availableCount: 0, requestedCount: 1 },
      retryAfterMs: 30_000,
    });
    driver.advance(29_999);
    expect(refused(reserve(driver)).retryAfterMs).toBe(1);
    driver.advance(1);
    driver.hold('t', 1);
    expect(refused(reserve(driver)).retryAfterMs).toBe(30_000);
  });

  it('that takes longer to fill than a number tells is refused with the longest wait, and its refusal can be read again', () => {
    const most = 1_000_000_000_000;
    const driver = withRates({ kind: 'tokens', count: 1, perMs: DAY_MS, burst: most });
    driver.run(driver.make.reserve('t', 1, { tokens: most }));
    const refusal = refused(reserve(driver, { tokens: most }));
    expect(refusal).toMatchObject({ reason: 'RATE_LIMITED', retryAfterMs: Number.MAX_SAFE_INTEGER });
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Refused', refusal });
    expect(decodeEntries(encodeEntries(driver.journal), () => undefined)).toEqual(driver.journal);
  });

  it('never holds more than its burst', () => {
    const driver = withRates(perMinute('requests', 60, 2));
    driver.hold('t', 1);
    driver.advance(DAY_MS);
    expect(left(driver)).toEqual([2]);
    driver.hold('t', 1);
    driver.hold('t', 1);
    expect(refused(reserve(driver)).reason).toBe('RATE_LIMITED');
  });

  it('loses nothing to rounding: seven in a minute are seven in a minute', () => {
    const rate: RateDef = { ...perMinute('requests', 7, 7), no: 1 };
    for (let ms = 0; ms <= MINUTE_MS; ms += 1) {
      expect(unitsAt(rate, levelAt(rate, [{ no: 1, level: 0n, atMs: 0 }], ms))).toBe(Math.floor((7 * ms) / MINUTE_MS));
    }
    // A seventh of a minute is no whole number of milliseconds: the wait is rounded up, so that it is enough.
    expect(fillMs(rate, 0n, 1)).toBe(8_572);
    expect(fillMs(rate, 60_000n, 1)).toBe(0);
  });

  it('weighs what a call says it will use, and lets one that uses nothing of it pass', () => {
    const driver = withRates(perMinute('tokens', 1_000), perMinute('tool_calls', 2));
    driver.hold('t', 1, { tokens: 900, toolCalls: 1 });
    expect(refused(reserve(driver, { tokens: 200 }))).toMatchObject({
      reason: 'RATE_LIMITED',
      rate: { kind: 'tokens', availableCount: 100, requestedCount: 200 },
      retryAfterMs: 6_000,
    });
    driver.hold('t', 1, { tokens: 100, toolCalls: 1 });
    driver.hold('t', 1);
    expect(refused(reserve(driver, { toolCalls: 1 })).rate?.kind).toBe('tool_calls');
    expect(left(driver)).toEqual([0, 0]);
  });

  it('refuses for ever what is above its burst', () => {
    const driver = withRates(perMinute('tokens', 1_000));
    const refusal = refused(reserve(driver, { tokens: 1_001 }));
    expect(refusal).toMatchObject({
      reason: 'EXCEEDS_LIMIT',
      budget: 't',
      rate: { burst: 1_000, requestedCount: 1_001 },
    });
    expect(refusal.retryAfterMs).toBeUndefined();
    driver.hold('t', 1, { tokens: 1_000 });
  });

  it('acts at every level, names what takes longest, and is used at all levels or at none', () => {
    const driver = withRates(perMinute('requests', 1, 2));
    driver.run(driver.make.create('t/a', { uncapped: true, rates: [perMinute('requests', 6, 2)] }));
    driver.hold('t/a', 1);
    driver.hold('t', 1);
    const refusal = refused(driver.run(driver.make.reserve('t/a', 1)));
    expect(refusal).toMatchObject({ reason: 'RATE_LIMITED', budget: 't', retryAfterMs: MINUTE_MS });
    expect(left(driver, 't/a')).toEqual([1]);
    driver.advance(MINUTE_MS);
    driver.hold('t/a', 1);
    expect([left(driver), left(driver, 't/a')]).toEqual([[0], [1]]);
  });

  it('is not used by what is refused, by a dry run, or by a repeat', () => {
    const driver = withRates(perMinute('requests', 2));
    driver.run(driver.make.update('t', { limits: 10 }));
    expect(refused(driver.run(driver.make.reserve('t', 11))).reason).toBe('EXCEEDS_LIMIT');
    reserve(driver, { dryRun: true });
    expect(left(driver)).toEqual([2]);
    const command = driver.make.reserve('t', 1, { key: 'k' });
    driver.run(command);
    driver.run(driver.make.again(command));
    expect(left(driver)).toEqual([1]);
  });

  it('is not asked by Extend, Renew and Settle', () => {
    const driver = withRates(perMinute('requests', 1), perMinute('tokens', 1));
    const id = driver.hold('t', 1, { tokens: 1 });
    for (const command of [driver.make.extend(id, 1), driver.make.renew(id, MINUTE_MS), driver.make.settle(id, 1)]) {
      expect(driver.run(command).kind).not.toBe('refusal');
    }
  });

  it('mints nothing when the clock goes back', () => {
    const rate: RateDef = { ...perMinute('requests', 60, 60), no: 1 };
    expect(levelAt(rate, [{ no: 1, level: 7n, atMs: 1_000 }], 0)).toBe(7n);
  });

  it('keeps what was used through an edit of the same kind and time, and no other', () => {
    const driver = withRates(perMinute('requests', 4));
    driver.hold('t', 1);
    driver.hold('t', 1);
    const edit = (...rates: readonly RateInput[]) => driver.run(driver.make.update('t', { rates }));
    edit(perMinute('requests', 4, 9));
    expect(left(driver)).toEqual([2]);
    edit(perMinute('requests', 4, 1));
    expect(left(driver)).toEqual([1]);
    edit();
    expect(driver.state.budgetAt('t' as never)?.rateLevels).toEqual([]);
    edit(perMinute('requests', 4));
    expect(left(driver)).toEqual([4]);
    expect(driver.state.budgetAt('t' as never)?.def.rates).toMatchObject([{ no: 2 }]);
  });

  it('that is edited has filled until then as it was: an edit mints nothing, and takes nothing away', () => {
    const driver = withRates(perMinute('requests', 6, 10));
    const edit = (rate: RateInput) => driver.run(driver.make.update('t', { rates: [rate] }));
    for (let use = 0; use < 10; use++) reserve(driver);
    // Full again for an hour when more may be held: no more than 10 were ever there.
    driver.advance(60 * MINUTE_MS);
    reserve(driver);
    driver.advance(60 * MINUTE_MS);
    edit(perMinute('requests', 6, 1_000));
    expect(left(driver)).toEqual([10]);
    // Half a minute at 6, then half a minute at 600.
    driver.advance(MINUTE_MS / 2);
    edit(perMinute('requests', 600, 1_000));
    expect(left(driver)).toEqual([13]);
    driver.advance(MINUTE_MS / 2);
    expect(left(driver)).toEqual([313]);
    // What came at 600 stays when less comes from then on.
    edit(perMinute('requests', 1, 1_000));
    expect(left(driver)).toEqual([313]);
    edit(perMinute('requests', 1, 5));
    edit(perMinute('requests', 1, 1_000));
    expect(left(driver)).toEqual([5]);
  });
});
