// Plays a story on a kernel driver, one command after the other. Stands alone so that every property says only what it
// looks at, between two commands.
import type { Answer } from '../../src/kernel/answer.ts';
import type { Command } from '../../src/kernel/command.ts';
import { passOf, type Story, StoryTeller } from './arbitrary-steps.ts';
import { KernelDriver } from './kernel-driver.ts';

/** How a story is played. */
export interface Playing {
  /** Runs one command; default: as the lane does, lapses first. */
  readonly run?: (driver: KernelDriver, command: Command) => Answer;
  /** Lets time pass; default: at once. */
  readonly pass?: (driver: KernelDriver, ms: number) => void;
  /** Called before each command of a step, with whatever it returns given back to `after`. */
  readonly after?: (driver: KernelDriver, command: Command, answer: Answer) => void;
}

/** Plays `story` from an empty tree. Returns the driver and every answer. */
export function tellStory(story: Story, playing: Playing = {}): { driver: KernelDriver; answers: Answer[] } {
  const { run = (driver, command) => driver.run(command), pass = (driver, ms) => driver.advance(ms), after } = playing;
  const driver = new KernelDriver();
  driver.graceMs = story.graceMs;
  const teller = new StoryTeller(driver.make);
  for (const command of teller.opening(story)) driver.run(command);
  const answers: Answer[] = [];
  for (const step of story.steps) {
    const passMs = passOf(step, driver.nowMs);
    if (passMs > 0) pass(driver, passMs);
    const command = teller.commandOf(step);
    if (command === undefined) continue;
    const answer = run(driver, command);
    answers.push(answer);
    if (command.kind === 'Reserve' && answer.kind === 'refusal') teller.ids.splice(teller.ids.indexOf(command.id), 1);
    after?.(driver, command, answer);
  }
  return { driver, answers };
}
