// Everything can be rebuilt from the journal: applying its entries to an empty tree gives the live state, and taking an
// uncommitted batch back gives the state before it.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apply } from '../../src/kernel/apply.ts';
import { TreeState } from '../../src/kernel/tree-state.ts';
import { arbitraryStory, passOf, StoryTeller } from '../support/arbitrary-steps.ts';
import type { KernelDriver } from '../support/kernel-driver.ts';
import { pictureOf } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

const digestsOf = ({ journal }: KernelDriver) => journal.flatMap(({ key }) => (key === undefined ? [] : [key.digest]));

it('entries applied to an empty tree give the live state', () => {
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      const { driver } = tellStory(story);
      const rebuilt = new TreeState(driver.state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
      for (const entry of driver.journal) apply(rebuilt, entry);
      expect(pictureOf(rebuilt, digestsOf(driver))).toEqual(pictureOf(driver.state, digestsOf(driver)));
    }),
    { numRuns: 150 },
  );
});

it('the journal has no gap, no time that goes back, and each key once', () => {
  fc.assert(
    fc.property(arbitraryStory(40), (story) => {
      const { driver } = tellStory(story);
      expect(driver.journal.map(({ seq }) => seq)).toEqual(driver.journal.map((_, i) => i + 1));
      const times = driver.journal.map(({ atMs }) => atMs);
      expect([...times].sort((a, b) => a - b)).toEqual(times);
      expect(new Set(digestsOf(driver)).size).toBe(digestsOf(driver).length);
    }),
    { numRuns: 60 },
  );
});

it('a rollback gives the state before the batch, to the last record', () => {
  fc.assert(
    fc.property(arbitraryStory(20), arbitraryStory(15), (story, { steps }) => {
      const { driver } = tellStory(story);
      const before = pictureOf(driver.state, digestsOf(driver));
      const teller = new StoryTeller(driver.make);
      teller.ids.push(...[...driver.state.reservations()].map(({ id }) => id));
      for (const step of steps) {
        driver.advance(passOf(step, driver.nowMs));
        const command = teller.commandOf(step);
        if (command === undefined) continue;
        for (const each of [driver.make.expire(), command]) {
          for (const entry of driver.decide(each).entries) apply(driver.state, entry);
        }
      }
      driver.state.rollback();
      expect(pictureOf(driver.state, digestsOf(driver))).toEqual(before);
    }),
    { numRuns: 100 },
  );
});
