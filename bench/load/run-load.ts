// Runs a load generator in a process of its own, so that it takes no time of the process that measures.
import { fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { LoadPlan, LoadReport, PacedPlan, PacedReport } from './load.ts';

/** Which generator. */
export type LoadKind = 'session' | 'unary';

/** Runs one load to its end. Rejects where the generator fails. */
export function runLoad(kind: LoadKind, plan: LoadPlan): Promise<LoadReport> {
  return runIn(kind, plan);
}

/**
 * The same, with what processor time everything else leaves: for a load that stands for other machines beside one whose latency is
 * measured.
 */
export function runLoadBehind(kind: LoadKind, plan: LoadPlan): Promise<LoadReport> {
  return runIn(kind, plan, constants.priority.PRIORITY_LOW);
}

/** Runs one load at a steady rate to its end. Rejects where the generator fails. */
export function runPacedLoad(plan: PacedPlan): Promise<PacedReport> {
  return runIn('paced', plan);
}

function runIn<Plan extends object, Report>(kind: string, plan: Plan, priority?: number): Promise<Report> {
  const child = fork(join(import.meta.dirname, `${kind}-load.ts`), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (report) => resolve(report as Report));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the ${kind} load ended with ${code}`)));
    if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
    child.send(plan);
  });
}
