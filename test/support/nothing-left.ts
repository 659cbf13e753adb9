// Fails a test that leaves timers or functions replaced after its own clean-up: files share their globals and their modules, so that one
// that is left behind would be met by whatever comes next.
import { afterAll, afterEach, vi } from 'vitest';

/** What was spied on since the last test, and by which name. */
const spied: [object: object, name: PropertyKey][] = [];

const original = vi.spyOn;
const spyOn = original.bind(vi) as (object: object, name: PropertyKey, ...accessor: unknown[]) => unknown;
const noting = (object: object, name: PropertyKey, ...accessor: unknown[]): unknown => {
  spied.push([object, name]);
  return spyOn(object, name, ...accessor);
};
vi.spyOn = noting as typeof vi.spyOn;

afterAll(() => {
  vi.spyOn = original;
});

// Of those who clean up the first one named is the last to run.
afterEach(() => {
  const names = spied.splice(0).flatMap(([object, name]) => {
    const { value, get } = descriptorOf(object, name) ?? {};
    return vi.isMockFunction(value) || vi.isMockFunction(get) ? [String(name)] : [];
  });
  const hasTimers = vi.isFakeTimers();
  vi.restoreAllMocks();
  vi.useRealTimers();
  if (names.length > 0) throw new Error(`left as a spy: ${names.join(', ')}; restore it in afterEach`);
  if (hasTimers) throw new Error('left with fake timers: use real ones in afterEach');
});

function descriptorOf(object: object, name: PropertyKey): PropertyDescriptor | undefined {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
