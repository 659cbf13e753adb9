// Why a caller that waited is not awaited any more though its place is kept: whoever sends it away aborts its signal with this.

/** See the head of this file. */
export class PlaceKept {
  /** For how long, in milliseconds: until then it may come back with the same key. */
  readonly forMs: number;

  constructor(forMs: number) {
    this.forMs = forMs;
  }
}

/** For how long the place of a caller whose signal has aborted is kept; 0 where it went by itself. */
export function keptMs({ reason }: AbortSignal): number {
  return reason instanceof PlaceKept ? reason.forMs : 0;
}
