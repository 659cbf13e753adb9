// What every scenario is: a name, a seed's chance, and something that it breaks. It throws where a promise was broken.
import type { AuditReport } from '../audit.ts';
import type { FaultWorld } from '../fault-world.ts';
import type { Random } from '../random.ts';

/** What one run of a scenario came to. */
export interface Outcome {
  readonly report: AuditReport;
  /** Attempts by what they were told. */
  readonly told: Readonly<Record<string, number>>;
  /** Figures worth writing down, for example how long a takeover took. */
  readonly measured?: Readonly<Record<string, number>>;
}

/** One fault. `run` returns why it can't be played on this machine, where it can't. */
export interface Scenario {
  readonly name: string;
  run(random: Random): Promise<Outcome | string>;
}

/** Thrown where a scenario finds a broken promise. */
class BrokenPromiseError extends Error {
  override readonly name = 'BrokenPromiseError';
}

/** Throws BrokenPromiseError unless the condition holds. */
export function must(condition: boolean, promise: string): asserts condition {
  if (!condition) throw new BrokenPromiseError(promise);
}

/** Audits a world and throws where anything is found. */
export async function conclude(
  world: FaultWorld,
  measured: Readonly<Record<string, number>> = {},
  damaged?: ReadonlySet<string>,
): Promise<Outcome> {
  const report = await world.audit(damaged);
  const said = world.replicas.map(({ service }) => service.logTail());
  must(report.problems.length === 0, `the audit found:\n${report.problems.join('\n')}\n${said.join('\n')}`);
  return { report, told: world.history.counts(), measured };
}
