// What the Sessions of one server hold together for peers that do not read. Each is bounded by itself, but there may be a
// thousand of them. Past the bound the one that holds most is given up: whoever reads holds next to nothing.

/** A Session, as far as this goes. */
export interface UnreadSession {
  /** Ends at once, as after its patience. */
  giveUp(): void;
}

/** See the head of this file. */
export class UnreadResults {
  readonly #max: number;
  readonly #counts = new Map<UnreadSession, number>();
  #sum = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** So many results of a Session wait for its peer; 0 when it reads again or is over. May end this Session or another. */
  set(session: UnreadSession, count: number): void {
    const before = this.#counts.get(session) ?? 0;
    if (count === before) return;
    this.#sum += count - before;
    if (count === 0) this.#counts.delete(session);
    else this.#counts.set(session, count);
    if (this.#sum > this.#max) this.#largest()?.giveUp();
  }

  #largest(): UnreadSession | undefined {
    let largest: UnreadSession | undefined;
    let most = 0;
    for (const [session, count] of this.#counts) {
      if (count <= most) continue;
      largest = session;
      most = count;
    }
    return largest;
  }
}
