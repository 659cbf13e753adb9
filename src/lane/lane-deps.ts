// What the lane is made with. Its own file because the lane's is long, and because who puts the lane together reads only this.
import type { PersonalFields } from '../kernel/command.ts';
import type { LeaderGap } from '../kernel/decide-grace.ts';
import type { QueueContext } from '../kernel/decision.ts';
import type { TreeId } from '../kernel/names.ts';
import type { Pricing } from '../kernel/price.ts';
import type { Calendar } from '../kernel/window.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from './clock.ts';
import type { LaneObserver } from './lane-observer.ts';
import type { Log } from './log.ts';

/** Everything the lane works with. */
export interface LaneDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly graceMs: number;
  /** Finds the periods of calendar windows. */
  readonly calendar: Calendar;
  /** See DecideContext. */
  readonly implausibleFactor: number;
  /** See QueueContext. */
  readonly queue: Pick<QueueContext, 'ageMs' | 'countMax'>;
  readonly pricing: Pricing;
  readonly commit: (fields: PersonalFields) => string;
  readonly log: Log;
  /** The epoch under which this process may append; undefined while it is not the writer. */
  readonly epoch: () => number | undefined;
  /** The time without a leader before this process's epoch, where it is known. */
  readonly gap?: () => LeaderGap | undefined;
  /** Where the writer can be reached, as far as known. */
  readonly leaderAddress: () => string;
  /** Called when an append under `epoch` found another one. */
  readonly onFenced: (epoch: number) => void;
  /** Called with every tree that was appended to, and by how many entries. */
  readonly onCommitted: (treeId: TreeId, entryCount: number) => void;
  /**
   * Brings the projection of a tree up to its journal, so that it can be loaded. Default: nothing does, and a tree too far
   * behind is refused until somebody has.
   */
  readonly catchUp?: (treeId: TreeId) => Promise<void>;
  /** Why new work is refused for now; undefined where it isn't. */
  readonly overload: () => string | undefined;
  /** Commands in one transaction. Default: 256. */
  readonly batchCountMax?: number | undefined;
  /** Default: nobody. */
  readonly observer?: LaneObserver | undefined;
  /** Called when `storeDown` has changed. */
  readonly onStoreChange?: () => void;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}
