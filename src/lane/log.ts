// How the lane says what a person should know. Stands alone so that it depends on no logging library.

/** Levels as in pino. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes one structured line. Must not throw. */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void;
