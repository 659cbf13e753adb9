// Several replicas on one database: exactly one writes, the others say who, and nobody speaks for a leader that it no longer is.
import { BudgetService } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { ReservationService } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { type Call, Caller, callOf } from '../caller.ts';
import { FaultWorld, type Replica, until } from '../fault-world.ts';
import { spelled, type Told } from '../history.ts';
import { conclude, must, type Scenario } from './scenario.ts';

/** The promise: after a kill somebody else grants within this. */
const TAKEOVER_MS = 10_000;

/** The promise "at once" after a graceful stop. */
const HANDOVER_MS = 2_000;

const { reserve, settle, renew, getReservation, listReservations } = ReservationService.method;

const killedLeader = (replicas: number): Scenario => ({
  name: `leader of ${replicas} replicas killed under load`,
  run: (random) =>
    FaultWorld.with({ random, replicas }, async (world) => {
      await world.makeTrees();
      const old = await world.leader();
      await standbysNameTheLeader(world, old);
      let takeoverMs = 0;
      await world.underLoad(async () => {
        const sinceMs = performance.now();
        await old.service.kill();
        await grantedBySomebodyElse(world, old);
        takeoverMs = performance.now() - sinceMs;
        await old.service.restart();
      });
      must(takeoverMs < TAKEOVER_MS, `a takeover took ${takeoverMs} ms`);
      return conclude(world, { takeoverMs: Math.round(takeoverMs) });
    }),
});

const stoppedLeader: Scenario = {
  name: 'leader stopped in order under load',
  run: (random) =>
    FaultWorld.with({ random, replicas: 2 }, async (world) => {
      await world.makeTrees();
      const old = await world.leader();
      let handoverMs = 0;
      await world.underLoad(async () => {
        const sinceMs = performance.now();
        const stopped = old.service.stop();
        await grantedBySomebodyElse(world, old);
        handoverMs = performance.now() - sinceMs;
        await stopped;
      });
      must(handoverMs < HANDOVER_MS, `a handover took ${handoverMs} ms`);
      return conclude(world, { handoverMs: Math.round(handoverMs) });
    }),
};

const pausedLeader: Scenario = {
  name: 'leader paused past its lease and woken',
  run: (random) =>
    FaultWorld.with({ random, replicas: 2, trees: 1 }, async (world) => {
      await world.makeTrees();
      const old = await world.leader();
      const caller = new Caller(world.ports);
      const kept = await keptHold(world, caller);
      old.service.signal('SIGSTOP');
      await grantedBySomebodyElse(world, old);
      // They wait in its socket, and are the first thing it sees.
      const asked = askEverything(caller, old, kept);
      old.service.signal('SIGCONT');
      await nobodyAnswers(asked);
      await standbysNameTheLeader(world, await world.leader());
      caller.close();
      return conclude(world);
    }),
};

const leaderWithoutItsLease: Scenario = {
  name: 'leader that cannot renew its lease and does not know that another leads',
  run: (random) =>
    FaultWorld.with({ random, replicas: 2, trees: 1 }, async (world) => {
      await world.makeTrees();
      const old = await world.leader();
      const caller = new Caller(world.ports);
      const kept = await keptHold(world, caller);
      const letGo = old.wire.hold('budgetd lease');
      await grantedBySomebodyElse(world, old);
      const asked = askEverything(caller, old, kept);
      must((await world.info(old))?.leader === true, 'it still believes that it leads when it is asked');
      await nobodyAnswers(asked);
      letGo();
      caller.close();
      return conclude(world);
    }),
};

const graceAfterTakeover: Scenario = {
  name: 'leases that ran out while there was no leader',
  run: (random) =>
    FaultWorld.with({ random, replicas: 2, trees: 1, environment: { BUDGETD_GRACE: '4s' } }, async (world) => {
      await world.makeTrees();
      const old = await world.leader();
      const caller = new Caller(world.ports);
      const holds: string[] = [];
      for (const key of ['renewed', 'settled', 'idle']) {
        const told = await keyed(world, caller, 'Reserve', 't0/b', key, (idempotencyKey) =>
          callOf(reserve, { budget: 't0/b', idempotencyKey, maxMicros: 200n, ttl: { seconds: 2n } }),
        );
        holds.push(idOf(told));
      }
      await old.service.kill();
      await until('somebody else leads', async () => (await world.info(other(world, old)))?.leader === true);
      // All their leases ran out some seconds ago; b has room for 600, and all of it is still held.
      const [renewed, settled, idle] = holds as [string, string, string];
      const refused = await keyed(world, caller, 'Reserve', 't0/b', 'taken', (idempotencyKey) =>
        callOf(reserve, { budget: 't0/b', idempotencyKey, maxMicros: 1n }),
      );
      must(
        refused.kind === 'refused' && refused.reason === 'CAPACITY_HELD',
        'no capacity is given away within the grace',
      );
      const again = await keyed(world, caller, 'Renew', renewed, 'r', (idempotencyKey) =>
        callOf(renew, { reservationId: renewed, idempotencyKey, ttl: { seconds: 60n } }),
      );
      must(again.kind === 'ok', 'a lease that ran out meanwhile is renewed');
      const cost = await keyed(world, caller, 'Settle', settled, 's', (idempotencyKey) =>
        callOf(settle, { reservationId: settled, idempotencyKey, cost: { case: 'actualMicros', value: 150n } }),
      );
      must(cost.kind === 'ok' && cost.reservation?.overrun === 0n, 'a hold that ran out meanwhile is settled in time');
      await until('the grace of the third is over', async () => {
        const told = await caller.once(callOf(getReservation, { reservationId: idle }), other(world, old).port);
        return told.kind === 'ok' && told.reservation?.state === 'EXPIRED';
      });
      must((await world.entryCount('Graced')) === 1, 'the journal says why');
      caller.close();
      return conclude(world);
    }),
};

/** The replica that is not the one given, of two. */
function other(world: FaultWorld, replica: Replica): Replica {
  return world.replicas.find((each) => each !== replica) as Replica;
}

async function keyed(
  world: FaultWorld,
  caller: Caller,
  method: 'Reserve' | 'Renew' | 'Settle',
  resource: string,
  key: string,
  make: (key: string) => Call,
): Promise<Told> {
  return caller.perform(world.history.begin(method, resource, key), make(key), () => false);
}

function idOf(told: Told): string {
  must(told.kind === 'ok' && told.reservation !== undefined, `a hold is granted: ${spelled(told)}`);
  return told.reservation.id;
}

const keptCall = callOf(reserve, { budget: 't0/a', idempotencyKey: 'kept', maxMicros: 7n });

async function keptHold(world: FaultWorld, caller: Caller): Promise<string> {
  return idOf(await keyed(world, caller, 'Reserve', 't0/a', 'kept', () => keptCall));
}

/** Effects, a replay, a dry run and reads, all to one replica. */
function askEverything(caller: Caller, replica: Replica, reservationId: string): Promise<readonly [string, Told][]> {
  const calls: Readonly<Record<string, Call>> = {
    reserve: callOf(reserve, { budget: 't0/a', idempotencyKey: 'stale', maxMicros: 1n }),
    settle: callOf(settle, { reservationId, idempotencyKey: 'stale', cost: { case: 'actualMicros', value: 1n } }),
    renew: callOf(renew, { reservationId }),
    replay: keptCall,
    'dry run': callOf(reserve, { budget: 't0/a', maxMicros: 1n, validateOnly: true }),
    'read of a reservation': callOf(getReservation, { reservationId }),
    'read of a budget': callOf(BudgetService.method.getBudget, { budget: 't0/a' }),
    'list of reservations': callOf(listReservations, { budget: 't0' }),
    'list of budgets': callOf(BudgetService.method.listBudgets, {}),
  };
  return Promise.all(
    Object.entries(calls).map(async ([name, call]) => [name, await caller.once(call, replica.port)] as const),
  ).then((answers) => answers.map(([name, told]): [string, Told] => [name, told]));
}

async function nobodyAnswers(asked: Promise<readonly [string, Told][]>): Promise<void> {
  for (const [name, told] of await asked) {
    must(told.kind === 'refused' && told.reason === 'NOT_LEADER', `${name} of a former leader: ${spelled(told)}`);
  }
}

async function standbysNameTheLeader(world: FaultWorld, leader: Replica): Promise<void> {
  const caller = new Caller(world.ports);
  const probe = callOf(reserve, { budget: 't0', idempotencyKey: 'probe', maxMicros: 1n });
  for (const replica of world.replicas.filter((each) => each !== leader)) {
    await until('a standby names the leader', async () => {
      const told = await caller.once(probe, replica.port);
      must(told.kind === 'refused' && told.reason === 'NOT_LEADER', `a standby said ${spelled(told)}`);
      return told.leaderAddress === `127.0.0.1:${leader.port}`;
    });
  }
  caller.close();
}

/** Tries the others until one of them grants; short holds on a root, so that there is room. */
async function grantedBySomebodyElse(world: FaultWorld, old: Replica): Promise<void> {
  const others = world.replicas.filter((replica) => replica !== old);
  const caller = new Caller(others.map(({ port }) => port));
  const key = `takeover-${world.history.operations.length}`;
  const operation = world.history.begin('Reserve', 't0', key);
  const call = callOf(reserve, { budget: 't0', idempotencyKey: key, maxMicros: 0n, ttl: { seconds: 1n } });
  await caller.perform(operation, call, () => false);
  must(
    operation.told.at(-1)?.kind === 'ok' || operation.told.at(-1)?.kind === 'refused',
    'the new leader answers what it decides',
  );
  caller.close();
}

/** See the head of this file. */
export const replicaScenarios: readonly Scenario[] = [
  killedLeader(2),
  killedLeader(3),
  stoppedLeader,
  pausedLeader,
  leaderWithoutItsLease,
  graceAfterTakeover,
];
