// Length of a lease as a request states it. Its own file because the default is part of the contract (DESIGN section 5).
import type { Duration } from '@bufbuild/protobuf/wkt';
import { checkDuration, SECOND_TO_DAY } from './durations.ts';
import type { Problems } from './problems.ts';

const TTL_MS_DEFAULT = 60_000;

/** The lease in milliseconds: 1 s to 24 h in whole milliseconds, 60 s where unset. */
export function checkTtl(problems: Problems, field: string, ttl: Duration | undefined): number {
  return ttl === undefined ? TTL_MS_DEFAULT : checkDuration(problems, field, ttl, SECOND_TO_DAY);
}
