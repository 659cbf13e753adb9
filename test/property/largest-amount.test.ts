// EXCEEDS_LIMIT tells the largest amount that can be granted as the budgets stand, to the micro-unit: with nothing used a Reserve of just that is
// granted, one of a micro-unit more is refused for it and tells the same, whatever keeps something back on the way.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Mode, Priority } from '../../src/kernel/enforcement.ts';
import { MICROS_MAX } from '../../src/kernel/money.ts';
import { rollingRule, type WindowRule } from '../../src/kernel/window.ts';
import { KernelDriver } from '../support/kernel-driver.ts';
import { HOUR_MS } from '../support/windows.ts';

const PATHS = ['t', 't/a', 't/b', 't/a/x', 't/c'] as const;
const CLASSES: readonly Priority[] = ['background', 'normal', 'interactive', 'critical'];
const RULES: readonly WindowRule[] = [
  { kind: 'lifetime' },
  { kind: 'calendar', unit: 'day', timeZone: 'UTC' },
  rollingRule(HOUR_MS),
];

// Up to the largest that can be counted, and a few: then what is kept is often more than there is.
const micros = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt(0n, 150n) },
  { weight: 1, arbitrary: fc.bigInt(MICROS_MAX - 9n, MICROS_MAX) },
);
const terms = fc.record({
  limits: fc.dictionary(fc.constantFrom('x', 'y'), fc.record({ amount: micros, rule: fc.constantFrom(...RULES) }), {
    maxKeys: 2,
  }),
  enforcement: fc.record({
    mode: fc.constantFrom<Mode[]>('enforce', 'enforce', 'enforce', 'soft', 'observe', 'warn'),
    toleranceMicros: micros,
    kept: fc.oneof(
      fc.constant([]),
      fc
        .record({ priority: fc.constantFrom<Priority[]>('normal', 'interactive', 'critical'), micros })
        .map((kept) => [kept]),
    ),
  }),
  floor: fc.oneof(fc.constant(0n), fc.bigInt(0n, 60n)),
  share: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined, freq: 2 }),
});
const request = fc.record({
  paths: fc.uniqueArray(fc.constantFrom(...PATHS), { minLength: 1, maxLength: 3 }),
  priority: fc.constantFrom(...CLASSES),
});

it('is the largest that fits, to the micro-unit', () => {
  const seen = { told: 0, nothing: 0, kept: 0 };
  fc.assert(
    fc.property(
      fc.tuple(...PATHS.map(() => terms)),
      fc.array(request, { minLength: 1, maxLength: 6 }),
      (all, requests) => {
        const driver = new KernelDriver();
        for (const [i, path] of PATHS.entries()) {
          const { floor, share, ...rest } = all[i] as (typeof all)[number];
          const own = { ...rest, uncapped: true };
          const stated = path === 't' ? own : { ...own, floor, ...(share === undefined ? {} : { share }) };
          // One that asks for more floors than there are is made without.
          if (driver.run(driver.make.create(path, stated)).kind !== 'budget') driver.run(driver.make.create(path, own));
        }
        for (const { paths, priority } of requests) {
          const [path = 't', ...also] = paths;
          const ask = (max: bigint) => driver.decide(driver.make.reserve(path, max, { also, priority })).answer;
          const most = ask(MICROS_MAX);
          if (most.kind !== 'refusal') continue;
          const { largestMicros: largest = -1n, failing = [] } = most;
          expect(most.reason).toBe('EXCEEDS_LIMIT');
          expect(ask(largest)).toMatchObject({ reservation: { figures: { grantedMicros: largest } } });
          expect(ask(largest + 1n)).toMatchObject({ reason: 'EXCEEDS_LIMIT', largestMicros: largest });
          seen.told += 1;
          if (largest === 0n) seen.nothing += 1;
          if (failing.every(({ amountMicros }) => amountMicros > largest)) seen.kept += 1;
        }
      },
    ),
    { numRuns: 500 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
