// What a tree of budgets should answer, written from DESIGN.md and from nothing else: a list of holds, and sums over it
// whenever somebody asks. No counters, no journal, no index, so that it has nothing in common with what it judges.
import type { Command, Extend, Renew, Reserve, Settle } from '../../src/kernel/command.ts';
import {
  amountsOf,
  available,
  isWithin,
  type ModelBudget,
  type ModelLimit,
  newBudget,
  pathsOf,
  recovers,
  standing,
  statedLimits,
  sum,
  toppedUp,
  useRate,
  waitOf,
} from './model-budget.ts';
import { moneyRefusal, refusal, tightest } from './model-refusal.ts';
import { figuresOf, type Hold, newHold, type PredictedRefusal, type Prediction } from './prediction.ts';

interface Memory {
  readonly fingerprint: string;
  readonly id: string | undefined;
  readonly isGrant: boolean;
  readonly prediction: Prediction;
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
    const under = this.#charging(path);
    const [available, boundBy] = this.#headroom([path], this.nowMs);
    return {
      kind: 'budget',
      limits: amountsOf(budget.limits),
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
        this.budgets.set(command.budget, newBudget(command));
        return this.#edited(command.budget);
      }
      case 'UpdateBudget':
        return this.#edit(command.budget, (budget) => {
          const limits = command.limits === undefined ? budget.limits : statedLimits(command.limits, budget.limits);
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
          const limit = budget.limits.get(name);
          if (limit === undefined || limit.rule.kind === 'rolling') return false;
          budget.limits = new Map(budget.limits).set(name, toppedUp(limit, Number(command.addMicros), this.nowMs));
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
    return { kind: 'edited', limits: amountsOf(limits), revision };
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

  #reserve({ id, budget: path, also, maxMicros, minMicros, ttlMs }: Reserve): Prediction {
    const paths = [path, ...also];
    const stopped =
      this.#suspended(paths) ??
      this.#closed(paths) ??
      this.#tooLarge(paths, Number(minMicros)) ??
      this.#stopped(paths, this.nowMs, Number(minMicros), undefined);
    if (stopped !== undefined) return stopped;
    const [available] = this.#headroom(paths, this.nowMs);
    const granted = Math.min(Number(maxMicros), available ?? Number.POSITIVE_INFINITY, this.#largest(paths));
    const expireMs = this.nowMs + (ttlMs ?? 0);
    for (const each of this.#charged(paths)) {
      const budget = this.#budget(each);
      for (const rate of budget.rates) useRate(rate, this.nowMs);
      this.budgets.set(each, budget);
    }
    const hold = newHold(id, path, {
      also,
      createMs: this.nowMs,
      requested: Number(maxMicros),
      granted,
      expireMs,
      reclaimMs: expireMs + this.graceMs,
    });
    this.holds.set(id, hold);
    return this.#shown(hold);
  }

  #extend(hold: Hold, { addMicros, minMicros }: Extend): Prediction {
    const paths = pathsOf(hold);
    const stopped =
      this.#leaseOver(hold) ??
      this.#ended(hold) ??
      this.#suspended(paths) ??
      this.#closed(paths) ??
      this.#tooLarge(paths, hold.granted + Number(minMicros)) ??
      this.#stopped(paths, hold.createMs, Number(minMicros), hold.held);
    if (stopped !== undefined) return stopped;
    const [available] = this.#headroom(paths, hold.createMs);
    const largest = this.#largest(paths) - hold.granted;
    const added = Math.min(Number(addMicros), available ?? Number.POSITIVE_INFINITY, largest);
    hold.requested += Number(addMicros);
    hold.granted += added;
    hold.held += added;
    hold.started = true;
    return this.#shown(hold);
  }

  #renew(hold: Hold, { renewals: [renewal] }: Renew): Prediction {
    const stopped = this.#leaseOver(hold) ?? this.#ended(hold) ?? this.#suspended(pathsOf(hold));
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
    hold.spends.push({ atMs: hold.reclaimMs, amount: -replaced });
    hold.released += Math.max(0, replaced - cost);
    if (late && keepOpen) hold.lapsedHeld = Math.max(0, hold.lapsedHeld - cost);
    const fromHold = Math.min(cost, hold.held);
    const rest = hold.held - fromHold;
    hold.held = 0;
    const kept = keepOpen && !late ? Math.min(rest, Number(retainMicros ?? rest)) : 0;
    const room = this.#room(hold) - fromHold;
    const covered = Math.min(cost - fromHold, Math.max(0, room));
    hold.held = kept;
    hold.released += rest - kept;
    hold.settled += fromHold + covered;
    hold.overrun += cost - fromHold - covered;
    hold.spends.push({ atMs: this.nowMs, amount: cost });
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
    hold.spends.push({ atMs: hold.reclaimMs, amount: hold.estimate });
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
    const [available, boundBy] = this.#headroom(pathsOf(hold), hold.createMs);
    return { kind: 'reservation', ...figuresOf(hold), available, boundBy };
  }

  #ended(hold: Hold): PredictedRefusal | undefined {
    return hold.state === 'ACTIVE' ? undefined : refusal(`RESERVATION_${hold.state}`, hold.path);
  }

  #leaseOver({ state, expireMs, path }: Hold): PredictedRefusal | undefined {
    const over = state === 'EXPIRED' || (state === 'ACTIVE' && this.nowMs >= expireMs);
    return over ? refusal('LEASE_EXPIRED', path) : undefined;
  }

  #suspended(paths: readonly string[]): PredictedRefusal | undefined {
    const found = this.#charged(paths).find((each) => this.#budget(each).suspended);
    return found === undefined ? undefined : refusal('BUDGET_SUSPENDED', found);
  }

  #closed(paths: readonly string[]): PredictedRefusal | undefined {
    const found = this.#charged(paths).find((each) => this.#budget(each).closed);
    return found === undefined ? undefined : refusal('BUDGET_CLOSED', found);
  }

  #largest(paths: readonly string[]): number {
    return Math.min(...this.#charged(paths).map((each) => this.#budget(each).maxReservation));
  }

  #tooLarge(paths: readonly string[], granted: number): PredictedRefusal | undefined {
    const largest = this.#largest(paths);
    const named = this.#charged(paths).find((each) => this.#budget(each).maxReservation === largest);
    return granted > largest ? refusal('MAX_RESERVATION_EXCEEDED', named) : undefined;
  }

  /** `own`: what the reservation holds that asks for more; waiting does not give it back. Undefined for a Reserve. */
  #stopped(
    paths: readonly string[],
    admittedMs: number,
    min: number,
    own: number | undefined,
  ): PredictedRefusal | undefined {
    const limits = this.#limits(paths, admittedMs);
    const never = tightest(
      limits.filter(({ amountNow }) => amountNow < min),
      ({ amountNow }) => amountNow,
    );
    if (never !== undefined) return refusal('EXCEEDS_LIMIT', never.path, never.name);
    const failing = limits.filter((limit) => available(limit) < min);
    const first = (own === undefined ? this.#braked(paths) : undefined) ?? moneyRefusal(failing, min);
    // A rate fills and a slot comes back.
    return first && { ...first, retry: failing.every((limit) => recovers(limit, min, own)) };
  }

  // Rates before slots; the one that takes longest, the one with the fewest.
  #braked(paths: readonly string[]): PredictedRefusal | undefined {
    const charged = this.#charged(paths).map((path) => [path, this.#budget(path)] as const);
    const waits = charged.map(
      ([path, { rates }]) => [path, Math.max(0, ...rates.map((rate) => waitOf(rate, this.nowMs)))] as const,
    );
    const longest = Math.max(...waits.map(([, wait]) => wait));
    const slow = waits.find(([, wait]) => wait === longest && wait > 0);
    if (slow !== undefined) return refusal('RATE_LIMITED', slow[0]);
    const active = (path: string) => this.#charging(path).filter(({ state }) => state === 'ACTIVE').length;
    const full = charged.filter(([path, { maxActive }]) => active(path) >= maxActive);
    const fewest = Math.min(...full.map(([, { maxActive }]) => maxActive));
    const named = full.find(([, { maxActive }]) => maxActive === fewest);
    return named && refusal('CONCURRENCY_LIMIT', named[0]);
  }

  /** amount - used of the tightest limit in the hold's own periods, below 0 where lowered. */
  #room(hold: Hold): number {
    return Math.min(...this.#limits(pathsOf(hold), hold.createMs).map(({ left }) => left));
  }

  #headroom(paths: readonly string[], admittedMs: number): readonly [available: number | undefined, boundBy: string] {
    const named = tightest(this.#limits(paths, admittedMs), available);
    return named === undefined ? [undefined, ''] : [available(named), `${named.path}:${named.name}`];
  }

  /** Every limit on the ways to some budgets, nearest the root first. */
  #limits(paths: readonly string[], admittedMs: number): ModelLimit[] {
    return this.#charged(paths).flatMap((path) => {
      const charging = this.#charging(path);
      return [...this.#budget(path).limits].map((each) => standing(each, path, charging, admittedMs, this.nowMs));
    });
  }

  #charging(path: string): Hold[] {
    return [...this.holds.values()].filter((hold) => pathsOf(hold).some((each) => isWithin(each, path)));
  }

  /** Budgets on the ways to some budgets, each once, nearest the root first. */
  #charged(paths: readonly string[]): string[] {
    const all = [...new Set(paths.flatMap((path) => this.#chain(path)))];
    return all.sort((a, b) => a.split('/').length - b.split('/').length);
  }

  #chain(path: string): string[] {
    const segments = path.split('/');
    return segments.map((_, i) => segments.slice(0, i + 1).join('/'));
  }

  /** As it is, or as a grant would make it. */
  #budget(path: string): ModelBudget {
    const budget = this.budgets.get(path);
    if (budget !== undefined) return budget;
    const template = this.budgets.get(path.slice(0, path.lastIndexOf('/')))?.template;
    if (template === undefined) throw new Error(`the model has no ${path}`);
    return newBudget(template);
  }
}
