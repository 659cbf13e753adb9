// The past of windows that an edit brings, summed over a whole tree's reservations by looking at each: what a lane has from its
// store, without the store. Answers WindowSum's contract and nothing else.

import type { LimitInput } from '../../src/kernel/budget.ts';
import type { Command } from '../../src/kernel/command.ts';
import type { BudgetPath } from '../../src/kernel/names.ts';
import type { Reservation } from '../../src/kernel/reservation.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import { oldestStep, type RollingRule, sameRule, stepOf, type WindowRule } from '../../src/kernel/window.ts';
import type { WindowSum } from '../../src/kernel/window-history.ts';
import { UTC_CALENDAR } from './utc-calendar.ts';

/**
 * The command as a lane would give it to the kernel at `nowMs`; only edits are changed. Everything is summed up that one could ask
 * for: its own windows, its children's in them, and its own in those of the budget above, also where the same command brings them.
 */
export function withHistory<C extends Command>(state: TreeState, command: C, nowMs: number): C {
  if (command.kind !== 'ApplyBudgets') return editWithHistory(state, command, nowMs);
  const { changes } = command;
  const brought = changes.flatMap((change) => (change.kind === 'UpdateBudget' ? (change.limits ?? []) : []));
  return { ...command, changes: changes.map((change) => editWithHistory(state, change, nowMs, brought)) };
}

function editWithHistory<C extends Command>(
  state: TreeState,
  command: C,
  nowMs: number,
  brought: readonly LimitInput[] = [],
): C {
  if (command.kind !== 'UpdateBudget' || command.history !== undefined) return command;
  const budget = state.budgetAt(command.budget);
  if (budget === undefined) return command;
  const { no, parentNo, childShares } = budget.def;
  const above = parentNo === undefined ? [] : (state.budget(parentNo)?.def.windows ?? []);
  const rules = distinct([...(command.limits ?? []), ...above, ...brought].map(({ rule }) => rule));
  const budgets = [no, ...childShares.map(({ childNo }) => childNo)].map((budgetNo) => {
    const charging = [...state.reservations()].filter(({ accounts }) =>
      accounts.some((each) => each.budgetNo === budgetNo),
    );
    return { budgetNo, sums: rules.map((rule) => sumOf(charging, rule, nowMs)) };
  });
  return { ...command, history: { seq: state.position.seq, budgets } };
}

function distinct(rules: readonly WindowRule[]): WindowRule[] {
  return rules.filter((rule, i) => rules.findIndex((each) => sameRule(each, rule)) === i);
}

/** Whether a reservation charges a budget: it lies on one of its paths. */
export function charges({ budget, also }: Reservation, path: BudgetPath): boolean {
  return [budget, ...also].some((named) => named === path || named.startsWith(`${path}/`));
}

function sumOf(charging: readonly Reservation[], rule: WindowRule, nowMs: number): WindowSum {
  const held = (each: Reservation) => each.figures.heldMicros;
  if (rule.kind === 'rolling') {
    const steps = stepsOf(charging, rule, nowMs);
    const fromMs = oldestStep(rule, nowMs);
    return { rule, fromMs, heldMicros: total(charging, held), settledMicros: 0n, overrunMicros: 0n, steps };
  }
  const fromMs = rule.kind === 'calendar' ? UTC_CALENDAR.period(rule, nowMs).startMs : startOf(rule);
  const untilMs = rule.kind === 'range' ? rule.endMs : Number.POSITIVE_INFINITY;
  const within = charging.filter(({ createMs }) => createMs >= fromMs && createMs < untilMs);
  return {
    rule,
    fromMs,
    heldMicros: total(within, held),
    settledMicros: total(within, ({ figures }) => figures.settledMicros),
    overrunMicros: total(within, ({ figures }) => figures.overrunMicros),
    steps: [],
  };
}

function startOf(rule: WindowRule): number {
  return rule.kind === 'range' ? rule.startMs : 0;
}

function stepsOf(charging: readonly Reservation[], rule: RollingRule, nowMs: number): WindowSum['steps'] {
  const steps = new Map<number, { settledMicros: bigint; overrunMicros: bigint }>();
  const add = (atMs: number, settledMicros: bigint, overrunMicros: bigint) => {
    const periodMs = stepOf(rule, atMs);
    if (periodMs < oldestStep(rule, nowMs)) return;
    const step = steps.get(periodMs) ?? { settledMicros: 0n, overrunMicros: 0n };
    steps.set(periodMs, {
      settledMicros: step.settledMicros + settledMicros,
      overrunMicros: step.overrunMicros + overrunMicros,
    });
  };
  for (const { figures } of charging) {
    const { state, endMs = nowMs, estimatedMicros, settledMicros, overrunMicros, late } = figures;
    // What a lapse assumed stands where it lapsed; parts that came late are taken for as late as can be.
    const assumedMicros = state === 'EXPIRED' ? estimatedMicros : 0n;
    add(endMs, assumedMicros, 0n);
    add(late && state === 'EXPIRED' ? nowMs : endMs, settledMicros - assumedMicros, overrunMicros);
  }
  return [...steps].sort(([a], [b]) => a - b).map(([periodMs, sums]) => ({ periodMs, ...sums }));
}

function total(charging: readonly Reservation[], of: (reservation: Reservation) => bigint): bigint {
  return charging.reduce((sum, each) => sum + of(each), 0n);
}
