// What the wait queue may and must do, from the text alone: look at all who wait, in their order, each time anew. As slow as that is,
// and the measure for the one that is fast.
//
//   wide     whoever comes first and is short of a thing holds it, whatever else it waits for
//   narrow   only who comes first at everything that both ask holds it, and only against those who ask all that it waits for
//
// The text leaves it open which of the two it means, and what lies between them. What both allow has to be done, and what neither
// allows must not be. To hold a limit leaves to a request behind what it may use of it and the one that holds may not.
import type { BudgetState } from '../../src/kernel/budget.ts';
import type { Reserve } from '../../src/kernel/command.ts';
import { reserveOf } from '../../src/kernel/decide-queue.ts';
import type { DecideContext } from '../../src/kernel/decision.ts';
import { binds, PRIORITIES } from '../../src/kernel/enforcement.ts';
import { counterRoomMicros } from '../../src/kernel/headroom.ts';
import { atLeastZero, minMicros as least } from '../../src/kernel/money.ts';
import type { BudgetPath } from '../../src/kernel/names.ts';
import { recentMicros } from '../../src/kernel/recent-use.ts';
import { reserveShapeRefusal } from '../../src/kernel/refuse-reserve.ts';
import { largestMicros, windowRefusal } from '../../src/kernel/refuse-shape.ts';
import { closedRefusal, suspendedRefusal } from '../../src/kernel/refuse-state.ts';
import { type RequestedCharge, requestedCharge } from '../../src/kernel/requested-charge.ts';
import type { TreeState } from '../../src/kernel/tree-state.ts';
import type { Waiting } from '../../src/kernel/wait-order.ts';
import { commonMicros, type Thing, thingsOf } from './naive-things.ts';

/** See the head of this file. */
export type Reading = 'wide' | 'narrow';

/** What a request comes to: an amount, a wait, or a reason that no wait can cure. */
export type Outcome =
  | { readonly kind: 'grant'; readonly micros: bigint; readonly alternative: string }
  | { readonly kind: 'wait' }
  | { readonly kind: 'never'; readonly reason: string };

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
  /** Paths of the budgets that exist, by number. */
  readonly existing: ReadonlyMap<number, string>;
  /** Alike for those of whom only the first is looked at. */
  readonly alike: string;
}

const WAIT: Outcome = { kind: 'wait' };

/** Who holds a thing against one who asks for it. */
type Holders = (thing: Thing) => readonly Ask[];

const NOBODY: Holders = () => [];

/** All who wait, as things stand now. */
export class NaiveQueue {
  readonly #state: TreeState;
  readonly #context: DecideContext;
  readonly #existing: ReadonlyMap<number, string>;
  readonly asks: readonly Ask[];
  readonly #waits = new Map<Ask, readonly Thing[]>();
  readonly #holders = new Map<Ask, Map<Thing, readonly Ask[]>>();

  constructor(state: TreeState, context: DecideContext) {
    this.#state = state;
    this.#context = context;
    this.#existing = new Map([...state.budgets()].map(({ def: { no, path } }) => [no, path]));
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
    const [wide, narrow] = [this.outcome(ask, 'wide'), this.outcome(ask, 'narrow')];
    const { alternatives, minMicros, maxMicros } = ask.command;
    const isAnyHeld = (): boolean => ask.things.some((thing) => this.#isHeld(ask, thing));
    if (ask.never !== undefined || !isAnyHeld()) return [wide, narrow];
    // Held at some of its limits and not at all of them.
    const left = leftOf(ask, (thing) => this.#wideHolders(ask, thing));
    const mostMicros = narrow.kind === 'grant' ? narrow.micros : maxMicros;
    const partly = limitsOf(ask).map((thing) => least(mostMicros, left(thing)));
    const grants = (micros: bigint, alternative = ''): Outcome => ({ kind: 'grant', micros, alternative });
    const between = partly.filter((micros) => micros >= minMicros).map((micros) => grants(micros));
    const isOpen = narrow.kind === 'grant' && narrow.alternative === '';
    if (!isFree(ask.command)) return [wide, narrow, ...(isOpen ? between : [])];
    const free = alternatives.filter(({ maxMicros }) => maxMicros === 0n).map(({ label }) => label);
    return [wide, narrow, WAIT, ...between, ...['', ...free].map((label) => grants(0n, label))];
  }

  outcome(ask: Ask, reading: Reading): Outcome {
    if (ask.never !== undefined) return { kind: 'never', reason: ask.never };
    const holders = reading === 'wide' ? (thing: Thing) => this.#wideHolders(ask, thing) : this.#narrowHolders(ask);
    const { minMicros, maxMicros, alternatives } = ask.command;
    const first = this.#judge(ask, holders, minMicros, maxMicros);
    if (first.kind === 'grant' || !this.#degrades(ask, holders)) return first;
    for (const { label, maxMicros: micros } of alternatives) {
      const cheaper = this.#judge(ask, holders, micros, micros);
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
    const isHeld = ask.things.some((thing) => isMoney(thing) && this.#isHeld(ask, thing));
    const left = leftOf(ask, NOBODY);
    return !isHeld && limitsOf(ask).every((thing) => left(thing) >= minMicros || degrades(thing));
  }

  /**
   * Whether it may once have fitted for what holds through two children with floors left of both: where spend takes that, it is told
   * when it is looked at next.
   */
  wasLent(ask: Ask): boolean {
    const never = limitsOf(ask).filter(({ wholeMicros }) => wholeMicros < ask.command.minMicros);
    const isLent = ({ room }: Thing): boolean =>
      (room?.uses ?? []).filter(({ share, spentMicros }) => share.floorMicros > 0n && spentMicros > 0n).length > 1;
    return never.length > 0 && never.every(isLent);
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
    const base = { command, seq, sinceMs, isAttached, existing: this.#existing, alike: JSON.stringify(parts) };
    const charge = requestedCharge(this.#state, command, this.#context);
    if ('reason' in charge) return { ...base, charge: undefined, never: charge.reason, things: [], judging: [] };
    const { budgets } = charge;
    const judging = budgets.filter(binds);
    const early =
      suspendedRefusal(budgets) ??
      closedRefusal(budgets) ??
      reserveShapeRefusal({ ...charge, budgets: judging }, command) ??
      windowRefusal(judging, nowMs);
    return { ...base, charge, judging, never: early?.reason, things: thingsOf(charge, judging, command, nowMs) };
  }

  #judge(ask: Ask, holders: Holders, minMicros: bigint, maxMicros: bigint): Outcome {
    const { things, charge, judging } = ask;
    const left = leftOf(ask, holders);
    const failing = limitsOf(ask).filter((thing) => left(thing) < minMicros);
    if (failing.some(({ wholeMicros }) => wholeMicros < minMicros)) return { kind: 'never', reason: 'EXCEEDS_LIMIT' };
    if (things.some(({ isNever }) => isNever)) return { kind: 'never', reason: 'EXCEEDS_LIMIT' };
    const isOut = things.some((thing) => !isMoney(thing) && (thing.isShort || holders(thing).length > 0));
    if (failing.length > 0 || isOut) return WAIT;
    let micros = least(maxMicros, counterRoomMicros(charge as RequestedCharge, this.#context.nowMs));
    for (const thing of limitsOf(ask)) micros = least(micros, left(thing));
    return { kind: 'grant', micros: least(micros, largestMicros(judging)), alternative: '' };
  }

  // Only where money alone is missing, and the budget that is named for it says so.
  #degrades(ask: Ask, holders: Holders): boolean {
    const { minMicros } = ask.command;
    const left = leftOf(ask, holders);
    const failing = limitsOf(ask).filter((thing) => left(thing) < minMicros);
    const never = failing.filter(({ wholeMicros }) => wholeMicros < minMicros);
    if (never.length > 0) return degrades(tightest(never, ({ wholeMicros }) => wholeMicros));
    if (ask.things.some(({ isNever, isShort }) => isNever || isShort)) return false;
    const exhausted = failing.filter(({ unspentMicros }) => unspentMicros < minMicros);
    return degrades(tightest(exhausted.length > 0 ? exhausted : failing, left));
  }

  // Whether somebody before it leaves it less of a thing.
  #isHeld(ask: Ask, thing: Thing): boolean {
    const holders = this.#wideHolders(ask, thing);
    if (thing.kind === 'limit') return ownLeft(ask, thing, holders) < atLeastZero(thing.openMicros);
    return holders.length > 0;
  }

  // Those before it who wait for a thing. Who is before those holds it as well, so that it ends with the first.
  #wideHolders(ask: Ask, thing: Thing): readonly Ask[] {
    const known = this.#holders.get(ask)?.get(thing);
    if (known !== undefined) return known;
    const found = this.asks.filter((other) => {
      if (other.command.id === ask.command.id) return false;
      const own = other.things.find(({ name }) => name === thing.name);
      if (own === undefined || !this.#isAhead(other, ask, thing.budget)) return false;
      return !other.isAttached || this.#waitsAt(other, own);
    });
    if (!this.#holders.has(ask)) this.#holders.set(ask, new Map());
    this.#holders.get(ask)?.set(thing, found);
    return found;
  }

  #waitsAt(ask: Ask, thing: Thing): boolean {
    const holders = this.#wideHolders(ask, thing);
    if (isMoney(thing)) return ownLeft(ask, thing, holders) < ask.command.minMicros;
    return thing.isShort || holders.length > 0;
  }

  // Those who come before it wherever they wait, at all that it asks as well, and leave it nothing wherever that is. It may be
  // that they have their place at one of those things only.
  #narrowHolders(ask: Ask): Holders {
    if (isFree(ask.command)) return NOBODY;
    const found = this.asks.flatMap((other) => {
      if (other.command.id === ask.command.id || other.never !== undefined || !this.isFirst(other)) return [];
      const held = this.#heldBackAt(other).map(({ name }) => ask.things.find((thing) => thing.name === name));
      const isBehind = held.every((thing) => thing !== undefined) && !this.isBeforeAnywhere(ask, other);
      const names = held.map((thing) => thing?.name);
      const leaves = held.some((thing) => thing?.kind === 'limit' && ownLeft(ask, thing, [other]) > 0n);
      return !isBehind || (held.length > 1 && leaves) ? [] : [{ other, names }];
    });
    return ({ name }) => found.filter(({ names }) => names.includes(name)).map(({ other }) => other);
  }

  // Every thing that it may wait for. Its caller may come back: what one could have now is kept for it.
  #heldBackAt(ask: Ask): readonly Thing[] {
    const known = this.#waits.get(ask);
    if (known !== undefined) return known;
    const held = ask.things.filter((thing) => this.#waitsAt(ask, thing));
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

/** What is left to one who asks of a limit, or of a share, where others hold it. */
function ownLeft(ask: Ask, thing: Thing, holders: readonly Ask[]): bigint {
  if (thing.kind === 'share' && holders.length > 0) return 0n;
  let left = thing.openMicros;
  if (thing.kind === 'limit')
    for (const other of holders) left = least(left, thing.openMicros - commonMicros(ask, other, thing));
  return atLeastZero(left);
}

/** What is left to one who asks of a limit with the shares of it. */
function leftOf(ask: Ask, holders: Holders): (limit: Thing) => bigint {
  return ({ room }) => {
    const of = ask.things.filter((thing) => thing.room === room);
    return of.map((thing) => ownLeft(ask, thing, holders(thing))).reduce(least);
  };
}

function limitsOf({ things }: Ask): readonly Thing[] {
  return things.filter(({ kind }) => kind === 'limit');
}

function isMoney({ kind }: Thing): boolean {
  return kind === 'limit' || kind === 'share';
}

function hasThing({ things }: Ask, name: string): boolean {
  return things.some((thing) => thing.name === name);
}

// One that can do with nothing is granted that, whoever comes first.
function isFree({ minMicros, alternatives }: Reserve): boolean {
  return minMicros === 0n || alternatives.some(({ maxMicros }) => maxMicros === 0n);
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
