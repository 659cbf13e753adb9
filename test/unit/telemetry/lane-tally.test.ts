// What is counted of a batch, entry by entry and answer by answer.
import { describe, expect, it } from 'vitest';
import type { AnswerShape, BatchShape, CommandShape, EntryShape } from '../../../src/telemetry/lane-shapes.ts';
import { LaneTally } from '../../../src/telemetry/lane-tally.ts';

const OK: AnswerShape = { kind: 'reservation', replayed: false };
const refusal = (reason: string): AnswerShape => ({ kind: 'refusal', reason });

function tallyOf(
  pairs: readonly (readonly [CommandShape, AnswerShape])[],
  entries: readonly EntryShape[] = [],
  changes: Partial<BatchShape> = {},
) {
  const tally = new LaneTally(['Reserve', 'Renew', 'Settle'], ['CAPACITY_HELD', 'BUDGET_EXHAUSTED']);
  const answered = pairs.map(([command, answer]) => ({ item: { command, sinceMs: 100 }, answer }));
  const trees = [{ answered, entries }];
  tally.batchEnded({ outcome: 'committed', trees, takenMs: 103, appendMs: 104, endedMs: 112, ...changes });
  return tally;
}

const settled = (granted: number, spent: number, overrun = 0, estimated = false, state = 'SETTLED'): EntryShape => ({
  type: 'Settled',
  figures: {
    state,
    estimated,
    grantedMicros: BigInt(granted),
    settledMicros: BigInt(spent - overrun),
    overrunMicros: BigInt(overrun),
  },
  effects: [{ overrunMicros: BigInt(overrun) }],
});

it('faults in judging those who wait are counted', () => {
  const tally = tallyOf([]);
  tally.queueFailed(2);
  tally.queueFailed(1);
  expect(tally.queueFaultCount).toBe(3);
});

describe('decisions', () => {
  it('are counted by command, outcome and reason', () => {
    const reserve = { kind: 'Reserve' };
    const tally = tallyOf([
      [reserve, OK],
      [reserve, OK],
      [reserve, refusal('CAPACITY_HELD')],
      [{ kind: 'Settle' }, OK],
    ]);
    expect([...tally.decisions()]).toEqual([
      { command: 'Reserve', outcome: 'refused', reason: 'CAPACITY_HELD', count: 1 },
      { command: 'Reserve', outcome: 'ok', reason: 'none', count: 2 },
      { command: 'Settle', outcome: 'ok', reason: 'none', count: 1 },
    ]);
  });

  it('of a dry run are no grants and no refusals', () => {
    const dryRun = { kind: 'Reserve', dryRun: true };
    const tally = tallyOf([
      [dryRun, { kind: 'reservation', replayed: false }],
      [dryRun, refusal('BUDGET_EXHAUSTED')],
    ]);
    expect([...tally.decisions()]).toEqual([
      { command: 'Reserve', outcome: 'dry_run', reason: 'BUDGET_EXHAUSTED', count: 1 },
      { command: 'Reserve', outcome: 'dry_run', reason: 'none', count: 1 },
    ]);
  });

  it('on leases are counted one by one', () => {
    const tally = tallyOf([[{ kind: 'Renew' }, { kind: 'renewals', results: [OK, OK, refusal('CAPACITY_HELD')] }]]);
    expect(Array.from(tally.decisions(), ({ outcome, count }) => [outcome, count])).toEqual([
      ['refused', 1],
      ['ok', 2],
    ]);
  });

  it('are none where a key was answered from memory', () => {
    const tally = tallyOf([[{ kind: 'Reserve' }, { kind: 'reservation', replayed: true }]]);
    expect([...tally.decisions()]).toEqual([]);
    expect([...tally.replays()]).toEqual([{ command: 'Reserve', count: 1 }]);
  });

  it.each(['conflict', 'key_exists', 'fenced', 'unavailable', 'failed'])(
    'are none in a batch that ended as %s',
    (outcome) => {
      const tally = tallyOf([[{ kind: 'Reserve' }, OK]], [settled(10, 5)], { outcome });
      expect([[...tally.decisions()], tally.batchSize.count, tally.entryCount]).toEqual([[], 0, 0]);
      expect([...tally.batches()].filter(({ count }) => count > 0)).toEqual([{ outcome, count: 1 }]);
    },
  );

  it('of names that nobody knows are counted together', () => {
    const tally = tallyOf([
      [{ kind: 'Conjure' }, OK],
      [{ kind: 'Vanish' }, refusal('MOOD')],
      [{ kind: 'Vanish' }, refusal('WEATHER')],
    ]);
    expect([...tally.decisions()]).toEqual([
      { command: '_OTHER', outcome: 'ok', reason: 'none', count: 1 },
      { command: '_OTHER', outcome: 'refused', reason: '_OTHER', count: 2 },
    ]);
  });
});

describe('times and sizes', () => {
  it('are in seconds, from the queue to the batch, to the answer, and of the append', () => {
    const tally = tallyOf([[{ kind: 'Reserve' }, OK]], [{ type: 'Granted' }]);
    const [duration] = tally.durations();
    expect(duration?.command).toBe('Reserve');
    expect(duration?.tally.sum).toBeCloseTo(0.012);
    expect(tally.queueWait.sum).toBeCloseTo(0.003);
    expect(tally.commitDuration.sum).toBeCloseTo(0.008);
    expect([tally.batchSize.sum, tally.entryCount]).toEqual([1, 1]);
  });

  it('of an append without entries are no commit', () => {
    expect(tallyOf([[{ kind: 'Reserve' }, OK]]).commitDuration.count).toBe(0);
  });

  it('of a batch without commands are no batch size', () => {
    expect(tallyOf([], [{ type: 'Expired', lapses: [] }]).batchSize.count).toBe(0);
  });
});

describe('granted over settled', () => {
  it.each([
    ['a whole settlement', settled(300, 200), [1.5]],
    ['one with overrun: spent is both', settled(300, 400, 100), [0.75]],
    ['an estimate', settled(300, 300, 0, true), []],
    ['a part', settled(300, 200, 0, false, 'ACTIVE'), []],
    ['a free one', settled(300, 0), []],
  ])('of %s', (_, entry, ratios) => {
    const { grantedOverSettled } = tallyOf([], [entry]);
    expect([grantedOverSettled.count, grantedOverSettled.sum]).toEqual([ratios.length, ratios[0] ?? 0]);
  });
});

describe('money that went another way', () => {
  it('is counted as lapses, given back and charged apart, with what they overran', () => {
    const lapse = (charged: boolean, overrun: bigint) => ({ charged, effects: [{ overrunMicros: overrun }] });
    const tally = tallyOf([], [{ type: 'Expired', lapses: [lapse(false, 0n), lapse(true, 7n), lapse(true, 0n)] }]);
    expect([tally.lapsesReleased, tally.lapsesCharged]).toEqual([1, 2]);
    expect([tally.overrunCount, tally.overrunMicros]).toEqual([1, 7]);
  });

  it('is counted as overrun of settlements, and never falls', () => {
    const tally = tallyOf([], [settled(10, 15, 5), settled(10, 10), settled(10, 9, -1)]);
    expect([tally.overrunCount, tally.overrunMicros]).toEqual([1, 5]);
  });
});

it('counts what the lane turned away apart', () => {
  const tally = tallyOf([]);
  tally.turnedAway('Reserve', 'CAPACITY_HELD');
  tally.turnedAway('Reserve', 'CAPACITY_HELD');
  expect([...tally.turnedAwayCounts()]).toEqual([{ command: 'Reserve', reason: 'CAPACITY_HELD', count: 2 }]);
  expect([...tally.decisions()]).toEqual([]);
});

it('counts how waits for room ended', () => {
  const leave = (reason: string) => ({ refusal: { reason } });
  const entries = [
    { type: 'Granted', enqueuedSeq: undefined },
    { type: 'Granted', enqueuedSeq: 4 },
    {
      type: 'LeftQueue',
      leaves: ['QUEUE_TIMEOUT', 'QUEUE_TIMEOUT', 'RESERVATION_RELEASED', 'BUDGET_CLOSED'].map(leave),
    },
  ];
  expect([...tallyOf([], entries).waits()]).toEqual([
    { outcome: 'granted', count: 1 },
    { outcome: 'timeout', count: 2 },
    { outcome: 'left', count: 1 },
    { outcome: 'refused', count: 1 },
  ]);
});

it('counts for how long callers waited for room, by how it ended, and what nobody knows together', () => {
  const tally = tallyOf([]);
  for (const [end, waitedMs] of [
    ['granted', 20],
    ['granted', 3_000],
    ['sent_away', 1_800_000],
    ['bored', 1],
    ['tired', 2],
  ] as const) {
    tally.waitEnded(end, waitedMs);
  }
  const times = Array.from(tally.waitTimes(), ({ outcome, tally: { count, sum } }) => [outcome, count, sum]);
  expect(times).toEqual([
    ['granted', 2, expect.closeTo(3.02)],
    ['sent_away', 1, 1_800],
    ['_OTHER', 2, expect.closeTo(0.003)],
  ]);
});
