// One tenant floods, far past what the service can do, while others make their usual calls: what those feel, what the flood is
// told, what it leaves. And what connections that only idle cost.
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { HeapProbe, inspected } from '../heap-probe.ts';
import { type LoadReport, type PacedReport, refusalsText } from '../load/load.ts';
import { runLoadBehind, runPacedLoad } from '../load/run-load.ts';
import { type BenchService, callOnce, countRows, startBenchService } from '../service.ts';
import { createTree, leafOf } from './hot-tree.ts';
import type { Figure, Part } from './part.ts';

/** The others: so many trees, and calls a second of all of them together. */
const OTHERS = 10;
const OTHERS_PER_SECOND = 200;

/** The flood, from generators that leave the processor to all others: twice as many commands in flight as may wait in the service, or as many calls as one connection takes. */
const FLOOD_SESSIONS = 8;
const FLOOD_COMMANDS = 65_536;
const FLOOD_CALLS = 1_024;

/** The flood's budget: what it may hold, one micro-unit a hold, and with it what it may cost in memory. */
const FLOOD_MICROS = 100_000n;
const FLOOD = 'flood';

const WARM_UP_MS = 2_000;
/** Until the service has dealt with the rest of a flood. */
const SETTLE_MS = 3_000;
const IDLE_COUNT = 2_000;

const others = Array.from({ length: OTHERS }, (_, no) => leafOf(`other-${no}`));

function callsOfOthers(address: string, countMs: number): Promise<PacedReport> {
  const keyPrefix = `o${performance.now()}`;
  return runPacedLoad({
    address,
    budgets: others,
    perSecond: OTHERS_PER_SECOND,
    warmUpMs: WARM_UP_MS,
    countMs,
    keyPrefix,
  });
}

function othersFigure(name: string, report: PacedReport, quiet?: PacedReport): Figure {
  return {
    name,
    ...(quiet !== undefined && { ratio: report.p99Us / quiet.p99Us }),
    p50Ms: report.p50Us / 1_000,
    p99Ms: report.p99Us / 1_000,
    note: `${report.count} admitted Reserves, longest ${(report.maxUs / 1_000).toFixed(0)} ms; ${refusalsText(report.refusals)}`,
  };
}

function flood(kind: 'session' | 'unary', address: string, countMs: number): Promise<LoadReport> {
  return runLoadBehind(kind, {
    address,
    budgets: [FLOOD],
    inFlight: kind === 'session' ? FLOOD_COMMANDS : FLOOD_CALLS,
    streams: FLOOD_SESSIONS,
    warmUpMs: 500,
    // It lasts longer than what it is measured against.
    countMs: countMs + WARM_UP_MS,
    mode: 'reserve',
    keyPrefix: `f${performance.now()}`,
  });
}

interface World {
  readonly databaseUrl: string;
  readonly service: BenchService;
  readonly probe: HeapProbe;
  readonly countMs: number;
  readonly quiet: PacedReport;
}

async function memory({ service, probe }: World): Promise<string> {
  return `${await service.residentMb()} MB (heap after a collection ${(await probe.usedMb()).toFixed(0)} MB)`;
}

async function duringFlood(kind: 'session' | 'unary', world: World): Promise<readonly Figure[]> {
  const { service, databaseUrl, countMs, quiet } = world;
  const { address } = service;
  const rowsBefore = await countRows(databaseUrl);
  const before = await memory(world);
  const [flooded, report] = await Promise.all([flood(kind, address, countMs), callsOfOthers(address, countMs)]);
  const atItsEnd = `${await service.residentMb()} MB`;
  await sleep(SETTLE_MS);
  const rows = await countRows(databaseUrl);
  return [
    othersFigure(`others during a flood, ${kind}`, report, quiet),
    {
      name: `the flood, ${kind}`,
      perSecond: (flooded.count / flooded.countedMs) * 1_000,
      p50Ms: flooded.p50Us / 1_000,
      p99Ms: flooded.p99Us / 1_000,
      note: `${flooded.sent} sent, granted a second beside; ${refusalsText(flooded.refusals)}`,
    },
    {
      name: `left by it and the others, ${kind}`,
      note:
        `${rows.entries - rowsBefore.entries} entries in ${rows.journalRows - rowsBefore.journalRows} journal rows, ` +
        `${rows.keys - rowsBefore.keys} keys; resident ${before} before, ${atItsEnd} at its end, ` +
        `${await memory(world)} ${SETTLE_MS / 1_000} s later`,
    },
  ];
}

async function idleConnections(address: string): Promise<readonly ClientHttp2Session[]> {
  const connections: ClientHttp2Session[] = [];
  for (let no = 0; no < IDLE_COUNT; no += 1) {
    const connection = connect(`http://${address}`);
    await once(connection, 'remoteSettings');
    connections.push(connection);
  }
  return connections;
}

async function besideIdle({ service, countMs, quiet }: World): Promise<readonly Figure[]> {
  const beforeMb = await service.residentMb();
  const connections = await idleConnections(service.address);
  const openMb = await service.residentMb();
  const report = await callsOfOthers(service.address, countMs);
  for (const connection of connections) connection.close();
  const kilobytes = ((openMb - beforeMb) * 1_024) / IDLE_COUNT;
  return [
    othersFigure(`others beside ${IDLE_COUNT} idle connections`, report, quiet),
    {
      name: `${IDLE_COUNT} idle connections`,
      note: `resident ${beforeMb} MB before, ${openMb} MB with them: ${kilobytes.toFixed(0)} kB each`,
    },
  ];
}

/** The part. */
export const hostilePart: Part = {
  name: 'hostile',
  what: `one tenant floods while ${OTHERS} others make ${OTHERS_PER_SECOND} Reserve+Settle cycles a second; ratios are of 99th percentiles`,
  async run({ databaseUrl, countMs }) {
    const inspector = await inspected();
    const service = await startBenchService(databaseUrl, inspector.env);
    try {
      const { address } = service;
      const probe = await HeapProbe.open(inspector.port);
      for (let no = 0; no < OTHERS; no += 1) await createTree(address, `other-${no}`);
      await callOnce(address, BudgetService.method.createBudget, {
        budget: { budget: FLOOD, limits: [{ amountMicros: FLOOD_MICROS }] },
        idempotencyKey: 'create',
      });
      const quiet = await callsOfOthers(address, countMs);
      const world = { databaseUrl, service, probe, countMs, quiet };
      const figures = [
        othersFigure('others, quiet', quiet),
        ...(await besideIdle(world)),
        ...(await duringFlood('session', world)),
        ...(await duringFlood('unary', world)),
      ];
      probe.close();
      return figures;
    } finally {
      await service.stop();
    }
  },
};
