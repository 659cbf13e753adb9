// What windows and budgets that close by age ask of the projection, over the store in memory: the same answers as those of
// sql/0007, found by looking at everything.
import type { BudgetPath, TreeId } from '../kernel/names.ts';
import type { Reservation } from '../kernel/reservation.ts';
import { childAt } from '../kernel/wait-order.ts';
import { type RollingRule, stepOf } from '../kernel/window.ts';
import type { HistoryNeed, WindowHistory, WindowSum } from '../kernel/window-history.ts';
import type { MemoryDatabase } from './memory-database.ts';
import type { MemoryTree } from './memory-tree.ts';
import type { IdleBudget } from './port.ts';

/** Sums of a budget's past. */
export function historyOf(tree: MemoryTree, budgetNo: number, needs: readonly HistoryNeed[]): WindowHistory {
  const charging = tree.reservations().filter(({ accounts }) => accounts.some((each) => each.budgetNo === budgetNo));
  return { seq: tree.projectedSeq, sums: needs.map((need) => sumOf(charging, need, tree.projectedMs)) };
}

function sumOf(charging: readonly Reservation[], { rule, fromMs }: HistoryNeed, atMs: number): WindowSum {
  if (rule.kind === 'rolling') {
    const heldMicros = total(charging, ({ figures }) => figures.heldMicros);
    return {
      rule,
      fromMs,
      heldMicros,
      settledMicros: 0n,
      overrunMicros: 0n,
      steps: stepsOf(charging, rule, fromMs, atMs),
    };
  }
  const untilMs = rule.kind === 'range' ? rule.endMs : Number.POSITIVE_INFINITY;
  const admitted = charging.filter(({ createMs }) => createMs >= fromMs && createMs < untilMs);
  return {
    rule,
    fromMs,
    heldMicros: total(admitted, ({ figures }) => figures.heldMicros),
    settledMicros: total(admitted, ({ figures }) => figures.settledMicros),
    overrunMicros: total(admitted, ({ figures }) => figures.overrunMicros),
    steps: [],
  };
}

function total(reservations: readonly Reservation[], amount: (reservation: Reservation) => bigint): bigint {
  return reservations.reduce((sum, reservation) => sum + amount(reservation), 0n);
}

interface Part {
  readonly atMs: number;
  readonly settledMicros: bigint;
  readonly overrunMicros: bigint;
}

function stepsOf(
  charging: readonly Reservation[],
  rule: RollingRule,
  fromMs: number,
  atMs: number,
): WindowSum['steps'] {
  const steps = new Map<number, { settledMicros: bigint; overrunMicros: bigint }>();
  for (const { figures } of charging) {
    for (const part of partsOf(figures, atMs)) {
      if (part.atMs < fromMs || (part.settledMicros === 0n && part.overrunMicros === 0n)) continue;
      const periodMs = stepOf(rule, part.atMs);
      const step = steps.get(periodMs) ?? { settledMicros: 0n, overrunMicros: 0n };
      steps.set(periodMs, step);
      step.settledMicros += part.settledMicros;
      step.overrunMicros += part.overrunMicros;
    }
  }
  return [...steps].map(([periodMs, sums]) => ({ periodMs, ...sums })).sort((a, b) => a.periodMs - b.periodMs);
}

// What a lapse assumed is taken out of the lapse's own step again; when late parts came is not known.
function partsOf(figures: Reservation['figures'], atMs: number): readonly Part[] {
  const { state, late, endMs = atMs, settledMicros, overrunMicros, estimatedMicros } = figures;
  if (!late || state !== 'EXPIRED') return [{ atMs: state === 'ACTIVE' ? atMs : endMs, settledMicros, overrunMicros }];
  return [
    { atMs: endMs, settledMicros: estimatedMicros, overrunMicros: 0n },
    { atMs, settledMicros: settledMicros - estimatedMicros, overrunMicros },
  ];
}

function isWaitedFor(tree: MemoryTree, path: BudgetPath): boolean {
  return tree.waiting().some(({ budget, also }) => childAt(path, [budget, ...also]) !== undefined);
}

/** Budgets that are idle at `nowMs`, in the order of the cursor. */
export function idleBudgets(database: MemoryDatabase, nowMs: number, after: IdleBudget | undefined): IdleBudget[] {
  const key = ({ lookMs, treeId, budgetNo }: IdleBudget): readonly [number, TreeId, number] => [
    lookMs,
    treeId,
    budgetNo,
  ];
  const order = (a: IdleBudget, b: IdleBudget): number => {
    const [keyA, keyB] = [key(a), key(b)];
    return keyA[0] - keyB[0] || (keyA[1] < keyB[1] ? -1 : keyA[1] > keyB[1] ? 1 : keyA[2] - keyB[2]);
  };
  return [...database.trees.values()]
    .filter(({ quarantine }) => quarantine === undefined)
    .flatMap((tree) =>
      tree.budgets().flatMap(({ def, activeCount, movedMs }): IdleBudget[] => {
        const { closeAfterMs } = def.shape;
        if (def.closed || closeAfterMs === undefined || activeCount > 0 || isWaitedFor(tree, def.path)) return [];
        return [{ treeId: tree.treeId, budgetNo: def.no, path: def.path, lookMs: movedMs + closeAfterMs }];
      }),
    )
    .filter((idle) => idle.lookMs <= nowMs && (after === undefined || order(idle, after) > 0))
    .sort(order);
}
