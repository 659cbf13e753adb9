// The way to the database breaks, stalls or slows while the service lives. What was committed and not answered is concluded by
// appending the same again: one effect, and an answer that says so.
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { Caller, callOf } from '../caller.ts';
import { elapse, FaultWorld, until } from '../fault-world.ts';
import { STEPS } from '../wire-proxy.ts';
import { conclude, must, type Scenario } from './scenario.ts';

const cutAtStep: Scenario = {
  name: 'connection cut at every step of a batch',
  run: (random) =>
    FaultWorld.with({ random, trees: 1 }, async (world) => {
      await world.makeTrees();
      const caller = new Caller(world.ports);
      for (const step of STEPS) {
        const operation = world.history.begin('Reserve', 't0/a', step);
        const call = callOf(ReservationService.method.reserve, {
          budget: 't0/a',
          idempotencyKey: step,
          maxMicros: BigInt(random.between(1, 50)),
        });
        const before = await world.entryCount('Granted');
        const caught = world.first.wire.catchAppend(step);
        const told = caller.once(call);
        (await caught).cut();
        operation.told.push(await told);
        must((await told).kind === 'ok', `cut ${step}: the call is answered all the same`);
        must((await world.entryCount('Granted')) === before + 1, `cut ${step}: one effect`);
      }
      caller.close();
      return conclude(world);
    }),
};

const cutAtRandom: Scenario = {
  name: 'connections cut at random under load',
  run: (random) =>
    FaultWorld.with({ random }, async (world) => {
      await world.makeTrees();
      await world.underLoad(async () => {
        for (let i = 0; i < 12; i++) {
          await elapse(random.between(5, 150));
          world.first.network.cut();
        }
        world.first.network.refuse();
        await elapse(random.between(50, 500));
        world.first.network.pass();
      });
      return conclude(world);
    }),
};

const slow: Scenario = {
  name: 'slow store under load',
  run: (random) =>
    FaultWorld.with({ random }, async (world) => {
      await world.makeTrees();
      await world.underLoad(async () => {
        world.first.network.delay(random.between(10, 80));
        const before = await world.entryCount();
        await until('it goes on, slowly', async () => (await world.entryCount()) > before + 20);
        world.first.network.pass();
      });
      return conclude(world);
    }),
};

const stalled: Scenario = {
  name: 'store that stops answering, and goes on after a while',
  run: (random) =>
    FaultWorld.with({ random }, async (world) => {
      await world.makeTrees();
      await world.underLoad(async () => {
        for (const ways of [['to-client'], ['to-server'], []] as const) {
          world.first.network.stall(...ways);
          await elapse(random.between(200, 900));
          world.first.network.pass();
          await elapse(50);
        }
      });
      return conclude(world);
    }),
};

const silent: Scenario = {
  name: 'store that is silent until its callers are told',
  run: (random) =>
    FaultWorld.with({ random }, async (world) => {
      await world.makeTrees();
      await world.underLoad(async () => {
        world.first.network.stall();
        await until('somebody is told', () => (world.history.counts()['STORE_UNAVAILABLE'] ?? 0) > 0);
        world.first.network.pass();
      });
      return conclude(world);
    }),
};

/** See the head of this file. */
export const networkScenarios: readonly Scenario[] = [cutAtStep, cutAtRandom, slow, stalled, silent];
