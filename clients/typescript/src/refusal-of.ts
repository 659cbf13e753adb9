// Reads a failed call: was it a refusal of the coordinator, why, and does waiting help? Stands alone because a caller must
// tell "no" from "no answer". A call without an answer, or refused as STORE_UNAVAILABLE, may have been done: the same
// request with the same key finds out.
import { ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema, RetryInfoSchema } from './gen/google/rpc/error_details_pb.ts';

/** Why a coordinator said no. */
export interface RefusalDetails {
  /** One of the contract's reasons, for example `BUDGET_EXHAUSTED`. */
  readonly reason: string;
  /** What it is about: budget, limit, available, requested (micro-units), reservation_id, leader_address, as far as they apply. */
  readonly metadata: Readonly<Record<string, string>>;
  /** How long to wait before a retry with the same key makes sense, in milliseconds; undefined where waiting can't help. */
  readonly retryAfterMs: number | undefined;
}

/** The refusal in a failed call; undefined where it failed for any other reason (no connection, time-out, fault). */
export function refusalOf(error: unknown): RefusalDetails | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === 'budgetd');
  if (info === undefined) return undefined;
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const retryAfterMs = delay === undefined ? undefined : Number(delay.seconds) * 1_000 + delay.nanos / 1_000_000;
  return { reason: info.reason, metadata: info.metadata, retryAfterMs };
}
