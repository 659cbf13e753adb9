// A batch is a fold: commands decided together answer and leave behind exactly what they would one by one, a batch that is
// taken back leaves nothing, and one that is decided before the one before it is final is no other for it.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { BudgetPath } from '../../src/kernel/names.ts';
import { decideTree, type Submitted, type TreeBatch } from '../../src/lane/batch.ts';
import { CachedTree } from '../../src/lane/cached-tree.ts';
import { commitTo } from '../../src/lane/commitment.ts';
import { GENESIS_HASH } from '../../src/store/port.ts';
import {
  arbitraryStory,
  passOf,
  RUN_PATHS,
  STORY_PATHS,
  type Step,
  type Story,
  StoryTeller,
} from '../support/arbitrary-steps.ts';
import { Commands, type LimitsOption } from '../support/commands.ts';
import { START_MS } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { testPricing } from '../support/test-prices.ts';
import { UTC_CALENDAR } from '../support/utc-calendar.ts';

const wholeTree = (make: Commands) =>
  new CachedTree(make.treeId, {
    head: { seq: 0, hash: GENESIS_HASH, atMs: 0 },
    projectedSeq: 0,
    budgetCount: 0,
    budgets: [],
    reservations: [],
    leasesThroughMs: Number.MAX_SAFE_INTEGER,
    tail: [],
    quarantine: undefined,
  });

function submitted(command: Command, tree: CachedTree): Submitted {
  const ignore = () => undefined;
  // Keys need no search: the journal is all in memory.
  const flags = { sheddable: true, alone: false, attempts: 0, searchedFor: tree, sinceMs: 0 };
  return { treeId: command.treeId, command, resolve: ignore, reject: ignore, ...flags };
}

/** How batches are decided beside the plain way: once before in vain, alone or two on top of each other; or ahead. */
type Way = 'plain' | 'taken_back' | 'two_taken_back' | 'ahead';

/** Decides the story's commands, all that come between two steps of time in batches of `batchSize`. */
function playInBatches(story: Story, batchSize: number, way: Way) {
  const make = new Commands();
  const teller = new StoryTeller(make);
  const tree = wholeTree(make);
  const answers: Answer[] = [];
  let nowMs = START_MS;
  let waiting: Command[] = [];
  const decideAndSeal = (commands: readonly Command[]): TreeBatch => {
    const items = commands.map((command) => submitted(command, tree));
    const batch = decideTree(tree, items, {
      nowMs,
      graceMs: story.graceMs,
      commit: commitTo,
      calendar: UTC_CALENDAR,
      implausibleFactor: 1_000,
      queue: { ageMs: 60_000, countMax: 10_000, isAttached: () => true, isUntaken: () => true },
      pricing: testPricing(),
    });
    const { failed, parked, unsearched, paused } = batch;
    expect({ failed, unsearched, paused, parked: parked.map(({ missing }) => missing) }).toEqual({
      failed: [],
      unsearched: [],
      paused: [],
      parked: [],
    });
    if (batch.entries.length > 0) tree.seal({ seq: tree.state.position.seq, hash: GENESIS_HASH, atMs: nowMs });
    return batch;
  };
  const commit = ({ entries }: TreeBatch) => {
    const last = entries.at(-1);
    if (last !== undefined) tree.committed({ seq: last.seq, hash: GENESIS_HASH, atMs: nowMs }, entries);
  };
  const flush = () => {
    let first: TreeBatch | undefined;
    for (; waiting.length > 0; waiting = waiting.slice(batchSize)) {
      const commands = waiting.slice(0, batchSize);
      if (way === 'taken_back' || way === 'two_taken_back') {
        decideAndSeal(commands);
        if (way === 'two_taken_back') decideAndSeal(waiting.slice(batchSize, 2 * batchSize));
        tree.takeBack();
      }
      const second = decideAndSeal(commands);
      answers.push(...second.answered.map(({ answer }) => answer));
      if (first !== undefined) commit(first);
      first = way === 'ahead' ? second : undefined;
      if (way !== 'ahead') commit(second);
    }
    if (first !== undefined) commit(first);
  };
  // Nothing can be loaded here: what is not there is known to be absent.
  const opening = teller.opening(story);
  tree.noteAbsent({
    paths: [...STORY_PATHS, ...RUN_PATHS] as readonly string[] as BudgetPath[],
    reservationIds: [],
    leases: false,
  });
  waiting.push(...opening);
  for (const step of story.steps) {
    const passMs = passOf(step, nowMs);
    if (passMs > 0) {
      flush();
      nowMs += passMs;
    }
    const command = teller.commandOf(step);
    if (command === undefined) continue;
    if ('id' in command) tree.noteAbsent({ paths: [], reservationIds: [command.id], leases: false });
    if (command.kind === 'Renew') {
      tree.noteAbsent({ paths: [], reservationIds: command.renewals.map(({ id }) => id), leases: false });
    }
    waiting.push(command);
  }
  flush();
  return { answers, picture: pictureOf(tree.state), tail: tree.tail };
}

/** The past of a window that an edit brings is known only once the edit is decided: such edits never stand in a batch. */
function withoutNewWindows(story: Story): Story {
  return { ...story, steps: story.steps.filter((step) => !bringsWindow(step)) };
}

function bringsWindow(step: Step): boolean {
  if (step.do === 'setLimits') return !isLifetime(step.limits);
  return step.do === 'setExtras' && (step.extras.floor !== undefined || step.extras.share !== undefined);
}

function isLifetime(limits: LimitsOption): boolean {
  return typeof limits !== 'object' || Object.values(limits).every((limit) => typeof limit !== 'object');
}

it('decided in batches and one by one, ahead or after batches that were taken back, it is all the same', () => {
  fc.assert(
    fc.property(arbitraryStory(40), fc.integer({ min: 2, max: 12 }), (told, batchSize) => {
      const story = withoutNewWindows(told);
      const oneByOne = playInBatches(story, 1, 'plain');
      for (const way of ['plain', 'taken_back', 'two_taken_back', 'ahead'] as const) {
        expect(playInBatches(story, batchSize, way)).toEqual(oneByOne);
      }
    }),
    { numRuns: 80 },
  );
});
