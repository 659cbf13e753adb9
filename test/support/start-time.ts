// Where the clock of every test starts. Its own file since both what drives the kernel and what draws windows around that time
// need it.

/** 2026-03-02T09:00:00Z, a Monday. */
export const START_MS = Date.UTC(2026, 2, 2, 9);
