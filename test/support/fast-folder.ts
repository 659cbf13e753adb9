// Where the database servers of tests keep their files: in memory where there is room. They are made, copied and dropped by
// the hundred, and each time the server waits until every file is on the disk; no test is about the disk.
import { statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';

// A folder of files in memory, on Linux.
const MEMORY_FOLDER = '/dev/shm';
// A run keeps about 100 MB there; PostgreSQL's log alone may grow to 2 GiB where nothing has a checkpoint written.
const ROOM_BYTES = 4 * 1024 ** 3;

/** An existing folder; the system's own for temporary files where memory is short. */
export async function fastFolder(): Promise<string> {
  if (freemem() < ROOM_BYTES) return tmpdir();
  const room = await statfs(MEMORY_FOLDER).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= ROOM_BYTES ? MEMORY_FOLDER : tmpdir();
}
