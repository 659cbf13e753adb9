// Which shares of a limit were told of already. Its own file because the state keeps marks and knows nothing of when to tell.
/** A share that was reached: whoever reaches it again in the same period is not told. */
export interface AlertMark {
  readonly limitNo: number;
  /** 0 for lifetime and rolling windows. */
  readonly periodMs: number;
  readonly percent: number;
}

/** Marks of a budget after alerts were raised: of each limit those of its latest period. */
export function marksAfter(marks: readonly AlertMark[], alerts: readonly AlertMark[]): AlertMark[] {
  const raised = alerts.map(({ limitNo, periodMs, percent }) => ({ limitNo, periodMs, percent }));
  const kept = marks.filter(
    (mark) =>
      !raised.some(
        ({ limitNo, periodMs, percent }) =>
          limitNo === mark.limitNo &&
          (periodMs > mark.periodMs || (periodMs === mark.periodMs && percent === mark.percent)),
      ),
  );
  return [...kept, ...raised];
}
