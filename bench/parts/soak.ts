// A mixed load for a long time: does anything grow? Samples of memory, lag, latency and open holds; the first quarter's medians
// beside the last one's.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ServerInfoService } from '../../src/gen/budgetd/v1/server_info_pb.ts';
import { HeapProbe, inspected } from '../heap-probe.ts';
import { refusalsText } from '../load/load.ts';
import type { MixedPlan, MixedSample } from '../load/mixed.ts';
import { type BenchService, callOnce, countRows, startBenchService } from '../service.ts';
import { createTree, leafOf } from './hot-tree.ts';
import type { Figure, Part } from './part.ts';

const TREES = 20;
/** A run of minutes is sampled at least so often, so that there are quarters to compare. */
const SAMPLE_MS_MAX = 30_000;
const SAMPLES_MIN = 12;

interface Sample extends MixedSample {
  readonly atS: number;
  readonly residentMb: number;
  readonly heapMb: number;
  readonly lagMs: number;
  /** As the service counts them; those that wait for their lapse included. */
  readonly openHolds: number;
}

const MEASURED: readonly { readonly name: string; readonly unit: string; readonly of: (sample: Sample) => number }[] = [
  { name: 'resident memory', unit: 'MB', of: ({ residentMb }) => residentMb },
  { name: 'heap after a collection', unit: 'MB', of: ({ heapMb }) => heapMb },
  { name: 'projection lag', unit: 'ms', of: ({ lagMs }) => lagMs },
  { name: 'open holds', unit: '', of: ({ openHolds }) => openHolds },
  { name: 'Reserve, median', unit: 'ms', of: ({ p50Us }) => p50Us / 1_000 },
  { name: 'Reserve, 99th percentile', unit: 'ms', of: ({ p99Us }) => p99Us / 1_000 },
];

async function openHolds(address: string): Promise<number> {
  let sum = 0;
  for (let no = 0; no < TREES; no += 1) {
    const { budget } = await callOnce(address, BudgetService.method.getBudget, { budget: `soak-${no}` });
    sum += Number(budget?.totals?.activeReservations ?? 0n);
  }
  return sum;
}

async function lagMs(address: string): Promise<number> {
  const { projectionLag } = await callOnce(address, ServerInfoService.method.getServerInfo, {});
  return Number(projectionLag?.seconds ?? 0n) * 1_000 + (projectionLag?.nanos ?? 0) / 1e6;
}

async function measured(service: BenchService, probe: HeapProbe, sample: MixedSample, atS: number): Promise<Sample> {
  return {
    ...sample,
    atS,
    lagMs: await lagMs(service.address),
    openHolds: await openHolds(service.address),
    residentMb: await service.residentMb(),
    heapMb: await probe.usedMb(),
  };
}

/** Runs the load; `onSample` is awaited before the next sample is looked at. */
async function runMixedLoad(plan: MixedPlan, onSample: (sample: MixedSample) => Promise<void>): Promise<void> {
  const file = join(import.meta.dirname, '../load/mixed-load.ts');
  const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let looking = Promise.resolve();
  child.on('message', (sample: MixedSample) => {
    looking = looking.then(() => onSample(sample));
    // Told of below.
    looking.catch(() => child.kill());
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the mixed load ended with ${code}`))));
    child.send(plan);
  });
  await looking;
}

function line(sample: Sample): string {
  const figures = MEASURED.map(({ name, unit, of }) => `${name} ${of(sample).toFixed(1)} ${unit}`.trim());
  const minutes = (sample.atS / 60).toFixed(1);
  return `  ${minutes} min: ${figures.join(', ')}; ${sample.calls} calls, ${refusalsText(sample.refusals)}\n`;
}

function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function compare(samples: readonly Sample[]): readonly Figure[] {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  return MEASURED.map(({ name, unit, of }) => {
    const first = median(samples.slice(0, quarter).map(of));
    const last = median(samples.slice(-quarter).map(of));
    const note = `${first.toFixed(1)} ${unit} in the first quarter, ${last.toFixed(1)} ${unit} in the last`;
    return { name: `soak, ${name}`, ...(first > 0 && { ratio: last / first }), note };
  });
}

/** The part. */
export const soakPart: Part = {
  name: 'soak',
  what: 'a mixed load at a steady rate; ratios are the last quarter over the first',
  onlyByName: true,
  async run({ databaseUrl, soakMs, soakPerSecond }) {
    const inspector = await inspected();
    const service = await startBenchService(databaseUrl, inspector.env);
    try {
      const probe = await HeapProbe.open(inspector.port);
      const trees = Array.from({ length: TREES }, (_, no) => `soak-${no}`);
      for (const tree of trees) await createTree(service.address, tree);
      const samples: Sample[] = [];
      const startMs = performance.now();
      const plan = {
        address: service.address,
        budgets: trees.map(leafOf),
        perSecond: soakPerSecond,
        countMs: soakMs,
        sampleMs: Math.min(SAMPLE_MS_MAX, soakMs / SAMPLES_MIN),
      };
      const cpuBefore = await service.cpuSeconds();
      await runMixedLoad(plan, async (sample) => {
        const atS = (performance.now() - startMs) / 1_000;
        const full = await measured(service, probe, sample, atS);
        samples.push(full);
        process.stdout.write(line(full));
      });
      const seconds = (performance.now() - startMs) / 1_000;
      const cpuShare = ((await service.cpuSeconds()) - cpuBefore) / seconds;
      probe.close();
      const calls = samples.reduce((sum, sample) => sum + sample.calls, 0);
      const rows = await countRows(databaseUrl);
      return [
        // The last sample is of what was left to finish.
        ...compare(samples.slice(0, -1)),
        {
          name: 'soak, calls',
          perSecond: calls / seconds,
          note:
            `${(seconds / 60).toFixed(1)} min, ${(cpuShare * 100).toFixed(0)} % of one core in the service; ` +
            `${rows.entries} entries in ${rows.journalRows} journal rows, ${rows.keys} keys`,
        },
      ];
    } finally {
      await service.stop();
    }
  },
};
