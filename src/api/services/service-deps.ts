// What the services need from around them.
import type { Coordinator } from '../../lane/coordinator.ts';
import type { ReadModels } from '../../store/reads.ts';
import type { ApiLog } from '../api-log.ts';
import type { ApiObserver } from '../api-observer.ts';
import type { WatchLimits } from '../events/watch-limits.ts';

/** Everything that the services are made from. */
export interface ServiceDeps {
  readonly coordinator: Coordinator;
  readonly reads: ReadModels;
  readonly log: ApiLog;
  /** Default: nobody. */
  readonly observer?: ApiObserver | undefined;
  /** Bounds of watches. Default: WATCH_LIMITS. */
  readonly watchLimits?: WatchLimits | undefined;
  /** Version of budgetd, for ServerInfo. */
  readonly version: string;
  /** Where the database comes from, for ServerInfo. */
  readonly databaseKind: 'embedded' | 'external';
}
