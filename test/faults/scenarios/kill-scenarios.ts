// The service is killed, at random under load and at every step of a batch; the same key then finds out what became of it.
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { Caller, callOf } from '../caller.ts';
import { elapse, FaultWorld, until } from '../fault-world.ts';
import { STEPS } from '../wire-proxy.ts';
import { conclude, must, type Scenario } from './scenario.ts';

const killAtRandom: Scenario = {
  name: 'service killed at random under load',
  run: (random) =>
    FaultWorld.with({ random }, async (world) => {
      await world.makeTrees();
      await world.underLoad(async () => {
        for (let i = 0; i < 3; i++) {
          await elapse(random.between(20, 400));
          await world.first.service.kill();
          await world.endLease();
          await world.first.service.restart();
        }
      });
      return conclude(world);
    }),
};

const killAtStep: Scenario = {
  name: 'service killed at every step of a batch',
  run: (random) =>
    FaultWorld.with({ random, trees: 1 }, async (world) => {
      await world.makeTrees();
      for (const step of STEPS) {
        const caller = new Caller(world.ports, random.chance(0.5));
        const operation = world.history.begin('Reserve', 't0/a', step);
        const call = callOf(ReservationService.method.reserve, {
          budget: 't0/a',
          idempotencyKey: step,
          maxMicros: BigInt(random.between(1, 50)),
        });
        const before = await world.entryCount('Granted');
        const caught = world.first.wire.catchAppend(step);
        const told = caller.perform(operation, call, () => false);
        await caught;
        await world.first.service.kill();
        if (step === 'before the answer') {
          must((await world.entryCount('Granted')) === before + 1, 'what was committed stays when its answer is lost');
        }
        await world.endLease();
        await world.first.service.restart();
        must((await told).kind === 'ok', `killed ${step}: the same key is answered after the restart`);
        must((await world.entryCount('Granted')) === before + 1, `killed ${step}: one effect`);
        caller.close();
      }
      return conclude(world);
    }),
};

const killWhileExecuting: Scenario = {
  name: 'service killed while its append waits in the database, which then commits it',
  run: (random) =>
    FaultWorld.with({ random, trees: 1 }, async (world) => {
      await world.makeTrees();
      const caller = new Caller(world.ports);
      const operation = world.history.begin('Reserve', 't0', 'waiting');
      const call = callOf(ReservationService.method.reserve, {
        budget: 't0',
        idempotencyKey: 'waiting',
        maxMicros: 5n,
      });
      const lock = await world.admin.reserve();
      await lock`BEGIN`;
      await lock`SELECT FROM budgetd.tree_heads WHERE tree = 't0' FOR UPDATE`;
      const told = caller.perform(operation, call, () => false);
      await until('the append waits', async () => (await waitingAppends(world)) === 1);
      await world.first.service.kill();
      // The database goes on with what it was asked, as far as it does not notice; the next leader waits for it.
      await lock`COMMIT`;
      lock.release();
      await until('the append is over', async () => (await waitingAppends(world)) === 0);
      await world.endLease();
      await world.first.service.restart();
      must((await told).kind === 'ok', 'the same key is answered after the restart');
      must((await world.entryCount('Granted')) === 1, 'one effect');
      caller.close();
      return conclude(world);
    }),
};

async function waitingAppends(world: FaultWorld): Promise<number> {
  const rows = await world.admin`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'budgetd append'
      AND wait_event_type = 'Lock'`;
  return rows.length;
}

/** See the head of this file. */
export const killScenarios: readonly Scenario[] = [killAtRandom, killAtStep, killWhileExecuting];
