// A gate that lets only so many scenarios play at once: each has a service and a database of its own, so what limits
// them is the machine.

/** Two processes, a service and the database, keep one core busy each; more scenarios at once would only wait longer. */
export const AT_ONCE_DEFAULT = 2;

/** A gate for `countMax` runs at once. Those that must wait go in the order in which they came. */
export function atMost(countMax: number): <T>(run: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running >= countMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await run();
    } finally {
      // The place goes straight to the next in line, so that nobody slips in between.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
