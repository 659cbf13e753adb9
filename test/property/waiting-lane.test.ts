// Callers that wait, go and come back while appends lose races, lose their answers or find no store, and leaders change: everybody is
// told exactly one thing, what is told is what the journal says, and nobody who is gone holds anything.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Answer } from '../../src/kernel/answer.ts';
import type { Reserve } from '../../src/kernel/command.ts';
import type { Entry } from '../../src/kernel/entry.ts';
import { type AppendResult, StoreUnavailableError } from '../../src/store/port.ts';
import { expectAudited } from '../support/audited-lane.ts';
import { held, LaneWorld } from '../support/lane-world.ts';
import { settle } from '../support/manual-time.ts';

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterAll(() => {
  vi.useRealTimers();
});

const between = (min: number, max: number) => fc.integer({ min, max });

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      max: between(1, 100),
      priority: fc.constantFrom('normal' as const, 'critical' as const, 'background' as const),
      waitMs: fc.constantFrom(5_000, 60_000, 600_000),
      atOnce: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('again' as const), ref: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('go' as const), ref: fc.nat(9) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('release' as const), ref: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('elapse' as const), ms: fc.constantFrom(100, 1_000, 10_000, 60_000) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      kind: fc.constantFrom('conflict' as const, 'lost' as const, 'slow' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('letGo' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('down' as const, 'up' as const, 'up' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('lose' as const, 'lead' as const, 'lead' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Whether a step may have another leader: that one does not know to whom this one handed what. */
function loses(each: Step): boolean {
  return each.do === 'lose';
}

interface Call {
  readonly command: Reserve;
  readonly gone: AbortController;
  answer: Answer | undefined;
  error: unknown;
  /** Whether it had gone before it was told anything. */
  left: boolean;
}

// Told where nobody can say what became of it, or will: the same key finds out.
const OPEN_REASONS = ['NOT_LEADER', 'STORE_UNAVAILABLE', 'CONTENTION', 'OVERLOADED'];

class Story {
  readonly calls: Call[] = [];
  readonly #world: LaneWorld;
  readonly #slow: (() => void)[] = [];

  constructor(world: LaneWorld) {
    this.#world = world;
  }

  async tell(next: Step): Promise<void> {
    const world = this.#world;
    switch (next.do) {
      case 'ask': {
        const { max, priority, waitMs } = next;
        const key = `k${this.calls.length}`;
        this.#submit(world.make.reserve('t', max, { priority, waitMs, key, ttlMs: 86_400_000 }));
        if (next.atOnce) return;
        break;
      }
      case 'again': {
        const call = this.#nth(this.calls, next.ref);
        if (call !== undefined) this.#submit(world.make.again(call.command) as Reserve);
        break;
      }
      case 'go': {
        const call = this.#nth(
          this.calls.filter(({ answer }) => answer === undefined),
          next.ref,
        );
        if (call === undefined) break;
        call.left = true;
        call.gone.abort();
        break;
      }
      case 'release': {
        const call = this.#nth(
          this.calls.filter(({ answer }) => answer?.kind === 'reservation'),
          next.ref,
        );
        if (call?.answer?.kind !== 'reservation') break;
        world.lane.submit(world.make.release(call.answer.reservation.id)).catch(() => undefined);
        break;
      }
      case 'elapse':
        await this.elapse(next.ms);
        break;
      default:
        await this.#trouble(next);
    }
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }

  /** Everything is well again, and time passes until nobody can wait any more. */
  async end(): Promise<void> {
    const world = this.#world;
    world.appendFates.length = 0;
    world.memory.faults.isDown = false;
    for (const letGo of this.#slow.splice(0)) letGo();
    for (let round = 0; round < 4; round += 1) {
      this.#lead();
      await this.elapse(11_000);
    }
    // Whoever was told nothing certain asks once more.
    const open = this.calls.filter(({ answer, left }) => !left && isOpen(answer));
    for (const { command } of open) this.#submit(world.make.again(command) as Reserve);
    for (let round = 0; round < 70; round += 1) await this.elapse(round < 10 ? 1_000 : 11_000);
    expect(world.logged).not.toContain('those who wait could not be judged');
  }

  async elapse(ms: number): Promise<void> {
    this.#world.nowMs += ms;
    await this.#world.time.elapse(ms);
    await vi.advanceTimersByTimeAsync(Math.min(ms, 1_000));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }

  async #trouble(
    next: Extract<Step, { do: 'fault' | 'letGo' | 'down' | 'up' | 'lose' | 'lead' | 'forget' }>,
  ): Promise<void> {
    const world = this.#world;
    switch (next.do) {
      case 'fault':
        world.appendFates.push(this.#fate(next.kind));
        return;
      case 'letGo':
        this.#slow.shift()?.();
        return;
      case 'down':
      case 'up':
        world.memory.faults.isDown = next.do === 'down';
        return this.elapse(200);
      case 'lose':
        world.memory.database.lease = { ...world.memory.database.lease, epoch: world.memory.database.lease.epoch + 1 };
        return;
      case 'lead':
        return this.#lead();
      case 'forget':
        if (world.memory.faults.isDown) return;
        await world.project();
        // What it remembers is found in the journal once more.
        if (world.lane.cache.peek('t' as never)?.state.isTentative === false) {
          world.lane.cache.peek('t' as never)?.state.evictRemembered(0);
        }
    }
  }

  #fate(kind: 'conflict' | 'lost' | 'slow'): (real: () => Promise<AppendResult>) => Promise<AppendResult> {
    if (kind === 'conflict') return () => Promise.resolve({ outcome: 'conflict' });
    if (kind === 'lost') {
      return async (real) => {
        await real();
        this.#passNext();
        throw new StoreUnavailableError('cut');
      };
    }
    const slow = held<AppendResult>();
    this.#slow.push(slow.letGo);
    return slow.fate;
  }

  // A store never says `conflict` of what it has committed: the same append goes through, as soon as there is a store again.
  #passNext(): void {
    this.#world.appendFates.unshift(async (real) => {
      try {
        return await real();
      } catch (error) {
        this.#passNext();
        throw error;
      }
    });
  }

  #lead(): void {
    const world = this.#world;
    const { epoch } = world.memory.database.lease;
    if (world.epoch === epoch) return;
    world.epoch = epoch;
    world.lane.reset();
  }

  #submit(command: Reserve): void {
    const call: Call = { command, gone: new AbortController(), answer: undefined, error: undefined, left: false };
    this.calls.push(call);
    this.#world.lane.submit(command, call.gone.signal).then(
      (answer) => {
        call.answer = answer;
      },
      (error: unknown) => {
        call.error = error;
      },
    );
  }

  #nth<T>(all: readonly T[], ref: number): T | undefined {
    return all.at(-1 - (ref % Math.max(1, all.length)));
  }
}

function isOpen(answer: Answer | undefined): boolean {
  return answer?.kind === 'refusal' && OPEN_REASONS.includes(answer.reason);
}

function expectTold({ calls }: Story, entries: readonly Entry[]): void {
  const granted = new Map<string, bigint>();
  const left = new Set<string>();
  const keys = new Map<string, string>();
  for (const entry of entries) {
    if (entry.type === 'LeftQueue') {
      for (const { id } of entry.leaves) {
        expect(left.has(id) || granted.has(id), `${id} leaves once`).toBe(false);
        left.add(id);
      }
    }
    if (entry.type !== 'Granted') continue;
    const { id, figures } = entry.reservation;
    expect(left.has(id) || granted.has(id), `${id} is granted once`).toBe(false);
    granted.set(id, figures.grantedMicros);
    expect(keys.has(entry.key?.digest ?? ''), `a key is granted once`).toBe(false);
    keys.set(entry.key?.digest ?? '', id);
  }
  for (const { command, answer, error } of calls) {
    expect(error).toBeUndefined();
    expect(answer, `${command.id} is told something`).toBeDefined();
    if (answer?.kind !== 'reservation') continue;
    const { id, figures } = answer.reservation;
    expect(granted.get(id)).toBe(figures.grantedMicros);
    expect(keys.get(command.key?.digest ?? '')).toBe(id);
  }
}

/** Grants that a caller who is there was handed, and that ended though he had not said so. */
function takenFromCallers({ calls }: Story, entries: readonly Entry[]): string[] {
  const takenBack = new Set(
    entries.flatMap((entry) => (entry.type === 'Released' && entry.actor === 'budgetd' ? [entry.id] : [])),
  );
  return calls.flatMap(({ left, answer }) =>
    !left && answer?.kind === 'reservation' && takenBack.has(answer.reservation.id) ? [answer.reservation.id] : [],
  );
}

/** All have left: the longest wait is over. */
function expectNobodyWaits(world: LaneWorld): void {
  const state = world.lane.cache.peek('t' as never)?.state;
  for (const { id, figures } of state?.reservations() ?? []) {
    expect(figures.state, `${id} does not wait any more`).not.toBe('QUEUED');
  }
}

/** Grants of keys whose callers had all gone before they were told, and that nobody took back. */
function keptForNobody({ calls }: Story, entries: readonly Entry[]): string[] {
  const ended = new Set(entries.flatMap((entry) => (entry.type === 'Released' ? [entry.id] : [])));
  return entries.flatMap((entry) => {
    if (entry.type !== 'Granted' || ended.has(entry.reservation.id)) return [];
    const asking = calls.filter(({ command }) => command.key?.digest === entry.key?.digest);
    const isWanted = asking.some(({ left }) => !left);
    return isWanted ? [] : [entry.reservation.id];
  });
}

it('everybody is told one thing, what is told is written down, and what nobody waits for is given back', async () => {
  const total = { granted: 0, open: 0, gone: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 45, size: 'max' }),
      between(1, 4),
      fc.boolean(),
      async (told, batchCountMax, isOneLead) => {
        const steps = isOneLead ? told.filter((each) => !loses(each)) : told;
        const world = await new LaneWorld({ batchCountMax }).open();
        const story = new Story(world);
        for (const next of steps) await story.tell(next);
        await story.end();
        const entries = await world.memory.readEntries('t' as never, 0, Number.MAX_SAFE_INTEGER);
        expectTold(story, entries);
        expectNobodyWaits(world);
        expect(takenFromCallers(story, entries)).toEqual([]);
        // Else such a hold ends with its lease.
        if (!steps.some(loses)) expect(keptForNobody(story, entries)).toEqual([]);
        expect(world.lane.waitingCount).toBe(0);
        await expectAudited(world);
        total.granted += story.calls.filter(({ answer }) => answer?.kind === 'reservation').length;
        total.open += story.calls.filter(({ answer }) => isOpen(answer)).length;
        total.gone += story.calls.filter(({ left }) => left).length;
      },
    ),
    { numRuns: 300 },
  );
  expect(Math.min(total.granted, total.open, total.gone)).toBeGreaterThan(50);
});
