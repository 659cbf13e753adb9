// The verbs of the format and their keys: one table from which both the reading and the types of all steps follow.
import { BUDGET_RULES, window } from './budget-fields.ts';
import {
  alternative,
  answerExpect,
  balanceExpectation,
  parallelExpect,
  quietExpect,
  refusalExpect,
  reservationExpectation,
  reserveExpect,
} from './expectation-fields.ts';
import { type FieldsOf, listOf, mapOf, optional, type Read, readFields, required } from './field-rules.ts';
import { CaseFormatError, type Located } from './located-yaml.ts';
import { amount, bool, count, durationMs, instantMs, keyChoice, text, word } from './scalar-fields.ts';

const KEY = { key: optional('key', keyChoice) };
const OF_RESERVATION = { reservation: required('reservation', word), ...KEY, expect: optional('expect', answerExpect) };
const OF_BUDGET = { budget: required('budget', text), ...KEY, expect: optional('expect', refusalExpect) };
const QUIET = { expect: optional('expect', quietExpect) };

/** Keys of the verbs that call the service. Amounts and times may be senseless: the service must say so. */
const CALL_RULES = {
  reserve: {
    as: optional('as', word),
    budget: required('budget', text),
    ...KEY,
    maxMicros: optional('max', amount),
    minMicros: optional('min', amount),
    ttlMs: optional('ttl', durationMs),
    priority: optional('priority', word),
    waitMs: optional('wait', durationMs),
    tokens: optional('tokens', count),
    toolCalls: optional('tool_calls', count),
    alternatives: optional('alternatives', listOf(alternative)),
    also: optional('also', listOf(text)),
    dryRun: optional('dry_run', bool),
    expect: optional('expect', reserveExpect),
  },
  extend: { ...OF_RESERVATION, addMicros: optional('add', amount), minMicros: optional('min', amount) },
  settle: {
    ...OF_RESERVATION,
    actualMicros: optional('actual', amount),
    usageUnknown: optional('usage_unknown', bool),
    keepOpen: optional('keep_open', bool),
    retainMicros: optional('retain', amount),
    confirm: optional('confirm', bool),
  },
  release: OF_RESERVATION,
  renew: { ...OF_RESERVATION, ttlMs: optional('ttl', durationMs), started: optional('started', bool) },
  create_budget: { ...OF_BUDGET, budget: optional('budget', text), name: optional('name', text), ...BUDGET_RULES },
  set_limit: { ...OF_BUDGET, window: optional('window', window), amountMicros: required('amount', amount) },
  top_up: { ...OF_BUDGET, window: optional('window', window), addMicros: optional('add', amount) },
  suspend: OF_BUDGET,
  resume: OF_BUDGET,
  close: OF_BUDGET,
  approve: { ...OF_RESERVATION, by: optional('by', word), topUpMicros: optional('top_up', amount) },
  reject: { ...OF_RESERVATION, by: optional('by', word) },
  adjust: { ...OF_RESERVATION, actualMicros: optional('actual', amount) },
};

/** Keys of the verbs that act on the scenario's world. */
const WORLD_RULES = {
  advance: { byMs: optional('by', durationMs), toMs: optional('to', instantMs), ...QUIET },
  restart: QUIET,
  store_down: QUIET,
  store_up: QUIET,
  verify: QUIET,
  check: {
    balances: optional('balances', mapOf(balanceExpectation)),
    reservations: optional('reservations', mapOf(reservationExpectation)),
    budgets: optional('budgets', count),
    alerts: optional('alerts', mapOf(count)),
    ...QUIET,
  },
};

type StepsOf<Rules> = {
  readonly [Verb in keyof Rules]: { readonly do: Verb; readonly line: number } & FieldsOf<Rules[Verb]>;
};

/** A verb that calls the service. */
export type CallVerb = keyof typeof CALL_RULES;

/** The step of one calling verb. */
export type CallStepOf<Verb extends CallVerb> = StepsOf<typeof CALL_RULES>[Verb];

/** A step that calls the service. */
export type CallStep = { [Verb in CallVerb]: CallStepOf<Verb> }[CallVerb];

type WorldVerb = keyof typeof WORLD_RULES;

/** The step of one verb that acts on the scenario's world. */
export type WorldStepOf<Verb extends WorldVerb> = StepsOf<typeof WORLD_RULES>[Verb];

/** Calls that are sent all at once. */
export interface ParallelStep {
  readonly do: 'parallel';
  readonly line: number;
  readonly steps: readonly CallStep[];
  /** How many times the one step is sent; 1 where not said. */
  readonly repeat: number;
  readonly expect: ReturnType<typeof parallelExpect> | undefined;
}

/** Any step of a scenario. */
export type Step = CallStep | { [Verb in WorldVerb]: WorldStepOf<Verb> }[WorldVerb] | ParallelStep;

/** Reads one step. */
export const step: Read<Step> = (value) => (verbOf(value) === 'parallel' ? parallelStep(value) : plainStep(value));

function plainStep(value: Located): Exclude<Step, ParallelStep> {
  const verb = verbOf(value);
  const rules = { ...CALL_RULES, ...WORLD_RULES };
  if (!Object.hasOwn(rules, verb)) {
    throw new CaseFormatError(
      value.line,
      `there is no verb "${verb}" (there are: ${Object.keys(rules).join(', ')}, parallel)`,
    );
  }
  const fields = readFields(value, verb, { do: required('do', text), ...rules[verb as keyof typeof rules] });
  // The verb picked the rules, so the fields are those of its own step; the compiler can't tie the two together.
  const read = { line: value.line, ...fields } as unknown as Exclude<Step, ParallelStep>;
  checkShape(read);
  return read;
}

function checkShape(read: Exclude<Step, ParallelStep>): void {
  const bad = (message: string): never => {
    throw new CaseFormatError(read.line, message);
  };
  if (read.do === 'advance') {
    if ((read.byMs === undefined) === (read.toMs === undefined)) bad('advance takes either by or to');
    if (read.byMs !== undefined && read.byMs < 0) bad('advance can only go forward');
  }
  if (read.do === 'settle' && read.actualMicros !== undefined && read.usageUnknown === true) {
    bad('settle takes either actual or usage_unknown');
  }
  if (read.do === 'create_budget' && (read.name === undefined) === (read.budget === undefined)) {
    bad('create_budget needs a name');
  }
  if (read.do === 'reserve' && read.expect?.pending === true && (read.waitMs === undefined || read.as === undefined)) {
    bad('pending: true needs a wait, and an as to be resolved by');
  }
}

function parallelStep(value: Located): ParallelStep {
  const fields = readFields(value, 'parallel', {
    do: required('do', text),
    steps: required('steps', listOf(callStep)),
    repeat: optional('repeat', count),
    expect: optional('expect', parallelExpect),
  });
  const { steps, repeat, expect } = fields;
  if (steps.length === 0) throw new CaseFormatError(value.line, 'parallel needs at least one step');
  if (repeat !== undefined) {
    if (repeat < 1 || steps.length !== 1) throw new CaseFormatError(value.line, 'repeat goes with exactly one step');
    if (steps.some((sent) => sent.do === 'reserve' && sent.as !== undefined)) {
      throw new CaseFormatError(value.line, 'a repeated step answers more than once: it can have no as');
    }
  }
  return { do: 'parallel', line: value.line, steps, repeat: repeat ?? 1, expect };
}

const callStep: Read<CallStep> = (value) => {
  if (!Object.hasOwn(CALL_RULES, verbOf(value))) {
    throw new CaseFormatError(value.line, `parallel sends calls only, not "${verbOf(value)}"`);
  }
  const read = plainStep(value) as CallStep;
  if (read.do === 'reserve' && read.expect?.pending === true) {
    throw new CaseFormatError(value.line, 'a step of parallel is awaited: it can not be pending');
  }
  if (read.expect?.resolves !== undefined) {
    throw new CaseFormatError(value.line, 'resolves goes with the parallel step itself');
  }
  return read;
};

function verbOf(value: Located): string {
  const verb = value.kind === 'map' ? value.entries.get('do')?.value : undefined;
  if (verb === undefined) throw new CaseFormatError(value.line, 'a step needs the key "do"');
  return text(verb);
}
