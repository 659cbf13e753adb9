// Every metric of the service, by name, unit and labels, each read from the plain numbers when somebody collects. The one
// list to look at; docs/telemetry.md says what each is for.
import type { Meter, ObservableResult } from '@opentelemetry/api';
import {
  ATTR_ERROR_TYPE,
  ATTR_RPC_METHOD,
  ATTR_RPC_STATUS_CODE,
  ATTR_RPC_SYSTEM_NAME,
  METRIC_RPC_SERVER_CALL_DURATION,
  RPC_SYSTEM_NAME_VALUE_GRPC,
} from '@opentelemetry/semantic-conventions';
import type { CallTally } from './call-tally.ts';
import type { LaneTally } from './lane-tally.ts';
import type { Standing } from './standing.ts';
import { isServerError } from './status-names.ts';
import type { HistogramFamily } from './tally-producer.ts';

const MS_TO_SECONDS = 0.001;

/** Where the figures come from. */
export interface Sources {
  readonly lane: LaneTally;
  readonly calls: CallTally;
  /** Undefined while there is no coordinator yet. */
  readonly standing: () => Standing | undefined;
  readonly buildInfo: () => Readonly<Record<string, string>>;
}

/** Makes the counters and gauges. */
export function registerInstruments(meter: Meter, sources: Sources): void {
  countDecisions(meter, sources);
  countMoney(meter, sources.lane);
  countWaits(meter, sources.lane);
  countWork(meter, sources);
  gauge(meter, sources);
  gaugePrices(meter, sources);
  gaugeVerify(meter, sources);
  gaugeProcess(meter, sources);
}

/** The histograms. */
export function histogramFamilies({ lane, calls }: Sources): readonly HistogramFamily[] {
  const alone = (tally: LaneTally['queueWait']) => () => (tally.count === 0 ? [] : [{ attributes: {}, tally }]);
  return [
    {
      name: METRIC_RPC_SERVER_CALL_DURATION,
      description: 'Calls by method and status, from their first byte here to their answer; a Session is one call',
      unit: 's',
      series: () => callSeries(calls),
    },
    {
      name: 'budgetd.command.duration',
      description: 'From the queue to the answer, by command, of unary calls and Sessions alike',
      unit: 's',
      series: () => Array.from(lane.durations(), ({ command, tally }) => ({ attributes: { command }, tally })),
    },
    {
      name: 'budgetd.queue.wait',
      description: 'From the queue to the batch in which a command was decided',
      unit: 's',
      series: alone(lane.queueWait),
    },
    {
      name: 'budgetd.wait.duration',
      description: 'For how long callers whose Reserve had to wait for room waited, by how it ended',
      unit: 's',
      series: () => Array.from(lane.waitTimes(), ({ outcome, tally }) => ({ attributes: { outcome }, tally })),
    },
    {
      name: 'budgetd.batch.size',
      description: 'Commands answered by one batch',
      unit: '{command}',
      series: alone(lane.batchSize),
    },
    {
      name: 'budgetd.commit.duration',
      description: 'Appending a batch that has entries, retries after a lost connection included',
      unit: 's',
      series: alone(lane.commitDuration),
    },
    {
      name: 'budgetd.granted_over_settled',
      description: 'What was granted over what was spent, of each hold that was settled with a known cost above 0',
      unit: '1',
      series: alone(lane.grantedOverSettled),
    },
  ];
}

function callSeries(calls: CallTally) {
  return Array.from(calls.series(), ({ method, status, tally }) => ({
    attributes: {
      [ATTR_RPC_SYSTEM_NAME]: RPC_SYSTEM_NAME_VALUE_GRPC,
      [ATTR_RPC_METHOD]: method,
      [ATTR_RPC_STATUS_CODE]: status,
      ...(isServerError(status) ? { [ATTR_ERROR_TYPE]: status } : {}),
    },
    tally,
  }));
}

function countDecisions(meter: Meter, { lane, calls }: Sources): void {
  const counter = (name: string, description: string, unit: string, observe: (result: ObservableResult) => void) =>
    meter.createObservableCounter(name, { description, unit }).addCallback(observe);
  counter('budgetd.decisions', 'Decisions by command, outcome and reason', '{decision}', (result) => {
    for (const { count, ...labels } of lane.decisions()) result.observe(count, labels);
  });
  counter('budgetd.replays', 'Commands answered from memory: repeats with the same key', '{command}', (result) => {
    for (const { count, command } of lane.replays()) result.observe(count, { command });
  });
  counter('budgetd.lane.refusals', 'Commands that the lane refused without a decision', '{command}', (result) => {
    for (const { count, ...labels } of lane.turnedAwayCounts()) result.observe(count, labels);
  });
  counter('budgetd.refusals', 'Refusals as callers got them, by reason', '{refusal}', (result) => {
    for (const { count, reason } of calls.refusals()) result.observe(count, { reason });
  });
  counter('budgetd.faults', 'Calls and commands that failed by a fault of the program', '{call}', (result) => {
    result.observe(calls.faultCount);
  });
}

function countMoney(meter: Meter, lane: LaneTally): void {
  meter
    .createObservableCounter('budgetd.lapses', { description: 'Holds that lapsed', unit: '{hold}' })
    .addCallback((result) => {
      result.observe(lane.lapsesReleased, { charged: false });
      result.observe(lane.lapsesCharged, { charged: true });
    });
  meter
    .createObservableCounter('budgetd.overruns', {
      description: 'Settlements and lapses that the ceiling could not cover',
      unit: '{settlement}',
    })
    .addCallback((result) => result.observe(lane.overrunCount));
  meter
    .createObservableCounter('budgetd.overrun.amount', {
      description: 'Spend that the ceiling could not cover, in micro-units, all units of account together',
      unit: '{micro}',
    })
    .addCallback((result) => result.observe(lane.overrunMicros));
}

function countWaits(meter: Meter, lane: LaneTally): void {
  const described = { description: 'Reserves that left the queue for room, by how', unit: '{reservation}' };
  meter.createObservableCounter('budgetd.waits', described).addCallback((result) => {
    for (const { outcome, count } of lane.waits()) result.observe(count, { outcome });
  });
  const faults = { description: 'Faults of the program in judging those who wait', unit: '{fault}' };
  meter.createObservableCounter('budgetd.waits.faults', faults).addCallback((result) => {
    result.observe(lane.queueFaultCount);
  });
}

function countWork(meter: Meter, { lane }: Sources): void {
  meter
    .createObservableCounter('budgetd.batches', { description: 'Batches by what became of them', unit: '{batch}' })
    .addCallback((result) => {
      for (const { outcome, count } of lane.batches()) result.observe(count, { outcome });
    });
  meter
    .createObservableCounter('budgetd.journal.entries', { description: 'Entries written', unit: '{entry}' })
    .addCallback((result) => result.observe(lane.entryCount));
}

function gauge(meter: Meter, { standing }: Sources): void {
  const gaugeOf = (name: string, description: string, unit: string, read: (now: Standing) => number): void => {
    meter.createObservableGauge(name, { description, unit }).addCallback((result) => {
      const now = standing();
      if (now !== undefined) result.observe(read(now));
    });
  };
  gaugeOf('budgetd.serving', '1 while commands are decided here, as health says', '1', (now) => Number(now.serving));
  gaugeOf('budgetd.leader', '1 while this process is the one writer', '1', (now) => Number(now.leader));
  gaugeOf('budgetd.leader.epoch', 'Epoch under which this process writes; 0: none', '1', (now) => now.epoch);
  gaugeOf('budgetd.queue.depth', 'Commands let in and not yet in a batch', '{command}', (now) => now.queueDepth);
  gaugeOf('budgetd.waiting', 'Callers whose Reserve waits for room', '{caller}', (now) => now.waitingCount);
  gaugeOf('budgetd.holds.open', 'Open holds of the trees in memory', '{hold}', (now) => now.openHolds);
  gaugeOf('budgetd.trees.cached', 'Trees in memory', '{tree}', (now) => now.cachedTrees);
  gaugeOf('budgetd.trees.quarantined', 'Trees out of service', '{tree}', (now) => now.quarantinedTrees.length);
  gaugeOf('budgetd.projection.lag', 'Age of the oldest entry not yet projected', 's', (now) => {
    return now.projectionLagMs * MS_TO_SECONDS;
  });
  gaugeOf('budgetd.clock.refused_jump', "Jump of the database's clock that is not followed", 's', (now) => {
    return now.refusedClockJumpMs * MS_TO_SECONDS;
  });
}

function gaugePrices(meter: Meter, { standing }: Sources): void {
  const observe = (read: (prices: Standing['prices']) => number) => (result: ObservableResult) => {
    const now = standing();
    if (now !== undefined) result.observe(read(now.prices));
  };
  meter
    .createObservableGauge('budgetd.prices.rows', { description: 'Rows in the price book', unit: '{row}' })
    .addCallback(observe((prices) => prices.rowCount));
  meter
    .createObservableGauge('budgetd.prices.catalogue.age', {
      description: 'Since the newest catalogue of prices was imported first',
      unit: 's',
    })
    .addCallback(observe((prices) => prices.catalogueAgeMs * MS_TO_SECONDS));
  meter
    .createObservableGauge('budgetd.prices.stale', { description: '1 while the catalogue is stale', unit: '1' })
    .addCallback(observe((prices) => Number(prices.stale)));
  meter
    .createObservableCounter('budgetd.prices.unknown', {
      description: 'Requests refused for want of a price',
      unit: '{request}',
    })
    .addCallback(observe((prices) => prices.unknownCount));
}

function gaugeVerify(meter: Meter, { standing }: Sources): void {
  const observe = (read: (verify: Standing['verify']) => number) => (result: ObservableResult) => {
    const now = standing();
    if (now !== undefined) result.observe(read(now.verify));
  };
  meter
    .createObservableCounter('budgetd.verify.entries', {
      description: 'Entries that the background verifier has checked',
      unit: '{entry}',
    })
    .addCallback(observe((verify) => verify.entries));
  meter
    .createObservableGauge('budgetd.verify.behind', { description: 'Entries it has still to check', unit: '{entry}' })
    .addCallback(observe((verify) => verify.behind));
  meter
    .createObservableGauge('budgetd.verify.corrupt_trees', {
      description: 'Trees that it found not to agree since the start',
      unit: '{tree}',
    })
    .addCallback(observe((verify) => verify.corruptTrees));
}

function gaugeProcess(meter: Meter, { buildInfo }: Sources): void {
  meter
    .createObservableGauge('process.memory.usage', { description: 'Resident memory', unit: 'By' })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
  meter
    .createObservableGauge('budgetd.build.info', { description: '1, with what is running as labels', unit: '1' })
    .addCallback((result) => result.observe(1, { ...buildInfo() }));
}
