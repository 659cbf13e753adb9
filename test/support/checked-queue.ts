// A tree in memory with requests that wait, where everything that the queue does is held against the naive one: before each entry
// that it writes, and once it rests.

import { decideAlerts, defsBefore } from '../../src/kernel/alert.ts';
import type { Answer } from '../../src/kernel/answer.ts';
import { apply } from '../../src/kernel/apply.ts';
import type { Command, Reserve } from '../../src/kernel/command.ts';
import { decideQueue } from '../../src/kernel/decide-queue.ts';
import type { Entry, Granted, Leave } from '../../src/kernel/entry.ts';
import type { ReservationId } from '../../src/kernel/names.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { KernelDriver } from './kernel-driver.ts';
import { type Ask, NaiveQueue, type Outcome } from './naive-queue.ts';

const WORTH_WAITING = ['BUDGET_EXHAUSTED', 'CAPACITY_HELD', 'RATE_LIMITED', 'CONCURRENCY_LIMIT'];
// Of what was asked: the same key may ask again.
const SAYS_NOTHING = ['BUDGET_SUSPENDED', 'BUDGET_NOT_FOUND', 'INVALID_FIELD'];

/** See the head of this file. */
export class CheckedQueue extends KernelDriver {
  /** Whose callers have gone. */
  readonly gone = new Set<ReservationId>();
  /** What keys were told out of the queue that a repeat is told again, by their digests. */
  readonly #final = new Map<string, Refusal>();
  /** Verdicts on those that come: all, and those on which the text leaves two ways open. */
  verdictCount = 0;
  openCount = 0;
  grantCount = 0;
  leaveCount = 0;

  constructor() {
    super();
    this.queue = { ageMs: 60_000, countMax: 12, isAttached: (id) => !this.gone.has(id), isUntaken: () => true };
  }

  override runAlone(command: Command): Answer {
    const isFresh = command.kind === 'Reserve' && !this.#isKnown(command);
    const expected = isFresh ? this.#verdicts(command) : [];
    const { answer, entries } = this.decide(command);
    if (isFresh) this.#expectAnswer(command, expected, answer);
    const final = command.key === undefined ? undefined : this.#final.get(command.key.digest);
    if (final !== undefined && answer !== final) throw new Error(`${command.kind} is told ${answer.kind} again`);
    const before = defsBefore(this.state, entries);
    this.#write(entries);
    if (answer.kind === 'queued') {
      this.gone.delete(answer.id);
      this.state.queue?.stir(answer.id);
    }
    this.#write(decideAlerts(this.state, entries, before, this.context()));
    for (let next = decideQueue(this.state, this.context()); next.length > 0; ) {
      this.#expectTurn(next);
      this.#write(next);
      next = decideQueue(this.state, this.context());
    }
    this.#expectRest();
    this.state.commit();
    return answer;
  }

  /** Decides a command and all that follows from it, and takes it back. */
  runInVain(command: Command): void {
    const kept = this.journal.length;
    const keptGone = [...this.gone];
    const keptFinal = [...this.#final];
    const { answer, entries } = this.decide(command);
    this.#write(entries);
    if (answer.kind === 'queued') this.state.queue?.stir(answer.id);
    for (let next = decideQueue(this.state, this.context()); next.length > 0; ) {
      this.#write(next);
      next = decideQueue(this.state, this.context());
    }
    this.state.rollback();
    this.#final.clear();
    for (const [digest, refusal] of keptFinal) this.#final.set(digest, refusal);
    this.journal.length = kept;
    this.gone.clear();
    for (const id of keptGone) this.gone.add(id);
  }

  /** The same tree, from what was written down. */
  restart(): void {
    const fresh = new TreeState(this.state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
    for (const entry of this.journal) apply(fresh, entry);
    fresh.commit();
    Object.assign(this, { state: fresh });
  }

  #write(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.type === 'LeftQueue') for (const leave of entry.leaves) this.#noteFinal(leave);
      apply(this.state, entry);
    }
    this.journal.push(...entries);
  }

  #noteFinal({ id, refusal }: Leave): void {
    const key = this.state.reservation(id)?.queued?.key;
    const isFinal = refusal.retryAfterMs === undefined && !SAYS_NOTHING.includes(refusal.reason);
    if (isFinal && key !== undefined) this.#final.set(key.digest, refusal);
  }

  #isKnown({ key }: Reserve): boolean {
    if (key === undefined) return false;
    return this.state.remembered(key.digest) !== undefined || this.state.queue?.byKey(key.digest) !== undefined;
  }

  #verdicts(command: Reserve): readonly Outcome[] {
    const naive = new NaiveQueue(this.state, this.context());
    return naive.outcomes(naive.newcomer(command));
  }

  #expectAnswer(command: Reserve, verdicts: readonly Outcome[], answer: Answer): void {
    const wanted = verdicts.map((verdict) => this.#shown(command, verdict));
    this.verdictCount += 1;
    if (new Set(wanted).size > 1) this.openCount += 1;
    const said =
      answer.kind === 'reservation'
        ? grantOf(answer.reservation.figures.grantedMicros, answer.reservation.alternative)
        : this.#saidOf(answer);
    if (!wanted.includes(said))
      throw new Error(`${command.id} on ${command.budget}: ${said} instead of ${wanted.join(' or ')}`);
  }

  #shown(command: Reserve, verdict: Outcome): string {
    if (verdict.kind === 'grant') return grantOf(verdict.micros, verdict.alternative);
    if (verdict.kind === 'never') return verdict.reason;
    if (command.waitMs === 0) return 'refused for now';
    const isFull = [command.budget, ...command.also].some((path) =>
      path.split('/').some((_, at, all) => this.#countAt(all.slice(0, at + 1).join('/')) >= this.queue.countMax),
    );
    return isFull ? 'QUEUE_FULL' : 'queued';
  }

  #countAt(path: string): number {
    const asks = (each: string): boolean => each === path || each.startsWith(`${path}/`);
    return [...this.state.reservations()].filter(
      ({ figures, budget, also }) => figures.state === 'QUEUED' && [budget, ...also].some(asks),
    ).length;
  }

  #saidOf(answer: Answer): string {
    if (answer.kind !== 'refusal') return answer.kind;
    return WORTH_WAITING.includes(answer.reason) ? 'refused for now' : answer.reason;
  }

  #expectTurn(entries: readonly Entry[]): void {
    const naive = new NaiveQueue(this.state, this.context());
    for (const entry of entries) {
      if (entry.type === 'Granted') this.#expectGrant(naive, entry);
      else if (entry.type === 'LeftQueue') for (const leave of entry.leaves) this.#expectLeave(naive, leave);
      else if (entry.type !== 'BudgetCreated' && entry.type !== 'BudgetUpdated')
        throw new Error(`the queue writes ${entry.type}`);
    }
  }

  #expectGrant(naive: NaiveQueue, { reservation: { id, figures, alternative }, enqueuedSeq }: Granted): void {
    this.grantCount += 1;
    const ask = naive.byId(id);
    if (ask === undefined || ask.seq !== enqueuedSeq) throw new Error(`${id} is granted and did not wait`);
    if (!ask.isAttached) throw new Error(`${id} is granted for nobody`);
    const ended = naive.asks.find(({ command }) => this.#isOver(command.id));
    if (ended !== undefined) throw new Error(`${id} is granted before ${ended.command.id} leaves`);
    const said = grantOf(figures.grantedMicros, alternative);
    const wanted = naive.outcomes(ask).map((each) => this.#shown(ask.command, each));
    if (!wanted.includes(said)) throw new Error(`${id} waits and gets ${said} instead of ${wanted.join(' or ')}`);
    const rivals = naive.asks.filter((each) => this.#isGrantable(naive, each));
    // Unless that one waits for somebody else's turn itself.
    const isNext = (each: Ask): boolean =>
      !rivals.some((other) => other !== ask && other !== each && naive.isBeforeAnywhere(other, each));
    const passed = rivals.find(
      (each) => naive.isBefore(each, ask) && isNext(each) && !reaches(naive, rivals, ask, each),
    );
    if (passed !== undefined) throw new Error(`${id} is granted before ${passed.command.id}, who is first and fits`);
  }

  #expectLeave(naive: NaiveQueue, { id, refusal }: Leave): void {
    this.leaveCount += 1;
    const ask = naive.byId(id);
    if (ask === undefined) throw new Error(`${id} leaves and did not wait`);
    const reasons = naive
      .outcomes(ask)
      .map((each) => (each.kind === 'never' ? each.reason : this.#isOver(id) ? 'QUEUE_TIMEOUT' : each.kind));
    // Where an alternative could be had, but for those who come first.
    if (naive.isTooMuch(ask)) reasons.push('EXCEEDS_LIMIT');
    if (!reasons.includes(refusal.reason))
      throw new Error(`${id} leaves for ${refusal.reason} instead of ${reasons.join(' or ')}`);
  }

  #expectRest(): void {
    const naive = new NaiveQueue(this.state, this.context());
    for (const ask of naive.asks) {
      const { id } = ask.command;
      if (this.#isOver(id)) throw new Error(`the wait of ${id} is over and it waits`);
      const outcome = naive.outcome(ask, 'wide');
      const fits = outcome.kind === 'grant' && (outcome.alternative === '' || naive.isSurelyDegraded(ask));
      if (fits && ask.isAttached) throw new Error(`${id} fits, is behind nobody and waits`);
      const isUnseen = outcome.kind === 'never' && outcome.reason === 'EXCEEDS_LIMIT' && naive.wasLent(ask);
      if (outcome.kind === 'never' && naive.isFirst(ask) && !isUnseen)
        throw new Error(`${id} waits for what can never be: ${outcome.reason}`);
    }
  }

  #isGrantable(naive: NaiveQueue, ask: Ask): boolean {
    return ask.isAttached && naive.outcome(ask, 'wide').kind === 'grant';
  }

  #isOver(id: ReservationId): boolean {
    return (this.state.reservation(id)?.queued?.untilMs ?? Number.POSITIVE_INFINITY) <= this.nowMs;
  }
}

// Each may be first at one thing and behind at another: then whoever is looked at first goes.
function reaches(naive: NaiveQueue, rivals: readonly Ask[], from: Ask, to: Ask): boolean {
  const seen = new Set<Ask>([from]);
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of rivals) {
      if (seen.has(next) || !naive.isBeforeAnywhere(at, next)) continue;
      if (next === to) return true;
      seen.add(next);
      open.push(next);
    }
  }
  return false;
}

function grantOf(micros: bigint, alternative: string): string {
  return `granted ${micros} ${alternative}`;
}
