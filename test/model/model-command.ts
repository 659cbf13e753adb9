// What every command of the model tests has in common: it submits to the real thing, asks the model, and compares. Each
// command says in its own file what it submits and how it reads in a report.
import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { Commands } from '../support/commands.ts';
import type { BudgetModel } from './budget-model.ts';
import { predictionOf } from './prediction.ts';

/** What the model is compared with: the kernel, or a lane over a store. */
export interface Target {
  readonly make: Commands;
  submit(command: Command): Promise<Answer>;
  /** Lets time pass. */
  advance(ms: number): void;
  /** Forgets everything that is not in the journal. */
  restart(): Promise<void>;
  /** Spoils the next append; nothing where there is none. */
  spoilNextAppend(how: 'conflict' | 'lost_answer'): void;
  stop(): Promise<void>;
}

/** A command of the model tests. */
export type ModelCommand = AsyncCommand<BudgetModel, Target>;

/** Budgets of every run, parents first, without the tree's own name. */
export const PLACES = ['', '/a', '/a/x', '/b'] as const;

/** A budget that is made by its first grant, from the template of the one above it. */
export const RUN_PLACE = '/a/run';

/** The path of a place. */
export function pathOf(target: Target, place: number): string {
  return `${target.make.treeId}${PLACES[place % PLACES.length] ?? ''}`;
}

/** The reservation with that number, counted from the latest, so that a small number means a fresh one. */
export function reservationOf(model: BudgetModel, ref: number): string {
  const ids = [...model.holds.keys()];
  return ids[ids.length - 1 - (ref % Math.max(1, ids.length))] ?? 'nowhere000';
}

const EDITS: ReadonlySet<string> = new Set([
  'CreateBudget',
  'UpdateBudget',
  'SuspendBudget',
  'ResumeBudget',
  'CloseBudget',
  'TopUp',
]);

/** Submits, asks the model, compares. */
export async function submitAndCompare(model: BudgetModel, target: Target, command: Command): Promise<void> {
  model.told.push(command);
  const answer = await target.submit(command);
  expect(predictionOf(answer, EDITS.has(command.kind))).toEqual(model.answer(command));
}
