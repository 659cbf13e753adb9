import { describe, expect, it } from 'vitest';
import { CallTally } from '../../../src/telemetry/call-tally.ts';

const tally = () => new CallTally(['a.B/C', 'a.B/D'], ['FORBIDDEN']);

describe('calls', () => {
  it('are counted by method and status', () => {
    const calls = tally();
    calls.ended(calls.methodIndex('a.B/C'), 0, 0.002);
    calls.ended(calls.methodIndex('a.B/C'), 8, 0.004);
    calls.ended(calls.methodIndex('a.B/C'), 8, 0.004);
    const series = Array.from(calls.series(), ({ method, status, tally: { count } }) => [method, status, count]);
    expect(series).toEqual([
      ['a.B/C', 'OK', 1],
      ['a.B/C', 'RESOURCE_EXHAUSTED', 2],
    ]);
  });

  it.each([-1, 17, 99])('with the status %d, which gRPC does not have, are UNKNOWN', (code) => {
    const calls = tally();
    calls.ended(calls.methodIndex('a.B/D'), code, 0.001);
    expect(Array.from(calls.series(), ({ status }) => status)).toEqual(['UNKNOWN']);
  });

  it('of methods that nobody knows are counted together', () => {
    const calls = tally();
    for (const name of ['x', 'y', 'z']) calls.ended(calls.methodIndex(name), 0, 0.001);
    expect(Array.from(calls.series(), ({ method, tally: { count } }) => [method, count])).toEqual([['_OTHER', 3]]);
  });
});

it('counts refusals by reason, unknown ones together', () => {
  const calls = tally();
  for (const reason of ['FORBIDDEN', 'x', 'y']) calls.refused(reason);
  expect([...calls.refusals()]).toEqual([
    { reason: 'FORBIDDEN', count: 1 },
    { reason: '_OTHER', count: 2 },
  ]);
});
