// Length of a lease as a request states it. Its own file because Reserve and Renew must take the same, and what an unset one means
// depends on the budgets: the kernel says it.
import type { Duration } from '@bufbuild/protobuf/wkt';
import { checkDuration, SECOND_TO_DAY } from './durations.ts';
import type { Problems } from './problems.ts';

/** The lease in milliseconds: 1 s to 24 h in whole milliseconds; undefined where unset. */
export function checkTtl(problems: Problems, field: string, ttl: Duration | undefined): number | undefined {
  return ttl === undefined ? undefined : checkDuration(problems, field, ttl, SECOND_TO_DAY);
}
