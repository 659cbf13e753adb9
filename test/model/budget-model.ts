// What a tree of budgets should answer, written from DESIGN.md and from nothing else: a list of holds, and sums over it
// whenever somebody asks. No counters, no journal, no index, so that it has nothing in common with what it judges.
import type { LimitInput } from '../../src/kernel/budget.ts';
import type { Command, Extend, Renew, Reserve, Settle } from '../../src/kernel/command.ts';
import { figuresOf, type Hold, newHold, type PredictedRefusal, type Prediction } from './prediction.ts';

interface ModelBudget {
  /** Amounts by name, in the order in which they were listed. */
  limits: ReadonlyMap<string, number>;
  onExpiry: string;
  suspended: boolean;
  closed: boolean;
  revision: number;
}

interface Memory {
  readonly fingerprint: string;
  readonly id: string | undefined;
  readonly isGrant: boolean;
  readonly prediction: Prediction;
}

/** One limit as it stands. */
interface ModelLimit {
  readonly path: string;
  readonly name: string;
  readonly amount: number;
  /** amount - used, below 0 where lowered. */
  readonly left: number;
  readonly held: number;
}

// Reasons that judged nothing about money.
const FORGOTTEN = new Set(['IDEMPOTENCY_KEY_REUSED', 'BUDGET_SUSPENDED', 'INVALID_FIELD', 'RESERVATION_NOT_FOUND']);

/** See the head of this file. */
export class BudgetModel {
  nowMs: number;
  readonly graceMs: number;
  readonly budgets = new Map<string, ModelBudget>();
  readonly holds = new Map<string, Hold>();
  readonly told: Command[] = [];
  readonly #memories = new Map<string, Memory>();

  constructor(nowMs: number, graceMs: number) {
    this.nowMs = nowMs;
    this.graceMs = graceMs;
  }

  /** What the command is answered, and what it changes. */
  answer(command: Command): Prediction {
    for (const hold of this.holds.values()) this.#lapse(hold);
    const { key } = command;
    const memory = key === undefined ? undefined : this.#memories.get(key.digest);
    if (memory !== undefined) return this.#repeat(memory, key?.fingerprint ?? '');
    const prediction = this.#fresh(command);
    const forgotten = prediction.kind === 'refusal' && (prediction.retry || FORGOTTEN.has(prediction.reason));
    if (key !== undefined && !forgotten) {
      const isGrant = prediction.kind === 'reservation' && (command.kind === 'Reserve' || command.kind === 'Extend');
      const id = prediction.kind === 'reservation' ? prediction.id : undefined;
      this.#memories.set(key.digest, { fingerprint: key.fingerprint, id, isGrant, prediction });
    }
    return prediction;
  }

  /** A budget as GetBudget should show it. */
  balances(path: string): Prediction {
    for (const hold of this.holds.values()) this.#lapse(hold);
    const budget = this.#budget(path);
    const under = [...this.holds.values()].filter((hold) => isWithin(hold.path, path));
    const [available, boundBy] = this.#headroom(path);
    return {
      kind: 'budget',
      limits: Object.fromEntries(budget.limits),
      boundBy,
      revision: budget.revision,
      held: sum(under, ({ held }) => held),
      settled: sum(under, ({ settled }) => settled),
      overrun: sum(under, ({ overrun }) => overrun),
      active: under.filter(({ state }) => state === 'ACTIVE').length,
      available,
    };
  }

  #repeat(memory: Memory, fingerprint: string): Prediction {
    if (memory.fingerprint !== fingerprint) return refusal('IDEMPOTENCY_KEY_REUSED');
    const hold = this.holds.get(memory.id ?? '');
    if (!memory.isGrant || hold === undefined || memory.prediction.kind !== 'reservation') return memory.prediction;
    return this.#ended(hold) ?? this.#leaseOver(hold) ?? { ...memory.prediction, expireMs: hold.expireMs };
  }

  #fresh(command: Command): Prediction {
    switch (command.kind) {
      case 'CreateBudget': {
        const { onExpiry } = command;
        const flags = { onExpiry, suspended: false, closed: false, revision: 1 };
        this.budgets.set(command.budget, { ...flags, limits: amountsOf(command.limits) });
        return this.#edited(command.budget);
      }
      case 'UpdateBudget':
        return this.#edit(command.budget, (budget) => {
          const limits = command.limits === undefined ? budget.limits : amountsOf(command.limits);
          // No budget of a run says that it is uncapped.
          const capped = this.#chain(command.budget).some((each) =>
            each === command.budget ? limits.size > 0 : this.#budget(each).limits.size > 0,
          );
          if (!capped) return false;
          budget.limits = limits;
          budget.onExpiry = command.onExpiry ?? budget.onExpiry;
          return true;
        });
      case 'TopUp':
        return this.#edit(command.budget, (budget) => {
          const only = budget.limits.size === 1 ? [...budget.limits.keys()][0] : undefined;
          const name = command.limit ?? only ?? '';
          const amount = budget.limits.get(name);
          if (amount === undefined) return false;
          budget.limits = new Map(budget.limits).set(name, amount + Number(command.addMicros));
          return true;
        });
      case 'SuspendBudget':
      case 'ResumeBudget':
      case 'CloseBudget':
        return this.#switch(command.kind, command.budget);
      case 'Reserve':
        return this.#reserve(command);
      case 'Renew':
        return this.#onHold(command.renewals[0]?.id ?? '', (hold) => this.#renew(hold, command));
      case 'Extend':
        return this.#onHold(command.id, (hold) => this.#extend(hold, command));
      case 'Settle':
        return this.#onHold(command.id, (hold) => this.#settle(hold, command));
      case 'Release':
        return this.#onHold(command.id, (hold) => this.#release(hold));
      default:
        throw new Error(`the model knows no ${command.kind}`);
    }
  }

  /** `change` says whether its fields fit the budget; where they do not, it has changed nothing. */
  #edit(path: string, change: (budget: ModelBudget) => boolean): Prediction {
    const closed = this.#chain(path).find((each) => this.#budget(each).closed);
    if (closed !== undefined) return refusal('BUDGET_CLOSED', closed);
    const budget = this.#budget(path);
    if (!change(budget)) return refusal('INVALID_FIELD');
    budget.revision += 1;
    return this.#edited(path);
  }

  #edited(path: string): Prediction {
    const { limits, revision } = this.#budget(path);
    return { kind: 'edited', limits: Object.fromEntries(limits), revision };
  }

  #switch(kind: 'SuspendBudget' | 'ResumeBudget' | 'CloseBudget', path: string): Prediction {
    const budget = this.#budget(path);
    const field = kind === 'CloseBudget' ? 'closed' : 'suspended';
    const value = kind !== 'ResumeBudget';
    if (budget[field] !== value) {
      budget[field] = value;
      budget.revision += 1;
    }
    return this.#edited(path);
  }

  #reserve({ id, budget: path, maxMicros, minMicros, ttlMs }: Reserve): Prediction {
    const stopped = this.#suspended(path) ?? this.#closed(path) ?? this.#money(path, Number(minMicros), 0);
    if (stopped !== undefined) return stopped;
    const [available] = this.#headroom(path);
    const granted = Math.min(Number(maxMicros), available ?? Number.POSITIVE_INFINITY);
    const expireMs = this.nowMs + ttlMs;
    const hold = newHold(id, path, {
      requested: Number(maxMicros),
      granted,
      expireMs,
      reclaimMs: expireMs + this.graceMs,
    });
    this.holds.set(id, hold);
    return this.#shown(hold);
  }

  #extend(hold: Hold, { addMicros, minMicros }: Extend): Prediction {
    const stopped =
      this.#leaseOver(hold) ??
      this.#ended(hold) ??
      this.#suspended(hold.path) ??
      this.#closed(hold.path) ??
      this.#money(hold.path, Number(minMicros), hold.held);
    if (stopped !== undefined) return stopped;
    const [available] = this.#headroom(hold.path);
    const added = Math.min(Number(addMicros), available ?? Number.POSITIVE_INFINITY);
    hold.requested += Number(addMicros);
    hold.granted += added;
    hold.held += added;
    hold.started = true;
    return this.#shown(hold);
  }

  #renew(hold: Hold, { renewals: [renewal] }: Renew): Prediction {
    const stopped = this.#leaseOver(hold) ?? this.#ended(hold) ?? this.#suspended(hold.path);
    if (stopped !== undefined) return stopped;
    const expireMs = this.nowMs + (renewal?.ttlMs ?? 0);
    if (expireMs > hold.expireMs) {
      hold.expireMs = expireMs;
      hold.reclaimMs = expireMs + this.graceMs;
    }
    hold.started = true;
    return this.#shown(hold);
  }

  #release(hold: Hold): Prediction {
    const stopped = this.#ended(hold);
    if (stopped !== undefined) return stopped;
    hold.released += hold.held;
    hold.held = 0;
    hold.state = 'RELEASED';
    return this.#shown(hold);
  }

  #settle(hold: Hold, { actualMicros, keepOpen, retainMicros }: Settle): Prediction {
    const late = hold.state === 'EXPIRED';
    const stopped = late ? undefined : this.#ended(hold);
    if (stopped !== undefined) return stopped;
    const unknown = actualMicros === undefined;
    const cost = Number(actualMicros ?? (late ? hold.lapsedHeld : hold.held));
    // What a lapse assumed is taken out again, by a part only as far as it goes; what nobody spent of it goes back.
    const replaced = late && keepOpen ? Math.min(hold.estimate, cost) : hold.estimate;
    const left = hold.estimate - replaced;
    hold.settled -= replaced;
    hold.released += Math.max(0, replaced - cost);
    if (late && keepOpen) hold.lapsedHeld = Math.max(0, hold.lapsedHeld - cost);
    const fromHold = Math.min(cost, hold.held);
    const rest = hold.held - fromHold;
    hold.held = 0;
    const kept = keepOpen && !late ? Math.min(rest, Number(retainMicros ?? rest)) : 0;
    const room = this.#room(hold.path) - fromHold;
    const covered = Math.min(cost - fromHold, Math.max(0, room));
    hold.held = kept;
    hold.released += rest - kept;
    hold.settled += fromHold + covered;
    hold.overrun += cost - fromHold - covered;
    hold.estimate = unknown ? fromHold + covered : left;
    hold.estimated = unknown || left > 0;
    hold.late ||= late;
    hold.started = true;
    if (!keepOpen) hold.state = 'SETTLED';
    return this.#shown(hold);
  }

  #lapse(hold: Hold): void {
    if (hold.state !== 'ACTIVE' || this.nowMs < hold.reclaimMs) return;
    const { onExpiry } = this.#budget(hold.path);
    const charged = onExpiry === 'charge' || (onExpiry === 'charge_started' && hold.started);
    if (charged) hold.settled += hold.held;
    else hold.released += hold.held;
    hold.estimate = charged ? hold.held : 0;
    hold.estimated = charged;
    hold.lapsedHeld = hold.held;
    hold.held = 0;
    hold.state = 'EXPIRED';
  }

  #onHold(id: string, act: (hold: Hold) => Prediction): Prediction {
    const hold = this.holds.get(id);
    return hold === undefined ? refusal('RESERVATION_NOT_FOUND') : act(hold);
  }

  #shown(hold: Hold): Prediction {
    const [available, boundBy] = this.#headroom(hold.path);
    return { kind: 'reservation', ...figuresOf(hold), available, boundBy };
  }

  #ended(hold: Hold): PredictedRefusal | undefined {
    return hold.state === 'ACTIVE' ? undefined : refusal(`RESERVATION_${hold.state}`, hold.path);
  }

  #leaseOver({ state, expireMs, path }: Hold): PredictedRefusal | undefined {
    const over = state === 'EXPIRED' || (state === 'ACTIVE' && this.nowMs >= expireMs);
    return over ? refusal('LEASE_EXPIRED', path) : undefined;
  }

  #suspended(path: string): PredictedRefusal | undefined {
    const found = this.#chain(path).find((each) => this.#budget(each).suspended);
    return found === undefined ? undefined : refusal('BUDGET_SUSPENDED', found);
  }

  #closed(path: string): PredictedRefusal | undefined {
    const found = this.#chain(path).find((each) => this.#budget(each).closed);
    return found === undefined ? undefined : refusal('BUDGET_CLOSED', found);
  }

  /** `own`: what the reservation holds that asks for more; waiting does not give it back. */
  #money(path: string, min: number, own: number): PredictedRefusal | undefined {
    const limits = this.#limits(path);
    const never = tightest(
      limits.filter(({ amount }) => amount < min),
      ({ amount }) => amount,
    );
    if (never !== undefined) return refusal('EXCEEDS_LIMIT', never.path, never.name);
    const failing = limits.filter(({ left }) => Math.max(0, left) < min);
    const spent = tightest(
      failing.filter(({ left, held }) => left + held < min),
      available,
    );
    if (spent !== undefined) return refusal('BUDGET_EXHAUSTED', spent.path, spent.name);
    const named = tightest(failing, available);
    if (named === undefined) return undefined;
    const retry = failing.every(({ left, held }) => left + held - own >= min);
    return { ...refusal('CAPACITY_HELD', named.path, named.name), retry };
  }

  /** amount - used of the tightest limit, below 0 where lowered. */
  #room(path: string): number {
    return Math.min(...this.#limits(path).map(({ left }) => left));
  }

  #headroom(path: string): readonly [available: number | undefined, boundBy: string] {
    const named = tightest(this.#limits(path), available);
    return named === undefined ? [undefined, ''] : [available(named), `${named.path}:${named.name}`];
  }

  /** Every limit on the way to a budget, root first. */
  #limits(path: string): ModelLimit[] {
    return this.#chain(path).flatMap((each) => {
      const held = this.#held(each);
      const used = this.#used(each);
      return [...this.#budget(each).limits].map(([name, amount]) => ({
        path: each,
        name,
        amount,
        left: amount - used,
        held,
      }));
    });
  }

  #used(path: string): number {
    const under = [...this.holds.values()].filter((hold) => isWithin(hold.path, path));
    return sum(under, ({ held, settled, overrun }) => held + settled + overrun);
  }

  #held(path: string): number {
    return sum(
      [...this.holds.values()].filter((hold) => isWithin(hold.path, path)),
      ({ held }) => held,
    );
  }

  #chain(path: string): string[] {
    const segments = path.split('/');
    return segments.map((_, i) => segments.slice(0, i + 1).join('/'));
  }

  #budget(path: string): ModelBudget {
    const budget = this.budgets.get(path);
    if (budget === undefined) throw new Error(`the model has no ${path}`);
    return budget;
  }
}

function refusal(reason: string, budget = '', limit = ''): PredictedRefusal {
  return { kind: 'refusal', reason, budget, limit, retry: false };
}

function amountsOf(limits: readonly LimitInput[]): ReadonlyMap<string, number> {
  return new Map(limits.map(({ name, amountMicros }) => [name, Number(amountMicros)]));
}

/** What is left to use: nothing where the amount was lowered below what is used. */
function available({ left }: ModelLimit): number {
  return Math.max(0, left);
}

function isWithin(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}/`);
}

function sum(holds: readonly Hold[], of: (hold: Hold) => number): number {
  return holds.reduce((total, hold) => total + of(hold), 0);
}

/** Limits come root first: the first of equals is the one nearest the root. */
function tightest(limits: readonly ModelLimit[], size: (limit: ModelLimit) => number): ModelLimit | undefined {
  const least = Math.min(...limits.map(size));
  return limits.find((limit) => size(limit) === least);
}
