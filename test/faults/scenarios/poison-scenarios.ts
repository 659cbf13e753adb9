// Records that somebody spoiled behind the service's back: the tree concerned goes out of service and says so, the others go on,
// and the verifier names it and nothing else.
import type postgres from 'postgres';
import { runVerify } from '../../../src/app/verify.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { Caller, callOf } from '../caller.ts';
import { FaultWorld, until } from '../fault-world.ts';
import { spelled, type Told } from '../history.ts';
import { conclude, must, type Scenario } from './scenario.ts';

const { reserve, settle } = ReservationService.method;

/** One way to spoil a tree. */
interface Poison {
  readonly what: string;
  spoil(sql: postgres.TransactionSql, tree: string): Promise<unknown>;
}

// A journal row of the entry that no projection has yet, so that the service has to read it.
const POISONS: readonly Poison[] = [
  {
    what: 'an entry that can no longer be read',
    spoil: (sql, tree) => sql`
      UPDATE budgetd.journal SET entries = replace(entries, '"Granted"', '"Grunted"')
      WHERE tree = ${tree} AND last_seq = (SELECT max(last_seq) FROM budgetd.journal WHERE tree = ${tree})`,
  },
  {
    what: 'an amount in an entry',
    spoil: (sql, tree) => sql`
      UPDATE budgetd.journal SET entries = replace(entries, '"ACTIVE",50,50,50,', '"ACTIVE",50,40,40,')
      WHERE tree = ${tree} AND last_seq = (SELECT max(last_seq) FROM budgetd.journal WHERE tree = ${tree})`,
  },
  {
    what: 'a projection that is ahead of its journal',
    spoil: (sql, tree) => sql`UPDATE budgetd.projection_heads SET seq = seq + 5 WHERE tree = ${tree}`,
  },
  {
    what: 'a projected budget',
    spoil: (sql, tree) => sql`UPDATE budgetd.budgets SET def = '{"no":1}' WHERE tree = ${tree} AND path = ${tree}`,
  },
  {
    what: 'a projected counter',
    spoil: (sql, tree) => sql`UPDATE budgetd.counters SET held_micros = 1 WHERE tree = ${tree}`,
  },
  {
    what: 'a lease on more than its budget holds',
    spoil: (sql, tree) => sql`
      UPDATE budgetd.reservations SET held_micros = held_micros + 1000, reclaim_ms = create_ms + 1
      WHERE tree = ${tree} AND state = 'ACTIVE'`,
  },
];

const poisonedRecords: Scenario = {
  name: 'poisoned entries, projections and leases',
  run: (random) =>
    FaultWorld.with({ random, trees: POISONS.length + 2 }, async (world) => {
      await world.makeTrees();
      const caller = new Caller(world.ports);
      const holds = new Map<string, string>();
      const hold = async (tree: string, key: string): Promise<void> => {
        const call = callOf(reserve, { budget: `${tree}/a`, idempotencyKey: key, maxMicros: 50n });
        const told = await caller.perform(world.history.begin('Reserve', `${tree}/a`, key), call, () => false);
        must(told.kind === 'ok' && told.reservation !== undefined, `a hold on ${tree}: ${spelled(told)}`);
        holds.set(tree, told.reservation.id);
      };
      for (const tree of world.trees) await hold(tree, 'projected');
      await until('all is projected', async () => (await unprojected(world)) === 0);
      const lock = await world.admin.reserve();
      await lock`BEGIN`;
      await lock`LOCK TABLE budgetd.projection_heads IN SHARE ROW EXCLUSIVE MODE`;
      const early = holds.get(world.trees[4] as string) as string;
      for (const tree of world.trees.slice(0, 2)) await hold(tree, 'not projected');
      await world.first.service.kill();
      await lock`ROLLBACK`;
      lock.release();
      must((await unprojected(world)) === 2, 'two entries wait to be projected');
      holds.set(world.trees[4] as string, early);
      const poisoned = new Set<string>();
      for (const [i, poison] of POISONS.entries()) {
        const tree = world.trees[i] as string;
        poisoned.add(tree);
        await world.admin.begin(async (sql) => {
          await sql`SET LOCAL session_replication_role = replica`;
          const { count } = (await poison.spoil(sql, tree)) as { count: number };
          must(count > 0, `${poison.what} was spoiled`);
        });
      }
      await world.endLease();
      await world.first.service.restart();
      await judge(world, caller, holds, poisoned);
      caller.close();
      const { differences } = await runVerify({ databaseUrl: world.databaseUrl, log: () => undefined });
      const named = new Set(differences.map((difference) => difference.split(':')[0] as string));
      for (const [i, { what }] of POISONS.entries()) {
        must(named.has(world.trees[i] as string), `verify names the tree with ${what}`);
      }
      return conclude(world, {}, poisoned);
    }),
};

async function judge(
  world: FaultWorld,
  caller: Caller,
  holds: ReadonlyMap<string, string>,
  poisoned: ReadonlySet<string>,
): Promise<void> {
  for (const [i, tree] of world.trees.entries()) {
    const reservationId = holds.get(tree) as string;
    const call = callOf(settle, { reservationId, idempotencyKey: 'end', cost: { case: 'actualMicros', value: 50n } });
    const operation = world.history.begin('Settle', reservationId, 'end');
    const told = await caller.perform(operation, call, () => false);
    if (!poisoned.has(tree)) must(told.kind === 'ok', `${tree} goes on: ${spelled(told)}`);
    else must(isQuarantined(told), `${POISONS[i]?.what}: ${spelled(told)}`);
  }
  const info = await world.info(world.first);
  must(info?.quarantinedTrees.length === poisoned.size, `out of service: ${info?.quarantinedTrees.join(', ')}`);
}

function isQuarantined(told: Told): boolean {
  return told.kind === 'refused' && told.reason === 'TREE_QUARANTINED';
}

async function unprojected(world: FaultWorld): Promise<number> {
  const rows = await world.admin`
    SELECT FROM budgetd.tree_heads h LEFT JOIN budgetd.projection_heads p ON p.tree = h.tree
    WHERE h.seq > coalesce(p.seq, 0)`;
  return rows.length;
}

/** See the head of this file. */
export const poisonScenarios: readonly Scenario[] = [poisonedRecords];
