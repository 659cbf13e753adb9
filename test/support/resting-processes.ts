// Processes whose service has stopped in order, kept for the services to come: starting Node and loading the sources costs ten
// times what a service itself costs to start. Nothing else is kept: each service has its own environment, clock and database.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** See the head of this file. To be closed by whoever made it. */
export class RestingProcesses {
  readonly #children: ChildProcess[] = [];

  /** Takes a process that can serve at once; undefined where there is none. */
  take(): ChildProcess | undefined {
    for (let child = this.#children.pop(); child !== undefined; child = this.#children.pop())
      if (child.connected) return child;
    return undefined;
  }

  /** Keeps a process that serves nobody. */
  give(child: ChildProcess): void {
    this.#children.push(child);
  }

  /** Ends all that rest. */
  async close(): Promise<void> {
    const ends = this.#children.splice(0).map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    });
    await Promise.all(ends);
  }
}
