// ServerInfoService: how the coordinator is. Always answered, by leaders and standbys, with the store or without.
import type { GetServerInfoResponse, ServerInfoService } from '../../gen/budgetd/v1/server_info_pb.ts';
import { type BudgetPath, type TreeId, treeOf } from '../../kernel/names.ts';
import { isRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { seesBudget, seesTree } from '../auth/permissions.ts';
import { priceStatusMessage } from '../encode/price-book-message.ts';
import { durationFromMs, timestampFromMs } from '../encode/time.ts';
import type { UnaryHandlers } from './handler.ts';
import { readOrRefuse } from './list-page.ts';
import type { ServiceDeps } from './service-deps.ts';

// The contract says up to 100 of each.
const NAMES_MAX = 100;

async function serverInfo(deps: ServiceDeps, actor: Actor): Promise<GetServerInfoResponse> {
  const { coordinator, reads, log } = deps;
  const status = coordinator.status();
  const [database, uncapped] = await Promise.all([
    readOrRefuse(reads.databaseInfo(), log),
    readOrRefuse(reads.uncappedRoots(NAMES_MAX), log),
  ]);
  const { version, schemaVersion } = isRefusal(database) ? { version: '', schemaVersion: 0 } : database.value;
  const uncappedRoots = isRefusal(uncapped) ? [] : uncapped.value;
  return {
    $typeName: 'budgetd.v1.GetServerInfoResponse',
    version: deps.version,
    leader: status.leader,
    leaderAddress: status.leaderAddress,
    leaderEpoch: BigInt(status.epoch),
    projectionLag: durationFromMs(Math.max(0, Math.round(status.projectionLagMs))),
    databaseVersion: version,
    databaseKind: deps.databaseKind,
    schemaVersion,
    uncappedBudgets: uncappedRoots.filter((path) => seesTree(actor, treeOf(path)) && seesBudget(actor, path)),
    queueDepth: BigInt(status.queueDepth),
    waitingCount: BigInt(status.waitingCount),
    time: timestampFromMs(coordinator.nowMs()),
    prices: priceStatusMessage(coordinator.prices.status(), (path) => seesBudget(actor, path as BudgetPath)),
    quarantinedTrees: status.quarantinedTrees.slice(0, NAMES_MAX).filter((treeId) => seesTree(actor, treeId as TreeId)),
  };
}

/** The handlers of ServerInfoService. */
export function createServerInfoService(deps: ServiceDeps): UnaryHandlers<typeof ServerInfoService> {
  return { getServerInfo: (_request, { actor }) => serverInfo(deps, actor) };
}
