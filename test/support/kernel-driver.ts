// One whole tree in memory, and a clock that stands still until it is told to move: a command goes in, an answer comes out,
// as from a lane whose commits never fail. Keeps the journal, so that a case can look at what was written down.

import { decideAlerts, defsBefore } from '../../src/kernel/alert.ts';
import type { Answer, BudgetAnswer, ReservationAnswer } from '../../src/kernel/answer.ts';
import { apply } from '../../src/kernel/apply.ts';
import type { Command } from '../../src/kernel/command.ts';
import { decide } from '../../src/kernel/decide.ts';
import { decideQueue } from '../../src/kernel/decide-queue.ts';
import type { DecideContext, Decision, QueueContext } from '../../src/kernel/decision.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import type { TreeId } from '../../src/kernel/names.ts';
import type { Pricing } from '../../src/kernel/price.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { commitTo } from '../../src/lane/commitment.ts';
import { Commands } from './commands.ts';
import { START_MS } from './start-time.ts';
import { withHistory } from './sum-history.ts';
import { testPricing } from './test-prices.ts';
import { UTC_CALENDAR } from './utc-calendar.ts';

export { START_MS };

/** A budget's figures as plain values: what a case compares. */
export interface Balances {
  readonly held: bigint;
  readonly settled: bigint;
  readonly overrun: bigint;
  /** Undefined: no limit applies. */
  readonly available: bigint | undefined;
}

/** See the head of this file. */
export class KernelDriver {
  readonly state: TreeState;
  readonly make: Commands;
  readonly journal: Entry[] = [];
  nowMs = START_MS;
  graceMs = 0;
  /** As the service has it unless it is told otherwise. */
  implausibleFactor = 1_000;
  pricing: Pricing = testPricing();
  queue: QueueContext = { ageMs: 60_000, countMax: 10_000, isAttached: () => true, isUntaken: () => true };

  constructor(treeId = 't') {
    this.make = new Commands(treeId);
    this.state = new TreeState(treeId as TreeId, { seq: 0, atMs: 0, budgetCount: 0 });
  }

  /** Records what is due, decides, applies and commits, as one batch of one command. */
  run(command: Command): Answer {
    this.recordLapses();
    return this.runAlone(command);
  }

  /** The same without looking for lapses first: for Expire itself. */
  runAlone(command: Command): Answer {
    const { answer, entries } = this.decide(command);
    const before = defsBefore(this.state, entries);
    for (const entry of entries) apply(this.state, entry);
    if (answer.kind === 'queued') this.state.queue?.stir(answer.id);
    const alerts = decideAlerts(this.state, entries, before, this.context());
    for (const entry of alerts) apply(this.state, entry);
    const offered = this.#offer();
    this.state.commit();
    this.journal.push(...entries, ...alerts, ...offered);
    return answer;
  }

  /** Has time pass for those who wait. */
  look(): void {
    this.recordLapses();
  }

  #offer(): Entry[] {
    const all: Entry[] = [];
    for (let next = decideQueue(this.state, this.context()); next.length > 0; ) {
      for (const entry of next) apply(this.state, entry);
      all.push(...next);
      next = decideQueue(this.state, this.context());
    }
    return all;
  }

  /** Decides and changes nothing. An edit that brings windows is given their past, as by a lane. */
  decide(command: Command): Decision {
    return decide(this.state, withHistory(this.state, command, this.nowMs), this.context());
  }

  context(): DecideContext {
    const { nowMs, graceMs, implausibleFactor } = this;
    return {
      nowMs,
      graceMs,
      commit: commitTo,
      calendar: UTC_CALENDAR,
      implausibleFactor,
      queue: this.queue,
      pricing: this.pricing,
    };
  }

  recordLapses(): void {
    for (;;) {
      const answer = this.runAlone(this.make.expire());
      if (answer.kind !== 'expired' || !answer.more) return;
    }
  }

  advance(ms: number): void {
    this.nowMs += ms;
  }

  /** Runs a Reserve that must be granted and returns its id. */
  hold(budget: string, max: bigint | number, options: Parameters<Commands['reserve']>[2] = {}): string {
    return granted(this.run(this.make.reserve(budget, max, options))).reservation.id;
  }

  /** A reservation as it stands now. */
  reservation(id: string): Reservation {
    return granted(this.run(this.make.getReservation(id))).reservation;
  }

  balances(budget: string): Balances {
    const { lifetime, headroom } = budgetOf(this.run(this.make.getBudget(budget)));
    const { heldMicros: held, settledMicros: settled, overrunMicros: overrun } = lifetime;
    return { held, settled, overrun, available: headroom.micros };
  }
}

/** The answer as that of a reservation; fails the test where it is another. A single renewal counts as one. */
export function granted(answer: Answer): ReservationAnswer {
  const only = answer.kind === 'renewals' && answer.results.length === 1 ? answer.results[0] : answer;
  if (only?.kind !== 'reservation') throw new Error(`not granted: ${shown(only)}`);
  return only;
}

/** The answer as a refusal; fails the test where it is none. */
export function refused(answer: Answer): Refusal {
  const only = answer.kind === 'renewals' && answer.results.length === 1 ? answer.results[0] : answer;
  if (only?.kind !== 'refusal') throw new Error(`not refused: ${shown(only)}`);
  return only;
}

/** The answer as that of a budget; fails the test where it is another. */
export function budgetOf(answer: Answer): BudgetAnswer {
  if (answer.kind !== 'budget') throw new Error(`not a budget: ${shown(answer)}`);
  return answer;
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}` : each));
}
