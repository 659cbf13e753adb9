/**
 * The settings the embedded server always runs with. They go on its command line, where they win over postgresql.conf and
 * ALTER SYSTEM, so that an acknowledged commit is on disk whatever was edited in the data folder.
 */

/** Command-line arguments of `postgres` for a data directory and a loopback port. */
export function serverArguments(clusterDir: string, port: number): readonly string[] {
  return ['-D', clusterDir, ...SETTINGS.flatMap(([name, value]) => ['-c', `${name}=${value}`]), '-c', `port=${port}`];
}

const SETTINGS: readonly (readonly [name: string, value: string])[] = [
  // Reachable from this machine only.
  ['listen_addresses', '127.0.0.1'],
  // No socket file: its path may not pass about 100 bytes, and data folders may.
  ['unix_socket_directories', ''],

  // Durability: an answer is sent after the commit, and the commit must survive a power cut and torn pages.
  ['fsync', 'on'],
  ['synchronous_commit', 'on'],
  ['full_page_writes', 'on'],

  // The journal's tail, the key index and the projections of live holds fit in here, and so does the whole on a laptop.
  ['shared_buffers', '256MB'],
  // A writer, a projector, readers, and room for people and for measuring against 64 connections; each unused one is a few kB.
  ['max_connections', '100'],
  // A batch is one commit of up to some MB; the default of shared_buffers / 32 would write in the middle of it.
  ['wal_buffers', '16MB'],
  // The packaged builds carry no lz4 or zstd, and pglz would spend the writer's time on each page image.
  ['wal_compression', 'off'],
  // After a checkpoint each page's first change logs the whole page, so rare checkpoints make for small commits. What is left to
  // redo after a crash stays bounded by max_wal_size: under a minute at the 50 MB/s of a slow disk.
  ['checkpoint_timeout', '15min'],
  ['max_wal_size', '2GB'],
  // Segments are reused instead of created and filled while a commit waits.
  ['min_wal_size', '256MB'],
  // A batch may touch many trees under SERIALIZABLE; running out of predicate locks fails a batch that did nothing wrong.
  ['max_pred_locks_per_transaction', '256'],
  // Statements are short; compiling one takes longer than running it.
  ['jit', 'off'],

  // Everything here is in UTC, whatever the machine's zone was when the cluster was made.
  ['timezone', 'UTC'],
  ['log_timezone', 'UTC'],
  ['log_line_prefix', '%m [%p] '],
  // Standard error goes to a file of ours; a collector process would need a folder and a rotation of its own.
  ['logging_collector', 'off'],
];
