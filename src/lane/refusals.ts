// Refusals that come from the lane itself and judge nothing about money: never remembered, never in the journal.
import type { TreeId } from '../kernel/names.ts';
import type { Reason, Refusal } from '../kernel/refusal.ts';

/** A full queue drains in well under this, and a lost race is over. */
const BUSY_RETRY_MS = 250;

/** A standby takes over, and a database restarts, within seconds. */
const AWAY_RETRY_MS = 1_000;

export function overloaded(why: string): Refusal {
  return busy('OVERLOADED', `too much work: ${why}`);
}

export function contention(): Refusal {
  return busy('CONTENTION', 'lost the race for this tree too often; try again');
}

export function storeUnavailable(): Refusal {
  return { ...busy('STORE_UNAVAILABLE', 'the store does not answer; nothing is granted'), retryAfterMs: AWAY_RETRY_MS };
}

export function stopping(): Refusal {
  return { ...busy('NOT_LEADER', 'this coordinator is stopping'), retryAfterMs: AWAY_RETRY_MS };
}

export function notLeader(leaderAddress: string): Refusal {
  const where = leaderAddress === '' ? 'no leader is known yet' : `the leader is ${leaderAddress}`;
  const refusal = {
    ...busy('NOT_LEADER', `this coordinator is not the leader; ${where}`),
    retryAfterMs: AWAY_RETRY_MS,
  };
  return leaderAddress === '' ? refusal : { ...refusal, leaderAddress };
}

export function callerGone(): Refusal {
  return busy('QUEUE_TIMEOUT', 'its caller is gone');
}

export function waitLost(): Refusal {
  return busy('CONTENTION', 'it waits no more, and what became of it was not seen: repeat with the same key');
}

export function treeQuarantined(treeId: TreeId, why: string): Refusal {
  const message = `tree ${treeId} is out of service until an operator has looked: ${why}`;
  return { kind: 'refusal', reason: 'TREE_QUARANTINED', message, budget: treeId };
}

function busy(reason: Reason, message: string): Refusal {
  return { kind: 'refusal', reason, message, retryAfterMs: BUSY_RETRY_MS };
}
