// The options that say how to reach the coordinator, with their environment variables and defaults. Shared by budgetctl
// and the demo, so that both find the same one.
import { Option } from 'commander';
import { parseDurationMs } from './duration.ts';

/** Where `npm start` listens. */
const DEFAULT_SERVER = '127.0.0.1:50051';
/** Longer than any answer that the service means to give, short enough for a person to wait. */
const DEFAULT_TIMEOUT_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** `--server`, else BUDGETD_SERVER, else where `npm start` listens. */
export function serverOption(environment: Environment): Option {
  const option = new Option('--server <host:port>', 'the coordinator; also BUDGETD_SERVER');
  return option.default(environment['BUDGETD_SERVER'] || DEFAULT_SERVER);
}

/** `--token`, else BUDGETD_TOKEN, else none. The help never shows what the environment holds. */
export function tokenOption(environment: Environment): Option {
  const option = new Option('--token <token>', 'bearer token, sent unencrypted; better in BUDGETD_TOKEN');
  return option.default(environment['BUDGETD_TOKEN'] || undefined, 'none');
}

/** `--timeout`, in milliseconds once parsed. */
export function timeoutOption(): Option {
  const option = new Option('--timeout <time>', 'how long one call may take');
  return option.argParser(parseDurationMs).default(DEFAULT_TIMEOUT_MS, '10s');
}
