// What is decided does not hang on what is in memory: a tree whose budgets are forgotten at random, as far as they may be, and loaded
// again once a command names them, answers and writes down what one does that has all of them.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import { type BudgetPath, chainOf } from '../../src/kernel/names.ts';
import { pathsOf, reservationsOf } from '../../src/lane/missing.ts';
import { arbitraryQueueStory, QueueTeller } from '../support/arbitrary-queue.ts';
import { CheckedQueue } from '../support/checked-queue.ts';
import { KernelDriver } from '../support/kernel-driver.ts';

/** Has in memory what the last command needed, and what it was not made to forget. */
class PartInMemory extends KernelDriver {
  readonly #away = new Map<BudgetPath, BudgetState>();

  /** Forgets every budget that may be, whose place in the list has a bit in `mask`; returns how many. */
  forget(mask: number): number {
    const paths = [...this.state.budgets()].map(({ def }) => def.path).sort((a, b) => (a < b ? 1 : -1));
    const countBefore = this.#away.size;
    for (const [at, path] of paths.entries()) {
      const budget = this.state.budgetAt(path);
      if ((mask >> at) % 2 === 0 || budget === undefined || !this.state.evictBudget(budget.def.no)) continue;
      this.#away.set(path, { ...budget, counters: [...budget.counters], steps: [...budget.steps] });
    }
    return this.#away.size - countBefore;
  }

  override run(command: Command): Answer {
    const charged = reservationsOf(command).flatMap((id) => {
      const reservation = this.state.reservation(id);
      return reservation === undefined ? [] : [reservation.budget, ...reservation.also];
    });
    // With a budget those above it come.
    for (const path of [...pathsOf(command), ...charged].flatMap(chainOf)) {
      const budget = this.#away.get(path);
      if (budget !== undefined) this.state.putBudget(budget);
      this.#away.delete(path);
    }
    this.state.commit();
    return super.run(command);
  }
}

/** Beside it goes one that forgets. */
class Twins extends CheckedQueue {
  readonly part = new PartInMemory();
  readonly #masks: readonly number[];
  #count = 0;
  #seen = 0;
  forgottenCount = 0;

  constructor(masks: readonly number[]) {
    super();
    this.#masks = masks;
    this.part.queue = this.queue;
  }

  override run(command: Command): Answer {
    const { part } = this;
    part.nowMs = this.nowMs;
    const mask = this.#masks[this.#count % this.#masks.length] ?? 0;
    this.#count += 1;
    this.forgottenCount += part.forget(mask);
    const answer = super.run(command);
    expect(part.run(command)).toEqual(answer);
    this.#expectSame();
    return answer;
  }

  override look(): void {
    super.look();
    this.part.nowMs = this.nowMs;
    this.part.look();
    this.#expectSame();
  }

  #expectSame(): void {
    expect(this.part.journal.length).toBe(this.journal.length);
    expect(this.part.journal.slice(this.#seen)).toEqual(this.journal.slice(this.#seen));
    this.#seen = this.journal.length;
  }
}

const masks = fc.array(
  fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.integer({ min: 0, max: 0x1ff }) }),
  { minLength: 10, maxLength: 60, size: 'max' },
);

it('with siblings forgotten at random it decides as with all of them in memory', () => {
  let forgottenCount = 0;
  let grantCount = 0;
  fc.assert(
    fc.property(arbitraryQueueStory(60), masks, (story, each) => {
      const twins = new Twins(each);
      const teller = new QueueTeller(twins);
      teller.open(story);
      // The other one would have to be told of these two.
      for (const step of story.steps) if (step.do !== 'restart' && step.do !== 'inVain') teller.tell(step);
      forgottenCount += twins.forgottenCount;
      grantCount += twins.grantCount;
    }),
    { numRuns: 250 },
  );
  expect(forgottenCount).toBeGreaterThan(1_000);
  expect(grantCount).toBeGreaterThan(50);
});
