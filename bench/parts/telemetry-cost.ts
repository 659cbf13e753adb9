// What counting costs a command and a call, without anything around it: the share that telemetry takes of a hot tree's
// microseconds. A figure of its own since the difference of two hot runs is smaller than their noise.
import { TELEMETRY_LABELS } from '../../src/app/telemetry-labels.ts';
import { CallTally } from '../../src/telemetry/call-tally.ts';
import { CallTelemetry } from '../../src/telemetry/call-telemetry.ts';
import type { BatchShape } from '../../src/telemetry/lane-shapes.ts';
import { LaneTally } from '../../src/telemetry/lane-tally.ts';
import type { Figure, Part } from './part.ts';

/** Commands of a batch, as at 128 and more in flight. */
const BATCH_SIZE = 256;

/** Enough for the compiler to have settled, twice: once to warm up, once to measure. */
const ROUNDS = 4_000;

const MS_TO_NS = 1_000_000;

function batchOf(kind: 'Reserve' | 'Settle'): BatchShape {
  const nowMs = performance.now();
  const figures = { state: 'SETTLED', grantedMicros: 1_000n, settledMicros: 900n, overrunMicros: 0n, estimated: false };
  const effects = [{ overrunMicros: 0n }];
  const answered = Array.from({ length: BATCH_SIZE }, (_, index) => ({
    item: { command: { kind, dryRun: false }, sinceMs: nowMs - index * 0.01 },
    answer: index % 10 === 0 ? { kind: 'refusal', reason: 'CAPACITY_HELD' } : { kind: 'reservation', replayed: false },
  }));
  const entries = answered.map(() =>
    kind === 'Settle' ? { type: 'Settled', figures, effects } : { type: 'Granted', effects },
  );
  const trees = [{ answered, entries }];
  return { outcome: 'committed', trees, takenMs: nowMs, appendMs: nowMs + 0.1, endedMs: nowMs + 3 };
}

function measure(name: string, unitsPerRound: number, round: () => void): Figure {
  let ms = 0;
  for (let pass = 0; pass < 2; pass++) {
    const startMs = performance.now();
    for (let count = 0; count < ROUNDS; count++) round();
    ms = performance.now() - startMs;
  }
  const ns = (ms * MS_TO_NS) / (ROUNDS * unitsPerRound);
  return { name, perSecond: 1e9 / ns, note: `${ns.toFixed(0)} ns each` };
}

/** See the head of this file. */
export const telemetryCostPart: Part = {
  name: 'telemetry',
  what: 'counting a command and a call, nothing else',
  run() {
    const lane = new LaneTally(TELEMETRY_LABELS.commands, TELEMETRY_LABELS.reasons);
    const batches = [batchOf('Reserve'), batchOf('Settle')];
    const calls = new CallTelemetry(new CallTally(TELEMETRY_LABELS.methods, TELEMETRY_LABELS.reasons), undefined);
    const method = TELEMETRY_LABELS.methods[0] ?? '';
    const command = measure('telemetry, a command', BATCH_SIZE * batches.length, () => {
      for (const batch of batches) lane.batchEnded(batch);
    });
    const call = measure('telemetry, a call', BATCH_SIZE, () => {
      for (let count = 0; count < BATCH_SIZE; count++) {
        const observed = calls.call(method, () => undefined);
        observed.run(() => undefined);
        observed.end(0);
      }
    });
    return Promise.resolve([command, call]);
  },
};
