// Runs a load generator in a process of its own, so that it takes no time of the process that measures.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadPlan, LoadReport } from './load.ts';

/** Which generator. */
export type LoadKind = 'session' | 'unary';

/** Runs one load to its end. Rejects where the generator fails. */
export function runLoad(kind: LoadKind, plan: LoadPlan): Promise<LoadReport> {
  const child = fork(join(import.meta.dirname, `${kind}-load.ts`), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (report) => resolve(report as LoadReport));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the ${kind} load ended with ${code}`)));
    child.send(plan);
  });
}
