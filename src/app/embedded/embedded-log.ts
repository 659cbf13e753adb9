/** How the embedded database tells its news. Apart, so that no step depends on the file that puts the steps in order. */

/** `fields` are values to log beside the message; never a password. */
export type EmbeddedLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;
