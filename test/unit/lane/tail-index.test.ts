import { expect, it } from 'vitest';
import type { Entry } from '../../../src/kernel/entry.ts';
import type { BudgetPath, ReservationId } from '../../../src/kernel/names.ts';
import { TailIndex } from '../../../src/lane/tail-index.ts';
import { KernelDriver } from '../../support/kernel-driver.ts';

it('finds what touches a record, each entry once and in order, also those that came later', () => {
  const driver = new KernelDriver();
  const { make } = driver;
  driver.run(make.create('t', { limits: 1_000 }));
  driver.run(make.create('t/a', { limits: 100 }));
  const index = new TailIndex();
  index.extend(driver.journal);
  driver.run(make.create('t/b', { limits: 100 }));
  const [a, b] = [driver.hold('t/a', 1, { ttlMs: 1_000 }), driver.hold('t/b', 1, { ttlMs: 1_000 })];
  driver.run(make.topUp('t/a', 5));
  driver.run(
    make.batchRenew([
      [a, 2_000],
      [b, 2_000],
    ]),
  );
  driver.run(make.reserve('t/b', 999));
  driver.hold('t/a', 1, { ttlMs: 2_000 });
  driver.advance(2_000);
  driver.recordLapses();
  index.extend(driver.journal);
  const no = (path: string) => driver.state.budgetAt(path as BudgetPath)?.def.no as number;
  const seqs = (entries: readonly Entry[]) => entries.map(({ seq, type }) => `${seq} ${type}`);
  expect(seqs(index.touching([no('t/a')], []))).toEqual([
    '2 BudgetCreated',
    '4 Granted',
    '6 BudgetToppedUp',
    '9 Granted',
    '10 Expired',
  ]);
  expect(seqs(index.touching([], [b as ReservationId]))).toEqual(['5 Granted', '7 Renewed', '10 Expired']);
  expect(seqs(index.touching([no('t/b')], [b as ReservationId]))).toEqual([
    '3 BudgetCreated',
    '5 Granted',
    '7 Renewed',
    '10 Expired',
  ]);
  expect([index.created('t/b' as BudgetPath), index.created('t/c' as BudgetPath)]).toEqual([no('t/b'), undefined]);
});
