// The projection folds entries to row changes by code of its own, in pieces as the projector happens to take them. It must
// come to the same records as applying the entries one by one does, or a reload would decide on other figures.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import { MemoryTree } from '../../src/store/memory-tree.ts';
import { arbitraryStory } from '../support/arbitrary-steps.ts';
import { personalFields } from '../support/commands.ts';
import { inOrder } from '../support/picture-of.ts';
import { tellStory } from '../support/tell-story.ts';

/** Projects the journal of a tree in pieces of these sizes, again and again. */
function project(journal: readonly Entry[], sizes: readonly number[]): MemoryTree {
  const tree = new MemoryTree('t' as never);
  for (const { seq, personal } of journal) {
    if (personal?.salt !== undefined) tree.personal.set(seq, { ...personal, salt: personal.salt });
  }
  for (let at = 0, piece = 0; at < journal.length; piece++) {
    const size = sizes[piece % sizes.length] as number;
    tree.project(journal.slice(at, at + size));
    at += size;
  }
  return tree;
}

// What it spent of late is for the order of those who wait alone, and ends with the process.
const asProjected = ({ recent: _, ...budget }: BudgetState): BudgetState => inOrder(budget);

/** A Reserve that waits where it is told to: as every one that may wait it has a key. */
function mayWait(command: Command, waits: boolean): Command {
  if (command.kind !== 'Reserve' || !waits) return command;
  return { ...command, waitMs: 3_600_000, key: command.key ?? { digest: `of ${command.id}`, fingerprint: 'any' } };
}

it('projected rows say what applying the entries gives, however they are cut', () => {
  fc.assert(
    fc.property(
      arbitraryStory(60),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
      fc.array(fc.constantFrom(true, true, true, false), { minLength: 1, maxLength: 5 }),
      (story, sizes, personal, waits) => {
        let count = 0;
        const { driver } = tellStory(story, {
          // Some commands carry personal fields, with labels that later ones lay over them.
          run: (own, command) => {
            const fields = personal[count++ % personal.length]
              ? personalFields('Ann', `label ${count % 3}`)
              : undefined;
            return own.run(mayWait({ ...command, personal: fields }, waits[count % waits.length] === true));
          },
        });
        const { state, journal } = driver;
        const tree = project(journal, sizes);
        expect([tree.projectedSeq, tree.budgetCount]).toEqual([state.position.seq, state.position.budgetCount]);
        const applied = [...state.budgets()].sort((a, b) => a.def.no - b.def.no);
        expect(tree.budgets().map(inOrder)).toEqual(applied.map(asProjected));
        expect(tree.reservations()).toEqual([...state.reservations()].sort((a, b) => (a.id < b.id ? -1 : 1)));
      },
    ),
    { numRuns: 300 },
  );
});
