// Judges how a coordinator is, from what it says of itself. Pure; its own file because what counts as a problem (and
// makes `status` fail) and what is only worth knowing has to be decided in one place.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { UnknownPrice } from '../../gen/budgetd/v1/price_pb.ts';
import type { GetServerInfoResponse } from '../../gen/budgetd/v1/server_info_pb.ts';
import type { HealthStatus } from './connection.ts';
import { durationToMs, formatDurationMs } from './duration.ts';
import { formatInstant } from './instant.ts';

/** The projector runs several times a second: behind by this much, it has stopped or cannot keep up. */
const PROJECTION_LAG_MS_MAX = 5_000;
/** A batch takes some hundred commands: more than this many waiting is a queue that people feel. */
const QUEUE_DEPTH_MAX = 1_000;
/** Clocks that NTP keeps differ by far less; leases are short enough for this much to matter to a holder. */
const CLOCK_SKEW_MS_MAX = 2_000;

/** What was found. */
export interface Diagnosis {
  /** Reasons not to rely on this coordinator now. */
  readonly problems: readonly string[];
  /** Things to look at that stop nothing. */
  readonly warnings: readonly string[];
}

/** Judges a coordinator. `nowMs` is this machine's clock at the time of the answer. */
export function diagnose(info: GetServerInfoResponse, health: HealthStatus, nowMs: number): Diagnosis {
  const lagMs = durationToMs(info.projectionLag);
  const skewMs = info.time === undefined ? 0 : timestampMs(info.time) - nowMs;
  const trees = info.quarantinedTrees.join(', ');
  const unknown = (info.prices?.unknownPrices ?? []).map(unknownText);
  const found = (isSo: boolean, text: string): string[] => (isSo ? [text] : []);
  return {
    problems: [
      ...found(health !== 'SERVING', `health is ${health}: new work is refused`),
      ...found(info.databaseVersion === '', 'the database cannot be reached'),
      ...found(!info.leader && info.leaderAddress === '', 'this is a standby and no leader is known'),
      ...found(trees !== '', `out of service because their records do not agree: ${trees} (run budgetctl verify)`),
      ...found(
        (info.prices?.problem ?? '') !== '',
        `the price book cannot be read, so that nothing has a price: ${info.prices?.problem}`,
      ),
      ...found(lagMs > PROJECTION_LAG_MS_MAX, `reads are ${formatDurationMs(lagMs)} behind the journal`),
    ],
    warnings: [
      ...found(!info.leader && info.leaderAddress !== '', `this is a standby: writes go to ${info.leaderAddress}`),
      ...found(info.uncappedBudgets.length > 0, `without any limit: ${info.uncappedBudgets.join(', ')}`),
      ...found(
        info.prices?.stale === true,
        `the catalogue of prices is ${formatDurationMs(durationToMs(info.prices?.age))} old: upgrade budgetd, or add prices (budgetctl prices add)`,
      ),
      ...found(
        unknown.length > 0,
        `refused since the start, for want of a price then: ${unknown.join('; ')} (budgetctl prices)`,
      ),
      ...found(info.queueDepth > BigInt(QUEUE_DEPTH_MAX), `${info.queueDepth} commands wait to be decided`),
      ...found(
        Math.abs(skewMs) > CLOCK_SKEW_MS_MAX,
        `its clock is ${formatDurationMs(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's; leases go by its clock`,
      ),
    ],
  };
}

/** `openai/gpt-99 for acme (no_row), 2 times, last 2026-11-30 13:42:07Z`. */
export function unknownText({ budget, model, unit, why, count, lastTime }: UnknownPrice): string {
  const what = model === undefined ? unit : `${model.provider}/${model.model}`;
  const times = count === 1n ? 'once' : `${count} times`;
  return `${what} for ${budget}${why === '' ? '' : ` (${why})`}, ${times}, last ${formatInstant(lastTime)}`;
}
