// What makes `status` fail, and what is only worth knowing: one row each.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import type { HealthStatus } from '../../../src/app/cli/connection.ts';
import { diagnose } from '../../../src/app/cli/diagnose.ts';
import { GetServerInfoResponseSchema } from '../../../src/gen/budgetd/v1/server_info_pb.ts';

const nowMs = Date.UTC(2026, 2, 2, 9);

const gpt = { provider: 'openai', model: 'gpt-9' };

type Change = MessageInitShape<typeof GetServerInfoResponseSchema>;

function judge(change: Change, health: HealthStatus = 'SERVING') {
  const well = { leader: true, databaseVersion: '18.4', time: timestampFromMs(nowMs) };
  return diagnose(create(GetServerInfoResponseSchema, { ...well, ...change }), health, nowMs);
}

describe('diagnose', () => {
  it('finds nothing at a coordinator that is well', () => {
    const justBelow = {
      projectionLag: { seconds: 5n, nanos: 0 },
      queueDepth: 1000n,
      time: timestampFromMs(nowMs + 2000),
    };
    expect(judge(justBelow)).toEqual({ problems: [], warnings: [] });
  });

  it.each<[string, Change, HealthStatus, string]>([
    ['bad health', {}, 'NOT_SERVING', 'health is NOT_SERVING: new work is refused'],
    ['no database', { databaseVersion: '' }, 'SERVING', 'the database cannot be reached'],
    ['no leader', { leader: false }, 'SERVING', 'this is a standby and no leader is known'],
    [
      'a quarantined tree',
      { quarantinedTrees: ['acme', 'beta'] },
      'SERVING',
      'out of service because their records do not agree: acme, beta (run budgetctl verify)',
    ],
    [
      'a price book that is not as it was written',
      { prices: { problem: 'CorruptPriceError: row x lacks fields' } },
      'SERVING',
      'the price book cannot be read, so that nothing has a price: CorruptPriceError: row x lacks fields',
    ],
    ['lag', { projectionLag: { seconds: 5n, nanos: 1_000_000 } }, 'SERVING', 'reads are 5s behind the journal'],
  ])('%s is a problem', (_, change, health, problem) => {
    expect(judge(change, health)).toEqual({ problems: [problem], warnings: [] });
  });

  it.each<[string, Change, string]>([
    ['a standby', { leader: false, leaderAddress: '10.0.0.7:50051' }, 'this is a standby: writes go to 10.0.0.7:50051'],
    ['an uncapped root', { uncappedBudgets: ['lab', 'dev'] }, 'without any limit: lab, dev'],
    ['a long queue', { queueDepth: 1001n }, '1001 commands wait to be decided'],
    [
      'a price that was missed',
      {
        prices: {
          unknownPrices: [{ budget: 'acme', model: gpt, why: 'no_row', count: 2n, lastTime: timestampFromMs(nowMs) }],
        },
      },
      'refused since the start, for want of a price then: openai/gpt-9 for acme (no_row), 2 times, last 2026-03-02 09:00:00Z (budgetctl prices)',
    ],
    ['a fast clock', at(3000), "its clock is 3s ahead of this machine's; leases go by its clock"],
    ['a slow clock', at(-3000), "its clock is 3s behind this machine's; leases go by its clock"],
  ])('%s is worth a warning', (_, change, warning) => {
    expect(judge(change)).toEqual({ problems: [], warnings: [warning] });
  });
});

function at(skewMs: number): Change {
  return { time: timestampFromMs(nowMs + skewMs) };
}
