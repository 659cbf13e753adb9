// Who is cut where too much is on its way in: the oldest for their number, the largest for their bytes, all of them for their time.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Arrivals } from '../../../src/api/arrivals.ts';

const LIMITS = { countMax: 3, bytesMax: 1_000, timeMs: 1_000, checkMs: 100 };

afterEach(() => {
  vi.useRealTimers();
});

function world(limits = {}) {
  const arrivals = new Arrivals({ ...LIMITS, ...limits });
  const cut: string[] = [];
  const request = (name: string) => arrivals.request(({ code }) => void cut.push(`${name} ${code}`));
  const stream = (name: string) => arrivals.stream(({ code }) => void cut.push(`${name} ${code}`));
  return { cut, request, stream };
}

describe('requests on their way', () => {
  it('are cut past their number, the oldest first; those that ended do not count', () => {
    const { cut, request } = world();
    request('a').end();
    for (const name of ['b', 'c', 'd']) request(name);
    expect(cut).toEqual([]);
    request('e');
    expect(cut).toEqual(['b 8']);
  });

  it('are cut past their bytes, the largest first, streams among them', () => {
    const { cut, request, stream } = world();
    const small = request('small');
    small.add(10);
    const frames = stream('frames');
    frames.add(500);
    const large = request('large');
    large.add(480);
    expect(cut).toEqual([]);
    small.add(20);
    expect(cut).toEqual(['frames 8']);
    // Cut: what still comes of it is nobody's.
    frames.add(5_000);
    expect(cut).toHaveLength(1);
  });

  it('hold nothing once it is taken', () => {
    const { cut, stream } = world();
    const frames = stream('frames');
    for (let n = 0; n < 10; n += 1) {
      frames.add(900);
      frames.take(900);
    }
    expect(cut).toEqual([]);
  });

  it('are cut past their time, streams excepted', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const { cut, request, stream } = world();
    request('a');
    stream('s').add(1);
    vi.advanceTimersByTime(900);
    request('b');
    expect(cut).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(cut).toEqual(['a 4']);
    vi.advanceTimersByTime(1_000);
    expect(cut).toEqual(['a 4', 'b 4']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
