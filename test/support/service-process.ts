// The service in a process of its own, as a test starts it: the real one, configured through its environment, with a
// clock that the parent moves over IPC; one service after the other where the parent wants that. Stands alone because it is the child's entry point; the parent's side is
// service-under-test.ts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadConfig } from '../../src/app/config.ts';
import { createLogger } from '../../src/app/logger.ts';
import { startService } from '../../src/app/service.ts';
import { CLOCK_VARIABLE, type FromChild, type Holdings, type ToChild } from './service-messages.ts';

function say(message: FromChild): void {
  process.send?.(message);
}

// The collector is not shown to scripts unless asked for; a test that compares memory needs it, others do not pay for it.
function measure(): Holdings {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external, rss } = process.memoryUsage();
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  return { usedBytes: heapUsed + external, residentBytes: rss, sockets };
}

/** Starts a service, and does what the parent says until it has stopped. */
async function serve(environment: NodeJS.ProcessEnv): Promise<void> {
  const startMs = environment[CLOCK_VARIABLE];
  let nowMs = Number(startMs);
  const overrides = startMs === undefined ? {} : { clock: { nowMs: () => nowMs } };
  const config = loadConfig(environment);
  const service = await startService(config, createLogger(config.logLevel), overrides);
  service.onFatal(fail);
  const obey = (message: ToChild): void => {
    if (message.kind === 'move-clock') {
      nowMs = message.nowMs;
      say({ kind: 'clock-moved', nowMs });
    } else if (message.kind === 'measure') say({ kind: 'measured', ...measure() });
    else if (message.kind === 'stop') service.stop().then(() => process.exit(0), fail);
    else if (message.kind === 'rest') {
      process.off('message', obey);
      service.stop().then(rest, fail);
    }
  };
  process.on('message', obey);
  say({ kind: 'listening', grpcPort: service.grpcPort, connectPort: service.connectPort });
}

/** Waits for the environment of another service. */
function rest(): void {
  process.once('message', (message: ToChild) => {
    if (message.kind === 'serve') serve(message.environment).catch(fail);
    else fail(new Error(`"${message.kind}" was said to a process that rests`));
  });
  say({ kind: 'resting' });
}

function fail(error: unknown): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  // The exit waits for the message: the parent reads the reason from it.
  process.send?.({ kind: 'failed', message } satisfies FromChild, () => process.exit(1));
}

// Nobody is left to move the clock or to stop the service: it must not outlive its test.
process.on('disconnect', () => process.exit(1));
serve(process.env).catch(fail);
