// A coordinator over some store as the target of the model tests: its clock stands still until a command moves it, and a
// restart stops it and starts another on the same store.
import { type RunningCoordinator, startCoordinator } from '../../src/lane/create-coordinator.ts';
import type { Store } from '../../src/store/port.ts';
import { Commands } from '../support/commands.ts';
import { START_MS } from '../support/kernel-driver.ts';
import type { Target } from './model-command.ts';

/** Starts one on `store`. `spoil` is called for trouble with the next append. */
export async function openLane(
  store: Store,
  treeId: string,
  graceMs: number,
  spoil: Target['spoilNextAppend'] = () => undefined,
): Promise<Target> {
  let nowMs = START_MS;
  const clock = { nowMs: () => nowMs };
  const start = (): Promise<RunningCoordinator> =>
    startCoordinator({ store, log: () => undefined, address: '127.0.0.1:1', graceMs, reaper: true, clock });
  let coordinator = await start();
  return {
    make: new Commands(treeId),
    submit: (command) => coordinator.submit(command),
    advance: (ms) => {
      nowMs += ms;
    },
    restart: async () => {
      await coordinator.stop();
      coordinator = await start();
    },
    spoilNextAppend: spoil,
    stop: () => coordinator.stop(),
  };
}
