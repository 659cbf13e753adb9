// What it costs to put those who wait into their line, in whatever order they come. Counted, not timed.
import { beforeEach, describe, expect, it } from 'vitest';
import { WaitLine } from '../../../src/kernel/wait-line.ts';
import type { Waiting } from '../../../src/kernel/wait-order.ts';
import { WaitQueue } from '../../../src/kernel/wait-queue.ts';

const COUNT = 4_000;

/** How often somebody asked when one of them came. */
let looks = 0;

beforeEach(() => {
  looks = 0;
});

function waiter(seq: number): Waiting {
  const queued = {
    get seq() {
      looks += 1;
      return seq;
    },
    key: { digest: `d${seq}`, fingerprint: '' },
    untilMs: 1_000_000 + seq,
    minMicros: 1n,
    tokens: 0,
    toolCalls: 0,
    alternatives: [],
  };
  return { id: `w${seq}`, budget: 't/a', also: [], priority: 'normal', queued } as unknown as Waiting;
}

const waiters = (count = COUNT): Waiting[] => Array.from({ length: count }, (_, at) => waiter(at + 1));

/** In an order of no meaning: `COUNT` and the factor have no common divisor. */
const mixed = <T>(all: readonly T[]): T[] => all.map((_, at) => all[(at * 1_777) % all.length] as T);

const emptyQueue = (): WaitQueue =>
  new WaitQueue({ shareOf: () => ({ useMicros: 0n, weight: 1n, isFading: false }), viewsAt: () => undefined });

// Each is compared on its way through a heap, twice a level at the most.
const pathOf = (count: number): number => 4 * count * Math.ceil(Math.log2(COUNT));

describe('one line of many', () => {
  it.each([
    ['first come first', waiters],
    ['last come first', () => waiters().reverse()],
    ['in no order', () => mixed(waiters())],
  ])('costs the depth of a heap for each: %s', (_, inOrder) => {
    const queue = emptyQueue();
    for (const each of inOrder()) queue.add(each);
    expect(looks).toBeLessThan(pathOf(COUNT));
    expect(queue.nextUnjudged(0)?.head.id).toBe('w1');
  });

  it('costs a batch that is taken back as much as it is long, however many wait', () => {
    const queue = emptyQueue();
    const all = waiters();
    for (const each of all) queue.add(each);
    const left = all.slice(0, 256);
    looks = 0;
    for (const each of left) queue.remove(each);
    for (const each of left.toReversed()) queue.add(each);
    expect(looks).toBeLessThan(2 * pathOf(left.length));
    expect([queue.count, queue.nextUnjudged(0)?.head.id]).toEqual([COUNT, 'w1']);
  });

  it('goes on in the order in which they came, whoever leaves from its middle', () => {
    const all = waiters(97);
    const line = new WaitLine('key', all[0] as Waiting);
    for (const each of mixed(all)) line.add(each);
    for (const each of all.filter((_, at) => at % 3 === 1)) line.delete(each);
    const order: string[] = [];
    for (; !line.isEmpty; line.delete(line.head)) order.push(line.head.id);
    expect(order).toEqual(all.filter((_, at) => at % 3 !== 1).map(({ id }) => id));
  });
});
