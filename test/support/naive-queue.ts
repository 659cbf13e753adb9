// What the wait queue may and must do, from the text alone: look at all who wait, in their order, each time anew. As slow as that is,
// and the measure for the one that is fast.
//
//   wide     whoever comes first and is short of a thing holds it, whatever else it waits for
//   narrow   only who comes first at everything that it waits for holds it, and only against those who ask all of that too
//
// The text leaves it open which of the two it means, and what lies between them. What both allow has to be done, and what neither
// allows must not be.
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Reserve } from '../../src/kernel/command.ts';
import { reserveOf } from '../../src/kernel/decide-queue.ts';
import type { DecideContext } from '../../src/kernel/decision.ts';
import { binds, leewayMicros, PRIORITIES } from '../../src/kernel/enforcement.ts';
import { counterRoomMicros, limitRooms } from '../../src/kernel/headroom.ts';
import type { BudgetPath } from '../../src/kernel/names.ts';
import { recentMicros } from '../../src/kernel/recent-use.ts';
import { rateRooms } from '../../src/kernel/refuse-rate.ts';
import { reserveShapeRefusal } from '../../src/kernel/refuse-reserve.ts';
import { largestMicros, windowRefusal } from '../../src/kernel/refuse-shape.ts';
import { closedRefusal, suspendedRefusal } from '../../src/kernel/refuse-state.ts';
import { type RequestedCharge, requestedCharge } from '../../src/kernel/requested-charge.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import type { Waiting } from '../../src/kernel/wait-order.ts';

/** See the head of this file. */
export type Reading = 'wide' | 'narrow';

/** What a request comes to: an amount, a wait, or a reason that no wait can cure. */
export type Outcome =
  | { readonly kind: 'grant'; readonly micros: bigint; readonly alternative: string }
  | { readonly kind: 'wait' }
  | { readonly kind: 'never'; readonly reason: string };

/** One thing that a request asks for and that can be short. */
interface Thing {
  readonly name: string;
  readonly budget: BudgetState;
  readonly kind: 'limit' | 'rate' | 'slots';
  /** Limits: what there is for its class, never below 0, and what there would be without holds, and ever. */
  readonly leftMicros: bigint;
  readonly unspentMicros: bigint;
  readonly wholeMicros: bigint;
  /** Rates and slots: whether there is too little. */
  readonly isShort: boolean;
  readonly isNever: boolean;
}

/** One who asks. */
export interface Ask {
  readonly command: Reserve;
  readonly seq: number;
  readonly sinceMs: number;
  readonly isAttached: boolean;
  readonly charge: RequestedCharge | undefined;
  readonly never: string | undefined;
  readonly things: readonly Thing[];
  readonly judging: readonly BudgetState[];
  /** Alike for those of whom only the first is looked at. */
  readonly alike: string;
}

const WAIT: Outcome = { kind: 'wait' };

/** All who wait, as things stand now. */
export class NaiveQueue {
  readonly #state: TreeState;
  readonly #context: DecideContext;
  readonly asks: readonly Ask[];
  readonly #waits = new Map<Ask, readonly Thing[]>();

  constructor(state: TreeState, context: DecideContext) {
    this.#state = state;
    this.#context = context;
    this.asks = [...state.reservations()]
      .filter((each): each is Waiting => each.figures.state === 'QUEUED')
      .map((waiting) => this.#ask(reserveOf(state.treeId, waiting), waiting.queued.seq, waiting.createMs))
      .sort((a, b) => a.seq - b.seq);
  }

  /** One who comes now. */
  newcomer(command: Reserve): Ask {
    return this.#ask(command, Number.MAX_SAFE_INTEGER, this.#context.nowMs);
  }

  /** The one that waits under an id. */
  byId(id: string): Ask | undefined {
    return this.asks.find(({ command }) => command.id === id);
  }

  /** Whether nobody before it asks the same. */
  isFirst(ask: Ask): boolean {
    return !this.asks.some((other) => other.alike === ask.alike && other.seq < ask.seq);
  }

  /** Everything that it may come to. Where it can do with nothing it makes a difference at what it is held back. */
  outcomes(ask: Ask): readonly Outcome[] {
    const both = [this.outcome(ask, 'wide'), this.outcome(ask, 'narrow')];
    const { alternatives } = ask.command;
    if (ask.never !== undefined || !isFree(ask.command) || !ask.things.some((thing) => this.#isHeld(ask, thing)))
      return both;
    const free = alternatives.filter(({ maxMicros }) => maxMicros === 0n).map(({ label }) => label);
    return [
      ...both,
      WAIT,
      ...['', ...free].map((alternative) => ({ kind: 'grant', micros: 0n, alternative }) as const),
    ];
  }

  outcome(ask: Ask, reading: Reading): Outcome {
    if (ask.never !== undefined) return { kind: 'never', reason: ask.never };
    if (reading === 'narrow' && this.#isOvertaking(ask) && !isFree(ask.command)) return WAIT;
    const isHeld = (thing: Thing): boolean => reading === 'wide' && this.#isHeld(ask, thing);
    const held = new Set(ask.things.filter(isHeld).map(({ name }) => name));
    const { minMicros, maxMicros, alternatives } = ask.command;
    const first = this.#judge(ask, held, minMicros, maxMicros);
    if (first.kind === 'grant' || !this.#degrades(ask, held)) return first;
    for (const { label, maxMicros: micros } of alternatives) {
      const cheaper = this.#judge(ask, held, micros, micros);
      if (cheaper.kind === 'grant') return { ...cheaper, alternative: label };
    }
    return first;
  }

  /** Whether `a` is before `b` at some thing that both ask, and `b` before `a` at none. */
  isBefore(a: Ask, b: Ask): boolean {
    return this.isBeforeAnywhere(a, b) && !this.isBeforeAnywhere(b, a);
  }

  /** Whether `a` is before `b` at some thing that both ask. */
  isBeforeAnywhere(a: Ask, b: Ask): boolean {
    return a.things.some(({ name, budget }) => hasThing(b, name) && this.#isAhead(a, b, budget));
  }

  /** Whether an alternative is tried whichever of the limits that fail is named. */
  isSurelyDegraded(ask: Ask): boolean {
    const { minMicros } = ask.command;
    return ask.things.every(
      (thing) =>
        thing.kind !== 'limit' || (!this.#isHeld(ask, thing) && (thing.leftMicros >= minMicros || degrades(thing))),
    );
  }

  /** Whether what was asked for first can never fit. */
  isTooMuch({ things, command: { minMicros } }: Ask): boolean {
    return things.some((thing) => thing.kind === 'limit' && thing.wholeMicros < minMicros);
  }

  #ask(command: Reserve, seq: number, sinceMs: number): Ask {
    const { nowMs, queue } = this.#context;
    const { budget, also, priority, tokens, toolCalls, minMicros, alternatives, id } = command;
    const own = alternatives.some(({ maxMicros }) => maxMicros === 0n) && id;
    const parts = [priority, budget, also, tokens > 0, toolCalls > 0, minMicros === 0n, own];
    const isAttached = queue.isAttached(id);
    const base = { command, seq, sinceMs, isAttached, alike: JSON.stringify(parts) };
    const charge = requestedCharge(this.#state, command, this.#context);
    if ('reason' in charge) return { ...base, charge: undefined, never: charge.reason, things: [], judging: [] };
    const { budgets } = charge;
    const judging = budgets.filter(binds);
    const early =
      suspendedRefusal(budgets) ??
      closedRefusal(budgets) ??
      reserveShapeRefusal({ ...charge, budgets: judging }, command) ??
      windowRefusal(judging, nowMs);
    return { ...base, charge, judging, never: early?.reason, things: this.#things(charge, judging, command) };
  }

  #things(charge: RequestedCharge, judging: readonly BudgetState[], command: Reserve): Thing[] {
    const { nowMs } = this.#context;
    const nothing = { leftMicros: 0n, unspentMicros: 0n, wholeMicros: 0n, isNever: false };
    const limits = limitRooms(charge, nowMs)
      .filter(({ budget }) => judging.includes(budget))
      .map(({ budget, limit, amountMicros, roomMicros, unspentMicros }): Thing => {
        const leeway = leewayMicros(budget, command.priority);
        return {
          name: `${budget.def.path} limit ${limit.no}`,
          budget,
          kind: 'limit',
          leftMicros: atLeastZero(roomMicros + leeway),
          unspentMicros: atLeastZero(unspentMicros + leeway),
          wholeMicros: amountMicros + leeway,
          isShort: false,
          isNever: false,
        };
      });
    const use = { requests: 1, tokens: command.tokens, toolCalls: command.toolCalls };
    const rates = rateRooms(judging, use, nowMs).map(({ budget, rate, level, cost }): Thing => {
      const isShort = level < BigInt(cost) * BigInt(rate.perMs);
      return {
        ...nothing,
        name: `${budget.def.path} rate ${rate.no}`,
        budget,
        kind: 'rate',
        isShort,
        isNever: cost > rate.burst,
      };
    });
    const slots = judging.flatMap((budget): Thing[] => {
      const { maxActive } = budget.def.shape;
      if (maxActive === undefined) return [];
      const isShort = budget.activeCount >= maxActive;
      return [{ ...nothing, name: `${budget.def.path} slots`, budget, kind: 'slots', isShort }];
    });
    return [...limits, ...rates, ...slots];
  }

  #judge({ things, charge, judging }: Ask, held: ReadonlySet<string>, minMicros: bigint, maxMicros: bigint): Outcome {
    const failing = failingOf(things, held, minMicros);
    if (failing.some(({ wholeMicros }) => wholeMicros < minMicros)) return { kind: 'never', reason: 'EXCEEDS_LIMIT' };
    if (things.some(({ isNever }) => isNever)) return { kind: 'never', reason: 'EXCEEDS_LIMIT' };
    if (failing.length > 0 || things.some((thing) => thing.kind !== 'limit' && (thing.isShort || held.has(thing.name))))
      return WAIT;
    const limits = things.filter(({ kind }) => kind === 'limit');
    let micros = least(maxMicros, counterRoomMicros(charge as RequestedCharge, this.#context.nowMs));
    for (const { name, leftMicros } of limits) micros = least(micros, held.has(name) ? 0n : leftMicros);
    return { kind: 'grant', micros: least(micros, largestMicros(judging)), alternative: '' };
  }

  // Only where money alone is missing, and the budget that is named for it says so.
  #degrades({ things, command: { minMicros } }: Ask, held: ReadonlySet<string>): boolean {
    const failing = failingOf(things, held, minMicros);
    const never = failing.filter(({ wholeMicros }) => wholeMicros < minMicros);
    if (never.length > 0) return degrades(tightest(never, ({ wholeMicros }) => wholeMicros));
    if (things.some(({ isNever, isShort }) => isNever || isShort)) return false;
    const left = ({ name, leftMicros }: Thing): bigint => (held.has(name) ? 0n : leftMicros);
    const exhausted = failing.filter(({ unspentMicros }) => unspentMicros < minMicros);
    return degrades(tightest(exhausted.length > 0 ? exhausted : failing, left));
  }

  // Whether somebody before it holds a thing.
  #isHeld(ask: Ask, thing: Thing): boolean {
    return this.asks.some((other) => {
      if (other.command.id === ask.command.id) return false;
      const own = other.things.find(({ name }) => name === thing.name);
      if (own === undefined || !this.#isAhead(other, ask, thing.budget)) return false;
      return isShortOf(other, own) || !other.isAttached;
    });
  }

  // Whether somebody comes before it wherever that one waits, at all that this one asks as well.
  #isOvertaking(ask: Ask): boolean {
    return this.asks.some((other) => {
      if (other.command.id === ask.command.id || other.never !== undefined || !this.isFirst(other)) return false;
      const held = this.#heldBackAt(other);
      return (
        held.length > 0 && held.every(({ name, budget }) => hasThing(ask, name) && this.#isAhead(other, ask, budget))
      );
    });
  }

  // Every thing that it may wait for. Its caller may come back: what one could have now is kept for it.
  #heldBackAt(ask: Ask): readonly Thing[] {
    const known = this.#waits.get(ask);
    if (known !== undefined) return known;
    const held = ask.things.filter((thing) => isShortOf(ask, thing) || this.#isHeld(ask, thing));
    const all = held.length === 0 && !ask.isAttached ? ask.things : held;
    this.#waits.set(ask, all);
    return all;
  }

  #isAhead(a: Ask, b: Ask, { def: { path } }: BudgetState): boolean {
    const [rankA, rankB] = [this.#rank(a), this.#rank(b)];
    if (rankA !== rankB) return rankA > rankB;
    const [childA, childB] = [childOf(path, a.command), childOf(path, b.command)];
    if (childA !== childB) {
      const [shareA, shareB] = [this.#share(path, childA), this.#share(path, childB)];
      const difference = shareA.use * shareB.weight - shareB.use * shareA.weight;
      if (difference !== 0n) return difference < 0n;
    }
    return a.seq < b.seq;
  }

  #rank({ command, sinceMs }: Ask): number {
    const { nowMs, queue } = this.#context;
    return Math.min(3, PRIORITIES.indexOf(command.priority) + Math.floor((nowMs - sinceMs) / queue.ageMs));
  }

  #share(path: BudgetPath, child: string): { readonly use: bigint; readonly weight: bigint } {
    if (child === '') return { use: 0n, weight: 1n };
    const own = this.#state.budgetAt(child as BudgetPath);
    const template = this.#state.budgetAt(path)?.def.childTemplate;
    if (own === undefined) return { use: 0n, weight: BigInt(template?.weight ?? 1) };
    const held = own.counters[0]?.heldMicros ?? 0n;
    const recent =
      own.recent === undefined ? 0n : recentMicros(own.recent, Math.floor(this.#context.nowMs / 10_000) * 10_000);
    return { use: held + recent, weight: BigInt(own.def.weight) };
  }
}

function failingOf(things: readonly Thing[], held: ReadonlySet<string>, minMicros: bigint): Thing[] {
  return things.filter(
    ({ kind, name, leftMicros }) => kind === 'limit' && (held.has(name) ? 0n : leftMicros) < minMicros,
  );
}

function hasThing({ things }: Ask, name: string): boolean {
  return things.some((thing) => thing.name === name);
}

// One that can do with nothing is granted that, whoever comes first.
function isFree({ minMicros, alternatives }: Reserve): boolean {
  return minMicros === 0n || alternatives.some(({ maxMicros }) => maxMicros === 0n);
}

function isShortOf({ command }: Ask, { kind, leftMicros, isShort }: Thing): boolean {
  return kind === 'limit' ? leftMicros < command.minMicros : isShort;
}

function tightest(things: readonly Thing[], size: (thing: Thing) => bigint): Thing | undefined {
  let found: Thing | undefined;
  for (const thing of things) if (found === undefined || size(thing) < size(found)) found = thing;
  return found;
}

function degrades(thing: Thing | undefined): boolean {
  return thing?.budget.def.enforcement.onExhaustion === 'degrade';
}

function childOf(budget: string, { budget: named, also }: Reserve): string {
  for (const path of [named, ...also]) {
    if (path === budget) return '';
    if (path.startsWith(`${budget}/`))
      return path
        .split('/')
        .slice(0, budget.split('/').length + 1)
        .join('/');
  }
  throw new Error(`${named} does not ask ${budget}`);
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function atLeastZero(micros: bigint): bigint {
  return micros < 0n ? 0n : micros;
}
