// A budget with one of everything that a budget may have beside its lifetime limit. Its own file because several tests show or edit it.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { BudgetSchema } from '../../../src/gen/budgetd/v1/budget_pb.ts';
import { CalendarUnit } from '../../../src/gen/budgetd/v1/limit_pb.ts';
import { OverrunPolicy, RateKind } from '../../../src/gen/budgetd/v1/terms_pb.ts';
import { acme } from './run-cli.ts';

const minute = { seconds: 60n };

type BudgetInit = Exclude<MessageInitShape<typeof BudgetSchema>, { $typeName: string }>;
const plain = acme as BudgetInit;

/** acme with a limit of the day beside its lifetime one, rates, bounds, and a template inside a template. */
export const rich: BudgetInit = {
  ...plain,
  limits: [
    ...(plain.limits ?? []),
    {
      name: 'day:Asia/Tokyo',
      amountMicros: 4_000_000n,
      window: { kind: { case: 'calendar', value: { unit: CalendarUnit.DAY, timeZone: 'Asia/Tokyo' } } },
    },
    {
      name: 'brake',
      amountMicros: 3_000_000n,
      window: { kind: { case: 'rolling', value: { duration: { seconds: 5_400n } } } },
    },
  ],
  balances: [
    ...(plain.balances ?? []),
    {
      limit: 'day:Asia/Tokyo',
      amountMicros: 5_000_000n,
      settledMicros: 1_000_000n,
      availableMicros: 4_000_000n,
      periodStartTime: timestampFromMs(Date.UTC(2026, 2, 1, 15)),
      periodEndTime: timestampFromMs(Date.UTC(2026, 2, 2, 15)),
    },
    { limit: 'brake', amountMicros: 3_000_000n, availableMicros: 3_000_000n },
  ],
  rates: [
    { kind: RateKind.REQUESTS, count: 60n, per: minute, burst: 60n },
    { kind: RateKind.TOKENS, count: 1_000n, per: minute, burst: 5_000n },
  ],
  rateStandings: [
    { kind: RateKind.REQUESTS, per: minute, availableCount: 57n },
    { kind: RateKind.TOKENS, per: minute, availableCount: 0n },
  ],
  shape: { maxActive: 20, maxReservationMicros: 2_500_000n },
  overrun: OverrunPolicy.REJECT,
  childTemplate: {
    kind: 'run',
    limits: [{ amountMicros: 2_000_000n }],
    shape: { closeAfter: { seconds: 86_400n } },
    childTemplate: { kind: 'step', uncapped: true },
  },
  openChildren: 3n,
};
