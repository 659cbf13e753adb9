// What the tests of budgetctl share: a way to run a command line against the fake, and one budget and one reservation
// with the text that a person gets to see of them.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { runCommandLine } from '../../../src/app/cli/program.ts';
import type { CliContext } from '../../../src/app/cli/session.ts';
import { type BudgetSchema, BudgetState } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { type ReservationSchema, ReservationState } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { keepTerminal } from '../../unit/cli/plain-terminal.ts';
import type { FakeCoordinator } from './fake-coordinator.ts';

/** The clock of the person's machine. */
export const nowMs = Date.UTC(2026, 2, 2, 9);
/** Id of the reservation below. */
export const ID = 'acme:06fk2xw8q4h1v0t7m3r9ca';

/** What a run left behind. */
export interface Result {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line against the fake, words as a shell would split them. */
export async function runCli(
  fake: Pick<FakeCoordinator, 'address'>,
  words: readonly string[],
  change: Partial<CliContext> = {},
): Promise<Result> {
  const { terminal, stdout, stderr } = keepTerminal();
  const exitCode = await runCommandLine(words, {
    terminal,
    environment: { BUDGETD_SERVER: fake.address },
    nowMs: () => nowMs,
    runVerify: () => Promise.reject(new Error('not expected')),
    repairs: {
      rebuildProjection: () => Promise.reject(new Error('not expected')),
      listQuarantine: () => Promise.reject(new Error('not expected')),
      clearQuarantine: () => Promise.reject(new Error('not expected')),
    },
    spend: {
      readMonths: () => Promise.reject(new Error('not expected')),
      readEstimateShares: () => Promise.reject(new Error('not expected')),
    },
    onInterrupt: () => () => undefined,
    confirm: () => Promise.resolve(undefined),
    ...change,
  });
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

/** A budget with a limit of 10 USD. */
export const acme: MessageInitShape<typeof BudgetSchema> = {
  budget: 'acme',
  kind: 'tenant',
  owner: 'finance',
  labels: { env: 'prod', area: 'x' },
  unit: 'USD',
  state: BudgetState.ACTIVE,
  revision: 3n,
  etag: 'e3',
  createTime: timestampFromMs(nowMs),
  limits: [{ name: 'lifetime', amountMicros: 10_000_000n, window: { kind: { case: 'lifetime', value: {} } } }],
  balances: [
    {
      limit: 'lifetime',
      amountMicros: 10_000_000n,
      settledMicros: 2_000_000n,
      heldMicros: 500_000n,
      availableMicros: 7_500_000n,
    },
  ],
  totals: { settledMicros: 2_000_000n, heldMicros: 500_000n, activeReservations: 2n },
  availability: { availableMicros: 7_500_000n, budget: 'acme', limit: 'lifetime', unit: 'USD' },
};

/** That budget as people see it. */
export const ACME_DRAWN = `budget     acme
kind       tenant
owner      finance
labels     area=x env=prod
state      active
available  7.5 USD, bound by acme lifetime
settled    2 USD in all
held       0.5 USD by 2 live
revision   3
created    2026-03-02 09:00:00Z

BUDGET                        SETTLED  HELD  AVAILABLE  OF  UNIT
──────  ────────────────────  ───────  ────  ─────────  ──  ────
acme    ████▓░░░░░░░░░░░░░░░        2   0.5        7.5  10  USD

█ settled  ▓ held  ░ available  · out of reach (held back by a budget above)
`;

/** A live reservation, partly granted; `change` sets other fields. */
export function reservation(
  change: MessageInitShape<typeof ReservationSchema> = {},
): MessageInitShape<typeof ReservationSchema> {
  return {
    reservationId: ID,
    budget: 'acme/triage',
    state: ReservationState.ACTIVE,
    requestedMicros: 300_000n,
    grantedMicros: 250_000n,
    heldMicros: 250_000n,
    createTime: timestampFromMs(nowMs),
    expireTime: timestampFromMs(nowMs + 60_000),
    renewAfter: timestampFromMs(nowMs + 30_000),
    holder: 'worker-7',
    unit: 'USD',
    ...change,
  };
}

/** What is available beside the reservation. */
export const availability = { availableMicros: 7_250_000n, budget: 'acme', limit: 'lifetime', unit: 'USD' };

/** The reservation and what is available, as people see them. */
export const RESERVATION_DRAWN = `reservation  ${ID}
budget       acme/triage
state        active
granted      0.25 USD of 0.3 USD asked
held         0.25 USD
holder       worker-7
expires      2026-03-02 09:01:00Z
renew after  2026-03-02 09:00:30Z
available    7.25 USD, bound by acme lifetime
`;
