// PostgreSQL itself fails under load: killed, stopped without grace, out of disk, or asking for retries all the time.
import { setImmediate as turn } from 'node:timers/promises';
import { elapse, FaultWorld, until } from '../fault-world.ts';
import { OwnPostgres } from '../own-postgres.ts';
import { conclude, must, type Scenario } from './scenario.ts';

const endedUnderLoad = (signal: 'SIGKILL' | 'SIGQUIT', name: string): Scenario => ({
  name,
  run: async (random) => {
    const server = (await OwnPostgres.start()) as OwnPostgres;
    try {
      return await FaultWorld.with({ random, databaseUrl: server.url }, async (world) => {
        await world.makeTrees();
        await world.underLoad(async () => {
          await elapse(random.between(0, 400));
          await server.end(signal);
          await until('somebody is told', () => (world.history.counts()['STORE_UNAVAILABLE'] ?? 0) > 0);
          await server.restart();
        });
        return conclude(world);
      });
    } finally {
      await server.stop();
    }
  },
});

const diskFull: Scenario = {
  name: 'disk full under load',
  run: async (random) => {
    const server = await OwnPostgres.start({ smallDisk: true });
    if (server === undefined) return 'no small disk can be mounted here (it takes root)';
    try {
      return await FaultWorld.with({ random, databaseUrl: server.url }, async (world) => {
        await world.makeTrees();
        await world.underLoad(async () => {
          const empty = await server.fillDisk();
          await until('somebody is told', () => (world.history.counts()['STORE_UNAVAILABLE'] ?? 0) > 0);
          await empty();
        });
        return conclude(world);
      });
    } finally {
      await server.stop();
    }
  },
};

const retryStorm: Scenario = {
  name: 'serialization failures without end',
  run: (random) =>
    FaultWorld.with({ random }, async (world) => {
      await world.makeTrees();
      let storms = true;
      let count = 0;
      const storm = async (): Promise<void> => {
        for (; storms; count++) {
          await world.admin
            .begin('isolation level serializable', async (tx) => {
              await tx`UPDATE budgetd.tree_heads SET at_ms = at_ms WHERE tree = ${random.pick(world.trees)}`;
              // Held for a moment, so that an append that looked before has to start again.
              await tx`SELECT pg_sleep(0.004)`;
            })
            .catch((error: unknown) => {
              // They get in each other's way too, which is the point.
              if ((error as { code?: string }).code !== '40001') throw error;
            });
          await turn();
        }
      };
      await world.underLoad(async () => {
        const running = Promise.all([storm(), storm()]);
        await until('it has stormed', () => count > 300);
        storms = false;
        await running;
      });
      const [row] = await world.admin<[{ rollbacks: string }]>`
        SELECT xact_rollback AS rollbacks FROM pg_stat_database WHERE datname = current_database()`;
      must(Number(row.rollbacks) > 0, 'some transactions had to be run again');
      return conclude(world, { storms: count, rollbacks: Number(row.rollbacks) });
    }),
};

/** See the head of this file. */
export const databaseScenarios: readonly Scenario[] = [
  endedUnderLoad('SIGKILL', 'PostgreSQL killed under load'),
  endedUnderLoad('SIGQUIT', 'PostgreSQL stopped at once under load'),
  diskFull,
  retryStorm,
];
