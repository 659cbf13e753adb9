// Structured logs with pino, in the shapes that the rooms below take.
import { pino } from 'pino';
import type { ApiLog } from '../api/api-log.ts';
import type { Log } from '../lane/log.ts';
import { traceFields } from '../telemetry/trace-fields.ts';
import type { LogLevelName } from './config.ts';

/** One logger in the shapes of lane and api. */
export interface Logger {
  readonly lane: Log;
  readonly api: ApiLog;
}

/**
 * Writes JSON lines to standard error, so that standard output stays free for what a person should read. A line written
 * within a span carries its `trace_id` and `span_id`.
 */
export function createLogger(level: LogLevelName): Logger {
  const logger = pino(
    { level, base: { service: 'budgetd' }, mixin: traceFields },
    pino.destination({ dest: 2, sync: true }),
  );
  return {
    api: logger,
    lane: (at, message, fields) => {
      const { error, ...rest } = fields ?? {};
      logger[at](error === undefined ? rest : { ...rest, err: error }, message);
    },
  };
}
