// Plays one step in the world of its scenario and says what differed. A step's own answer is never asked for twice.
import { setTimeout as delay } from 'node:timers/promises';
import type { AnswerExpectation } from './expectation-fields.ts';
import { type JudgeContext, judgeAnswer, type Mismatch } from './judge-answer.ts';
import { countsOutcomes, judgeParallel } from './judge-parallel.ts';
import type { Outcome } from './outcome.ts';
import { playCheck } from './play-check.ts';
import { formatRefusal } from './refusal.ts';
import type { ScenarioWorld } from './scenario-world.ts';
import type { CallStep, CallStepOf, ParallelStep, Step } from './step-fields.ts';

// How long a waiting call may take, in real time, to be answered by the step that resolves it: one commit and one round
// trip are a few milliseconds.
const RESOLVE_BOUND_MS = 5_000;
// How long a pending call is watched, in real time, before it counts as waiting: a grant or a refusal in its place would
// come within one commit, a few milliseconds.
const PENDING_WATCH_MS = 150;

/** Plays a step, then awaits and judges the waiting calls that it must answer. */
export async function playStep(step: Step, world: ScenarioWorld): Promise<readonly Mismatch[]> {
  const answeredBefore = world.answers.answeredNames();
  const mismatches = [...(await act(step, world))];
  for (const [name, expect] of step.expect?.resolves ?? []) {
    const found = answeredBefore.has(name)
      ? [{ field: 'waiting', expected: 'to be answered by this step', got: 'answered before it' }]
      : await judgeResolved(name, expect, world);
    mismatches.push(...found.map((mismatch) => ({ ...mismatch, field: `resolves.${name}.${mismatch.field}` })));
  }
  return mismatches;
}

async function act(step: Step, world: ScenarioWorld): Promise<readonly Mismatch[]> {
  switch (step.do) {
    case 'advance':
      await world.advanceTo(step.toMs ?? world.nowMs + (step.byMs ?? 0));
      return [];
    case 'restart':
      await world.restart();
      return [];
    case 'store_down':
      world.storeDown();
      return [];
    case 'store_up':
      await world.storeUp();
      return [];
    case 'verify':
      return (await world.verify()).map((got) => ({ field: 'verify', expected: 'no difference', got }));
    case 'check':
      return await playCheck(step, world);
    case 'parallel':
      return await playParallel(step, world);
    case 'reserve':
      return step.expect?.pending === true ? await playPending(step, world) : await playCall(step, world);
    default:
      return await playCall(step, world);
  }
}

async function playCall(step: CallStep, world: ScenarioWorld): Promise<readonly Mismatch[]> {
  const outcome = await world.send(step);
  if (step.do === 'reserve') world.answers.keep(step.as, outcome);
  return judgeAnswer(ownExpectation(step), outcome, contextOf(world));
}

async function playPending(step: CallStepOf<'reserve'>, world: ScenarioWorld): Promise<readonly Mismatch[]> {
  const { as: name = '', budget, waitMs = 0 } = step;
  const key = step.key?.kind === 'given' ? step.key.key : world.freshKey();
  const call = world.send({ ...step, key: { kind: 'given', key } });
  world.answers.keepWaiting(name, { budget, holder: key }, call);
  world.leases.expect({ atMs: world.nowMs + waitMs, budget });
  const outcome = await Promise.race([call, delay(PENDING_WATCH_MS)]);
  if (outcome === undefined) return [];
  const got = outcome.kind === 'refused' ? formatRefusal(outcome.refusal) : 'a grant at once';
  return [{ field: 'pending', expected: 'still waiting', got }];
}

async function playParallel(step: ParallelStep, world: ScenarioWorld): Promise<readonly Mismatch[]> {
  const calls = Array.from({ length: step.repeat }, () => step.steps).flat();
  const sent = await Promise.all(calls.map(async (call) => ({ call, verb: call.do, outcome: await world.send(call) })));
  const mismatches = step.expect === undefined ? [] : [...judgeParallel(step.expect, sent)];
  for (const [index, { call, outcome }] of sent.entries()) {
    if (call.do === 'reserve') world.answers.keep(call.as, outcome);
    // Where the outcomes are counted, a call without expectations of its own may end either way.
    if (call.expect === undefined && countsOutcomes(step.expect)) continue;
    const found = judgeAnswer(ownExpectation(call), outcome, contextOf(world));
    mismatches.push(...found.map((mismatch) => ({ ...mismatch, field: `call ${index + 1}: ${mismatch.field}` })));
  }
  return mismatches;
}

async function judgeResolved(
  name: string,
  expect: AnswerExpectation,
  world: ScenarioWorld,
): Promise<readonly Mismatch[]> {
  const outcome: Outcome | undefined = await world.answers.resolve(name, RESOLVE_BOUND_MS);
  if (outcome === undefined) {
    return [
      { field: 'waiting', expected: 'to be answered by this step', got: `no answer after ${RESOLVE_BOUND_MS} ms` },
    ];
  }
  return judgeAnswer(expect, outcome, contextOf(world));
}

/** What a call expects of its own answer, without what it says of other calls. */
function ownExpectation(step: CallStep): Partial<AnswerExpectation> | undefined {
  if (step.expect === undefined) return undefined;
  const own: Record<string, unknown> = { ...step.expect };
  delete own['resolves'];
  delete own['pending'];
  return own;
}

function contextOf(world: ScenarioWorld): JudgeContext {
  return { nowMs: world.nowMs, answerOf: (name) => world.answers.answerOf(name) };
}
