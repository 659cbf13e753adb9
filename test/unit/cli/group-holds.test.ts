// `top` adds up exactly, never across units, the largest first.
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { drawHolders, groupHolds, holdersToJson } from '../../../src/app/cli/group-holds.ts';
import { ReservationSchema } from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import { keepTerminal } from './plain-terminal.ts';

const startMs = Date.UTC(2026, 2, 2, 9);

function hold(holder: string, budget: string, heldMicros: bigint, unit: string, createS: number) {
  const createTime = timestampFromMs(startMs + createS * 1000);
  const expireTime = timestampFromMs(startMs + (createS + 60) * 1000);
  return create(ReservationSchema, { holder, budget, heldMicros, settledMicros: 1n, unit, createTime, expireTime });
}

const holds = [
  hold('small', 'acme/a', 100_000n, 'USD', 0),
  hold('big', 'acme/a', 200_000n, 'USD', 10),
  hold('big', 'acme/b', 9_007_199_254_740_993n, 'USD', 5),
  hold('big', 'other', 500_000n, 'credits', 20),
  hold('', 'acme/a', 1n, 'USD', 30),
];

it('adds up by holder and unit', () => {
  expect(
    groupHolds(holds, 'holder').map((group) => [group.name, group.unit, group.reservations, group.heldMicros]),
  ).toEqual([
    ['big', 'USD', 2, 9_007_199_254_940_993n],
    ['small', 'USD', 1, 100_000n],
    ['', 'USD', 1, 1n],
    ['big', 'credits', 1, 500_000n],
  ]);
});

it('adds up by budget', () => {
  expect(groupHolds(holds, 'budget').map((group) => [group.name, group.reservations])).toEqual([
    ['acme/b', 1],
    ['acme/a', 3],
    ['other', 1],
  ]);
});

it('draws oldest and next lease by the given clock', () => {
  const drawn = drawHolders(groupHolds(holds, 'holder'), 'holder', startMs + 40_000, keepTerminal().terminal);
  expect(drawn.split('\n').slice(2)).toEqual([
    'big             2  9007199254.940993        0.000002  USD         35s           in 25s',
    'small           1           0.1             0.000001  USD         40s           in 20s',
    '(not said)      1           0.000001        0.000001  USD         10s           in 50s',
    'big             1           0.5             0.000001  credits     20s           in 40s',
  ]);
});

it('gives programs strings for amounts', () => {
  expect(JSON.parse(holdersToJson(groupHolds(holds.slice(2, 3), 'holder'), 'holder', true))).toEqual({
    by: 'holder',
    holders: [
      {
        name: 'big',
        unit: 'USD',
        reservations: 1,
        heldMicros: '9007199254740993',
        settledMicros: '1',
        oldestCreateTime: '2026-03-02T09:00:05.000Z',
        nextExpireTime: '2026-03-02T09:01:05.000Z',
      },
    ],
    truncated: true,
  });
});
