// What is concluded from an append that was asked to run again, where the look at the heads is asked to as well.
import { expect, it } from 'vitest';
import { appendBatch } from '../../../src/store/append.ts';
import { StoreUnavailableError, type TreeAppend } from '../../../src/store/port.ts';
import type { Sql } from '../../../src/store/sql-client.ts';
import { granted, KernelDriver } from '../../support/kernel-driver.ts';

const tree = new KernelDriver();
tree.run(tree.make.create('t', { limits: 100 }));
granted(tree.run(tree.make.reserve('t', 1)));
const batch: readonly TreeAppend[] = [
  { treeId: tree.state.treeId, expected: { seq: 0, hash: '0'.repeat(64), atMs: 0 }, entries: tree.journal },
];

/** A connection on which the append and so many looks at the heads are asked to run again. */
function stormy(lookCount: number) {
  let count = 0;
  const sql = () => {
    count += 1;
    if (count > lookCount + 1) return Promise.resolve([]);
    return Promise.reject(Object.assign(new Error('could not serialize access'), { code: '40001' }));
  };
  return { run: <T>(work: (connection: Sql) => Promise<T>): Promise<T> => work(sql as unknown as Sql) };
}

it('a look that is asked to try again is taken again', async () => {
  expect(await appendBatch(stormy(3), 1, batch)).toEqual({ outcome: 'conflict' });
});

it('where no look is answered the outcome is unknown, and the same append may find it out', async () => {
  await expect(appendBatch(stormy(1_000), 1, batch)).rejects.toThrow(StoreUnavailableError);
});
