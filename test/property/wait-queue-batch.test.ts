// Deciding is a fold for those who wait as well: commands decided together write down exactly what they would one by one, ahead or not,
// so that what comes back in the middle of a batch is offered before the next command of it.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Account } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import type { BudgetPath } from '../../src/kernel/names.ts';
import { decideTree, type Submitted, type TreeBatch } from '../../src/lane/batch.ts';
import { CachedTree } from '../../src/lane/cached-tree.ts';
import { commitTo } from '../../src/lane/commitment.ts';
import { GENESIS_HASH } from '../../src/store/port.ts';
import {
  arbitraryQueueStory,
  QUEUE_PATHS,
  type QueueStep,
  type QueueStory,
  QueueTeller,
  RUN_PATHS,
} from '../support/arbitrary-queue.ts';
import { CheckedQueue } from '../support/checked-queue.ts';
import { Commands } from '../support/commands.ts';
import { pictureOf } from '../support/picture-of.ts';
import { testPricing } from '../support/test-prices.ts';
import { UTC_CALENDAR } from '../support/utc-calendar.ts';

interface Timed {
  readonly nowMs: number;
  readonly command: Command;
}

class Recording extends CheckedQueue {
  readonly commands: Timed[] = [];

  override run(command: Command): Answer {
    this.commands.push({ nowMs: this.nowMs, command });
    return super.run(command);
  }

  override look(): void {
    this.commands.push({ nowMs: this.nowMs, command: this.make.expire() });
    super.look();
  }
}

// The past of a window that an edit brings is read by a lane, and nobody goes here.
const LEFT_OUT: readonly string[] = ['setLimits', 'go', 'restart', 'inVain'];

function record(story: QueueStory): Recording {
  const queue = new Recording();
  const teller = new QueueTeller(queue);
  teller.open(story);
  for (const step of story.steps) if (!LEFT_OUT.includes(step.do)) teller.tell(withoutShares(step));
  return queue;
}

// Floors and shares are there from the start.
function withoutShares(step: QueueStep): QueueStep {
  return step.do === 'setTerms' ? { ...step, terms: { ...step.terms, floor: undefined, share: undefined } } : step;
}

function emptyTree(): CachedTree {
  return new CachedTree(new Commands().treeId, {
    head: { seq: 0, hash: GENESIS_HASH, atMs: 0 },
    projectedSeq: 0,
    budgetCount: 0,
    budgets: [],
    reservations: [],
    leasesThroughMs: Number.MAX_SAFE_INTEGER,
    tail: [],
    quarantine: undefined,
  });
}

function submitted(command: Command, tree: CachedTree): Submitted {
  const ignore = () => undefined;
  const flags = { sheddable: true, alone: false, attempts: 0, searchedFor: tree, sinceMs: 0 };
  return { treeId: command.treeId, command, resolve: ignore, reject: ignore, ...flags };
}

const NOTHING = { heldMicros: 0n, settledMicros: 0n, overrunMicros: 0n };

/** Periods before the last in which a child's use has no counter: a lane asks the store for them, which has none either. */
function periodsAsked({ parked }: TreeBatch): readonly Account[] {
  return parked.flatMap(({ missing }) => missing.periods ?? []);
}

/** Decides commands of one instant in batches; `ahead`: each before the one before it is final. */
function play(commands: readonly Timed[], batchSize: number, ahead: boolean): CachedTree {
  const tree = emptyTree();
  // Nothing can be loaded here: what is not there is known to be absent.
  const paths = [...QUEUE_PATHS, ...RUN_PATHS] as readonly string[] as BudgetPath[];
  tree.noteAbsent({ paths, reservationIds: [], leases: false });
  const isAttached = () => true;
  let first: { readonly batch: TreeBatch; readonly nowMs: number } | undefined;
  const commit = (): void => {
    const last = first?.batch.entries.at(-1);
    if (first !== undefined && last !== undefined) {
      tree.committed({ seq: last.seq, hash: GENESIS_HASH, atMs: first.nowMs }, first.batch.entries);
    }
    first = undefined;
  };
  for (let at = 0; at < commands.length; ) {
    const { nowMs } = commands[at] as Timed;
    const count = commands.slice(at, at + batchSize).findIndex((each) => each.nowMs !== nowMs);
    const own = commands.slice(at, at + (count === -1 ? batchSize : count));
    at += own.length;
    const decideOwn = (): TreeBatch =>
      decideTree(
        tree,
        own.map(({ command }) => submitted(command, tree)),
        {
          nowMs,
          graceMs: 0,
          commit: commitTo,
          calendar: UTC_CALENDAR,
          implausibleFactor: 1_000,
          pricing: testPricing(),
          queue: { ageMs: 60_000, countMax: 12, isAttached, isUntaken: () => true },
        },
      );
    let batch = decideOwn();
    for (let asked = periodsAsked(batch); asked.length > 0; asked = periodsAsked(batch)) {
      commit();
      tree.takeBack();
      for (const { budgetNo, windowNo, periodMs } of asked) {
        tree.state.addCounters(budgetNo, [{ ...NOTHING, windowNo, periodMs }]);
      }
      batch = decideOwn();
    }
    const { failed, queueFaults, parked, unsearched, paused, deferred } = batch;
    expect(queueFaults).toEqual([]);
    expect([failed, parked, unsearched, paused, deferred].map(({ length }) => length)).toEqual([0, 0, 0, 0, 0]);
    if (batch.entries.length > 0) tree.seal({ seq: tree.state.position.seq, hash: GENESIS_HASH, atMs: nowMs });
    commit();
    first = { batch, nowMs };
    if (!ahead) commit();
  }
  commit();
  return tree;
}

// Lapses are recorded by whoever looks.
const withoutActor = (entry: Entry) => (entry.type === 'Expired' ? { ...entry, actor: '' } : entry);

it('decided in batches and one by one, ahead or not, the same is written down', () => {
  let granted = 0;
  fc.assert(
    fc.property(arbitraryQueueStory(40), fc.integer({ min: 2, max: 12 }), (story, batchSize) => {
      const queue = record(story);
      const one = play(queue.commands, 1, false);
      expect(one.tail.map(withoutActor)).toEqual(queue.journal.map(withoutActor));
      const many = play(queue.commands, batchSize, false);
      expect(many.tail).toEqual(one.tail);
      expect(play(queue.commands, batchSize, true).tail).toEqual(one.tail);
      expect(pictureOf(many.state)).toEqual(pictureOf(one.state));
      expect(many.state.queue?.count).toBe(queue.state.queue?.count);
      granted += queue.grantCount;
    }),
    { numRuns: 200 },
  );
  expect(granted).toBeGreaterThan(30);
});
