// What is read of the queue: the first ones in their order, and of each how many are before it.
import { expect, test } from 'vitest';
import type { Command } from '../../../src/kernel/command.ts';
import { granted } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';

function queueAt(driver: QueueDriver, budget: string, countMax: number) {
  const command = { kind: 'GetQueue', treeId: 't', budget, countMax, actor: 'a', key: undefined, personal: undefined };
  const answer = driver.run(command as unknown as Command);
  if (answer.kind !== 'queue') throw new Error(answer.kind);
  return { count: answer.count, ids: answer.waiting.map(({ reservation }) => reservation.id as string) };
}

test('a list begins alike whatever its length, and each one in it is behind as many as come before it', () => {
  const driver = new QueueDriver();
  const { make } = driver;
  driver.run(make.create('t', { limits: 1_000, enforcement: { kept: [{ priority: 'critical', micros: 10n }] } }));
  driver.run(make.create('t/a', { weight: 2 }));
  for (const path of ['t/b', 't/b/x', 't/c', 't/d']) driver.run(make.create(path, {}));
  driver.hold('t/a', 200);
  driver.hold('t/b', 150, { ttlMs: 600_000 });
  driver.hold('t', 640, { priority: 'critical', ttlMs: 600_000 });
  const waits = ['t/a', 't/b/x', 't/c', 't', 't/b', 't/d', 't/a', 't/c', 't/a'];
  for (const priority of ['background', 'critical', 'normal'] as const) {
    for (const path of waits) driver.wait(path, 300, { priority, waitMs: 900_000 });
    driver.advance(25_000);
  }
  const { ids, count } = queueAt(driver, 't', 100);
  expect(count).toBe(27);
  expect(new Set(ids).size).toBe(27);
  for (const countMax of [1, 5, 26])
    expect(queueAt(driver, 't', countMax)).toEqual({ count, ids: ids.slice(0, countMax) });
  const { ids: atB } = queueAt(driver, 't/b', 100);
  expect(atB).toHaveLength(6);
  for (const [at, id] of ids.entries()) {
    const { standing } = granted(driver.run(make.getReservation(id)));
    expect([id, standing?.refusal.budget, standing?.aheadCount]).toEqual([id, 't', at]);
  }
});
